/// \file  The ranks around a rank, for forms that exchange by plain MPI.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>

#include "heat3d/problem.hpp"
#include "strake/box.hpp"

/// The part of one rank, and its neighbours in the order of strake::kDirections.
class Neighbours {
 public:
  static constexpr std::size_t kCount = strake::kDirections.size();

  /// Collective.
  explicit Neighbours(const Problem& problem) {
    // MPI counts the last dimension fastest; here x is.
    const std::array<int, 3> dims{problem.counts[2], problem.counts[1], problem.counts[0]};
    constexpr std::array<int, 3> kPeriodic{1, 1, 1};
    MPI_Cart_create(problem.comm, 3, dims.data(), kPeriodic.data(), 0, &cart_);
    int rank = 0;
    std::array<int, 3> at{};
    MPI_Comm_rank(cart_, &rank);
    MPI_Cart_coords(cart_, rank, 3, at.data());
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int64_t size = problem.extent[axis] / problem.counts[axis];
      owned_.lower[axis] = at[2 - axis] * size;
      owned_.upper[axis] = owned_.lower[axis] + size;
    }
    for (std::size_t peer = 0; peer < kCount; ++peer) {
      const strake::Direction d = strake::kDirections[peer];
      const std::array<int, 3> there{at[0] + d.z, at[1] + d.y, at[2] + d.x};
      MPI_Cart_rank(cart_, there.data(), &ranks_[peer]);
    }
  }
  Neighbours(const Neighbours&) = delete;
  Neighbours& operator=(const Neighbours&) = delete;
  ~Neighbours() { MPI_Comm_free(&cart_); }

  [[nodiscard]] MPI_Comm comm() const { return cart_; }
  [[nodiscard]] const strake::Box& owned() const { return owned_; }
  [[nodiscard]] int rank(std::size_t peer) const { return ranks_[peer]; }
  /// \{ A message's tag is the direction in which it is sent.
  [[nodiscard]] static int sent_tag(std::size_t peer) { return strake::kDirections[peer].number(); }
  [[nodiscard]] static int received_tag(std::size_t peer) {
    return (-strake::kDirections[peer]).number();
  }
  /// \}

 private:
  MPI_Comm cart_ = MPI_COMM_NULL;
  strake::Box owned_;
  std::array<int, kCount> ranks_{};
};
