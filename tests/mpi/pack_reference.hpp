/// \file  A decoded datatype against the library's own MPI_Pack, byte for byte.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "mpi/datatype.hpp"

namespace strake::test {

/// The bytes of `layout` at `base`, in packed order.
inline std::vector<std::byte> gather(const Layout& layout, const std::byte* base) {
  std::vector<std::byte> result;
  result.reserve(static_cast<std::size_t>(layout.size_bytes()));
  layout.for_each_block([&](std::int64_t offset, std::int64_t length) {
    result.insert(result.end(), base + offset, base + offset + length);
  });
  return result;
}

/// Memory for the bytes [begin, end) from a base address, each byte unlike its neighbours near and
/// far.
class Arena {
 public:
  explicit Arena(ByteRange range) : begin_(range.begin) {
    bytes_.resize(static_cast<std::size_t>(range.size()) + 1);
    std::uint64_t state = 1;
    for (std::byte& b : bytes_) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      b = static_cast<std::byte>(state >> 56);
    }
  }
  /// The address that offsets count from; it may lie outside the memory itself.
  [[nodiscard]] std::byte* base() noexcept {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::intptr_t>(bytes_.data()) - begin_);
  }

 private:
  std::int64_t begin_;
  std::vector<std::byte> bytes_;
};

/// Bytes that MPI_Pack gives for `count` elements at `base`.
inline std::vector<std::byte> mpi_packed(const std::byte* base, int count, MPI_Datatype type,
                                         std::int64_t size) {
  std::vector<std::byte> result(static_cast<std::size_t>(size));
  std::byte none{};
  int position = 0;
  MPI_Pack(base, count, type, result.empty() ? &none : result.data(), static_cast<int>(size),
           &position, MPI_COMM_SELF);
  result.resize(static_cast<std::size_t>(position));
  return result;
}

/// Where the two first differ.
inline testing::AssertionResult same_bytes(const std::vector<std::byte>& a,
                                           const std::vector<std::byte>& b) {
  if (a.size() != b.size()) {
    return testing::AssertionFailure() << a.size() << " bytes against " << b.size();
  }
  const auto [at, unused] = std::mismatch(a.begin(), a.end(), b.begin());
  if (at == a.end()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "byte " << at - a.begin() << " of " << a.size();
}

/// Whether `type`, decoded, selects what MPI_Pack packs for `counts` elements each, and has the
/// library's size, extent and bounds. `type` must be committed.
inline testing::AssertionResult decodes_as_packed(MPI_Datatype type,
                                                  std::initializer_list<int> counts = {0, 1, 2,
                                                                                       5}) {
  const mpi::TypeInfo info = mpi::decode(type);
  MPI_Count size = 0, lb = 0, extent = 0, true_lb = 0, true_extent = 0;
  MPI_Type_size_x(type, &size);
  MPI_Type_get_extent_x(type, &lb, &extent);
  MPI_Type_get_true_extent_x(type, &true_lb, &true_extent);
  if (info.size != size || info.lb != lb || info.extent != extent || info.true_lb != true_lb ||
      info.true_extent != true_extent || info.layout.size_bytes() != size) {
    return testing::AssertionFailure() << "size or extents differ";
  }
  const ByteRange bounds = info.layout.bounds();
  // MPICH 4.0 takes the true extent of a distributed array a little wide where a process has a
  // block that is cut short.
  if (size > 0 && (bounds.begin < true_lb || bounds.end > true_lb + true_extent)) {
    return testing::AssertionFailure()
           << "bounds [" << bounds.begin << ", " << bounds.end << ") but true lb " << true_lb
           << " and true extent " << true_extent;
  }
  for (const int count : counts) {
    const Layout layout = mpi::layout_for_count(info, count);
    Arena arena(layout.bounds());
    const auto same = same_bytes(gather(layout, arena.base()),
                                 mpi_packed(arena.base(), count, type, size * count));
    if (!same) {
      return testing::AssertionFailure()
             << "count " << count << ": " << same.message() << " of " << layout.to_string();
    }
  }
  return testing::AssertionSuccess();
}

/// A datatype that is committed at once and freed when this goes.
class Committed {
 public:
  template <typename Constructor, typename... Args>
  explicit Committed(Constructor constructor, Args... args) {
    constructor(args..., &type_);
    MPI_Type_commit(&type_);
  }
  ~Committed() { MPI_Type_free(&type_); }
  Committed(const Committed&) = delete;
  Committed& operator=(const Committed&) = delete;
  operator MPI_Datatype() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

}  // namespace strake::test
