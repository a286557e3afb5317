// One ordered set of bytes, built as many different datatypes: one layout, one hash.
#include <gtest/gtest.h>
#include <mpi.h>

#include <iostream>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mpi/datatype.hpp"

namespace strake::test {
namespace {

constexpr std::uint64_t kSeed = 77;

// A datatype under construction that may be predefined, and frees itself when it is not.
class Made {
 public:
  Made(MPI_Datatype type, bool derived) : type_(type), derived_(derived) {}
  Made(Made&& other) noexcept : type_(other.type_), derived_(other.derived_) {
    other.derived_ = false;
  }
  Made& operator=(Made&& other) noexcept {
    std::swap(type_, other.type_);
    std::swap(derived_, other.derived_);
    return *this;
  }
  ~Made() {
    if (derived_) MPI_Type_free(&type_);
  }
  [[nodiscard]] MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_;
  bool derived_;
};

// Builds given bytes in random ways.
class Builder {
 public:
  explicit Builder(std::uint64_t seed) : random_(seed) {}

  // `bytes` adjacent ones.
  Made block(std::int64_t bytes) {
    const int n = static_cast<int>(bytes);
    switch (pick(0, 5)) {
      case 0:
        if (n % 8 == 0) return make(MPI_Type_contiguous, n / 8, MPI_DOUBLE);
        return make(MPI_Type_contiguous, n, MPI_BYTE);
      case 1:
        if (n % 4 == 0) return make(MPI_Type_vector, n / 4, 1, 1, MPI_INT);
        return make(MPI_Type_vector, 1, n, 5, MPI_CHAR);
      case 2: {  // a window of a larger row, moved back by its displacement
        const int size[] = {n + 5}, subsize[] = {n}, start[] = {3};
        const Made window =
            make(MPI_Type_create_subarray, 1, size, subsize, start, MPI_ORDER_C, MPI_BYTE);
        const int one = 1;
        const MPI_Aint back = -3;
        return make(MPI_Type_create_hindexed, 1, &one, &back, window.get());
      }
      case 3: {  // two pieces that touch
        const int cut = static_cast<int>(pick(0, n));
        const int lengths[] = {cut, n - cut};
        const int at[] = {0, cut};
        return make(MPI_Type_indexed, 2, lengths, at, MPI_BYTE);
      }
      case 4: {
        const int lengths[] = {n, 0};
        const MPI_Aint at[] = {0, 1000};
        const MPI_Datatype types[] = {MPI_BYTE, MPI_DOUBLE};
        return make(MPI_Type_create_struct, 2, lengths, at, types);
      }
      default:
        return make(MPI_Type_contiguous, n, MPI_BYTE);
    }
  }

  // `count` copies of `child`, `stride` bytes apart.
  Made repeat(const Made& child, std::int64_t count, std::int64_t stride) {
    const int n = static_cast<int>(count);
    const MPI_Datatype type = child.get();
    std::vector<MPI_Aint> at;
    for (int i = 0; i < n; ++i) at.push_back(i * stride);
    switch (pick(0, 6)) {
      case 0:
        return make(MPI_Type_create_hvector, n, 1, MPI_Aint{stride}, type);
      case 1:
        return make(MPI_Type_create_hindexed_block, n, 1, at.data(), type);
      case 2:
        return make(MPI_Type_create_hindexed, n, std::vector<int>(at.size(), 1).data(), at.data(),
                    type);
      case 3:
        return make(MPI_Type_create_struct, n, std::vector<int>(at.size(), 1).data(), at.data(),
                    std::vector<MPI_Datatype>(at.size(), type).data());
      case 4: {  // spaced by the element's own extent
        const Made spaced = make(MPI_Type_create_resized, type, MPI_Aint{0}, MPI_Aint{stride});
        if (pick(0, 1) == 0) return make(MPI_Type_contiguous, n, spaced.get());
        std::vector<int> steps;
        for (int i = 0; i < n; ++i) steps.push_back(i);
        return make(MPI_Type_create_indexed_block, n, 1, steps.data(), spaced.get());
      }
      case 5: {  // two levels where there was one
        if (n % 2 != 0) return make(MPI_Type_create_hvector, n, 1, MPI_Aint{stride}, type);
        const Made pair = make(MPI_Type_create_hvector, 2, 1, MPI_Aint{stride}, type);
        return make(MPI_Type_create_hvector, n / 2, 1, MPI_Aint{2 * stride}, pair.get());
      }
      default: {  // the first few, then the others
        const int first = static_cast<int>(pick(0, n));
        const Made a = make(MPI_Type_create_hvector, first, 1, MPI_Aint{stride}, type);
        const Made b = make(MPI_Type_create_hvector, n - first, 1, MPI_Aint{stride}, type);
        const int ones[] = {1, 1};
        const MPI_Aint halves[] = {0, first * stride};
        const MPI_Datatype types[] = {a.get(), b.get()};
        return make(MPI_Type_create_struct, 2, ones, halves, types);
      }
    }
  }

  Made box(std::int64_t bytes, std::span<const Dim> dims) {
    Made made = block(bytes);
    for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
      made = repeat(made, dim->count, dim->stride_bytes);
    }
    return made;
  }

  // The listed blocks, cut into groups at random places.
  Made blocks(std::span<const std::int64_t> at, std::span<const std::int64_t> lengths) {
    if (at.size() < 3 || pick(0, 3) == 0) {
      const std::vector<MPI_Aint> displacements(at.begin(), at.end());
      const std::vector<int> counts(lengths.begin(), lengths.end());
      return make(MPI_Type_create_hindexed, static_cast<int>(at.size()), counts.data(),
                  displacements.data(), MPI_BYTE);
    }
    const auto cut = static_cast<std::size_t>(pick(1, static_cast<std::int64_t>(at.size()) - 1));
    const Made a = blocks(at.first(cut), lengths.first(cut));
    const Made b = blocks(at.subspan(cut), lengths.subspan(cut));
    const int ones[] = {1, 1};
    const MPI_Aint none[] = {0, 0};
    const MPI_Datatype types[] = {a.get(), b.get()};
    return make(MPI_Type_create_struct, 2, ones, none, types);
  }

  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }

 private:
  template <typename Constructor, typename... Args>
  Made make(Constructor constructor, Args... args) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    constructor(args..., &type);
    if (pick(0, 5) != 0) return {type, true};
    MPI_Datatype copy = MPI_DATATYPE_NULL;
    MPI_Type_dup(type, &copy);
    MPI_Type_free(&type);
    return {copy, true};
  }

  std::mt19937_64 random_;
};

void expect_same(const Made& type, const Layout& expected) {
  const Layout layout = mpi::decode(type.get()).layout;
  EXPECT_EQ(layout, expected) << layout.to_string() << "\n  but expected " << expected.to_string();
  EXPECT_EQ(layout.hash(), expected.hash());
}

TEST(CanonicalDatatype, a_box_is_one_layout_however_it_is_built) {
  std::cout << "seed " << kSeed << '\n';
  Builder build(kSeed);
  for (int i = 0; i < 600 && !testing::Test::HasFailure(); ++i) {
    const std::int64_t bytes = build.pick(1, 40);
    std::vector<Dim> dims(static_cast<std::size_t>(build.pick(0, 3)));
    for (Dim& dim : dims) {
      // One stride in four is that of the block: levels that fold into it.
      const std::int64_t stride = build.pick(0, 3) == 0 ? bytes : build.pick(-300, 900);
      dim = {build.pick(1, 9), stride};
    }
    const Layout expected = Layout::box(0, bytes, dims);
    SCOPED_TRACE("case " + std::to_string(i) + ": " + expected.to_string());
    for (int way = 0; way < 12; ++way) expect_same(build.box(bytes, dims), expected);
  }
}

TEST(CanonicalDatatype, a_list_is_one_layout_however_it_is_grouped) {
  Builder build(kSeed + 1);
  for (int i = 0; i < 300 && !testing::Test::HasFailure(); ++i) {
    std::vector<std::int64_t> at, lengths;
    const bool even = build.pick(0, 1) == 0;
    const std::int64_t length = build.pick(1, 16);
    for (std::int64_t n = build.pick(1, 30); n > 0; --n) {
      at.push_back(build.pick(-500, 2000));
      lengths.push_back(even ? length : build.pick(0, 24));
    }
    const Layout expected = Layout::blocks(at, lengths);
    SCOPED_TRACE("case " + std::to_string(i) + ": " + expected.to_string());
    for (int way = 0; way < 12; ++way) expect_same(build.blocks(at, lengths), expected);
  }
}

TEST(CanonicalDatatype, a_repeated_list_is_one_layout_however_it_is_built) {
  Builder build(kSeed + 2);
  for (int i = 0; i < 300 && !testing::Test::HasFailure(); ++i) {
    std::vector<std::int64_t> at, lengths;
    for (std::int64_t n = build.pick(2, 8); n > 0; --n) {
      at.push_back(build.pick(0, 400));
      lengths.push_back(build.pick(1, 12));
    }
    const std::int64_t count = build.pick(1, 7), stride = build.pick(-900, 900);
    const Layout expected = Layout::blocks(at, lengths).repeated(count, stride);
    SCOPED_TRACE("case " + std::to_string(i) + ": " + expected.to_string());
    for (int way = 0; way < 12; ++way) {
      const Made list = build.blocks(at, lengths);
      expect_same(build.repeat(list, count, stride), expected);
    }
  }
}

TEST(CanonicalDatatype, a_subarray_is_a_nest_of_vectors_in_either_order) {
  Builder build(kSeed + 3);
  for (int i = 0; i < 300 && !testing::Test::HasFailure(); ++i) {
    int sizes[3], subsizes[3], starts[3], r_sizes[3], r_subsizes[3], r_starts[3];
    for (int d = 0; d < 3; ++d) {
      r_sizes[2 - d] = sizes[d] = static_cast<int>(build.pick(1, 12));
      r_subsizes[2 - d] = subsizes[d] = static_cast<int>(build.pick(1, sizes[d]));
      r_starts[2 - d] = starts[d] = static_cast<int>(build.pick(0, sizes[d] - subsizes[d]));
    }
    MPI_Datatype c, fortran;
    MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &c);
    MPI_Type_create_subarray(3, r_sizes, r_subsizes, r_starts, MPI_ORDER_FORTRAN, MPI_INT,
                             &fortran);
    const Made in_c(c, true), in_fortran(fortran, true);
    const std::int64_t row = 4 * sizes[2], plane = row * sizes[1];
    const Dim dims[] = {{subsizes[0], plane}, {subsizes[1], row}};
    const Layout expected =
        Layout::box(starts[0] * plane + starts[1] * row + starts[2] * 4, 4 * subsizes[2], dims);
    expect_same(in_c, expected);
    expect_same(in_fortran, expected);
    expect_same(build.box(4 * subsizes[2], dims), expected.shifted(-expected.offset()));
  }
}

}  // namespace
}  // namespace strake::test
