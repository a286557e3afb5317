/// \file  The arguments of the constructor that made a datatype, in one form for both generations
/// of constructors (counts as int and addresses as MPI_Aint, or all of them as MPI_Count).
#pragma once

#include <cstdint>
#include <vector>

#include "mpi/real_mpi.hpp"

namespace strake::mpi {

/// A list among a constructor's arguments, whatever its integer type. Points into Contents.
class Numbers {
 public:
  Numbers(const int* values, std::int64_t size) noexcept : ints_(values), size_(size) {}
  Numbers(const std::int64_t* values, std::int64_t size) noexcept : longs_(values), size_(size) {}
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  [[nodiscard]] std::int64_t operator[](std::int64_t i) const noexcept {
    return ints_ != nullptr ? ints_[i] : longs_[i];
  }

 private:
  const int* ints_ = nullptr;
  const std::int64_t* longs_ = nullptr;
  std::int64_t size_;
};

/// The removed combiners of MPI 1's Fortran constructors, which kept byte displacements as default
/// integers. Current headers do not name them any more. In every library the number of each is that
/// of the form with addresses, less one.
inline constexpr int kCombinerHvectorInteger = MPI_COMBINER_HVECTOR - 1;
inline constexpr int kCombinerHindexedInteger = MPI_COMBINER_HINDEXED - 1;
inline constexpr int kCombinerStructInteger = MPI_COMBINER_STRUCT - 1;

/// How many arguments the constructor of a list or a struct was given; 0 for any other.
/// \throws MpiError
[[nodiscard]] std::int64_t list_arguments(MPI_Datatype type);

/// The arguments of one constructor call, read front to back in the order of the C binding.
class Contents {
 public:
  /// Asks the library. This object owns the datatypes among the arguments, and frees them.
  /// \throws MpiError
  explicit Contents(MPI_Datatype type);
  /// Takes these arguments as the library's answer; does not free `types`.
  Contents(int combiner, std::vector<int> ints, std::vector<std::int64_t> addresses,
           std::vector<std::int64_t> counts, std::vector<MPI_Datatype> types);
  ~Contents();
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

  [[nodiscard]] int combiner() const noexcept { return combiner_; }
  /// Whether the type is predefined: then it has no contents and must not be freed.
  [[nodiscard]] bool predefined() const noexcept;
  [[nodiscard]] const std::vector<MPI_Datatype>& types() const noexcept { return types_; }
  /// Hash of the combiner and all arguments, with the handles of types.
  [[nodiscard]] std::uint64_t hash() const noexcept;

  /// An argument that is an int in every generation (ranks, dims, distributions, order).
  std::int64_t next_int() { return next_ints(1)[0]; }
  Numbers next_ints(std::int64_t n);
  /// An argument that is an int, or an MPI_Count in the large-count constructor.
  std::int64_t next_count() { return next_counts(1)[0]; }
  Numbers next_counts(std::int64_t n);
  /// An argument that is an MPI_Aint, or an MPI_Count in the large-count constructor, or (removed)
  /// an int.
  std::int64_t next_address() { return next_addresses(1)[0]; }
  Numbers next_addresses(std::int64_t n);

 private:
  [[nodiscard]] bool is_large() const noexcept { return !counts_.empty(); }

  int combiner_ = MPI_COMBINER_NAMED;
  std::vector<int> ints_;
  std::vector<std::int64_t> addresses_;
  std::vector<std::int64_t> counts_;
  std::vector<MPI_Datatype> types_;
  bool owns_types_ = false;
  std::size_t int_at_ = 0;
  std::size_t address_at_ = 0;
  std::size_t count_at_ = 0;
};

}  // namespace strake::mpi
