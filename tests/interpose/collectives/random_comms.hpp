/// \file  The communicators of random collectives, drawn from a seed alike on all ranks.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "random_buffer.hpp"

namespace random_collectives {

/// A communicator. All ranks name its members alike: by their ranks in the world.
struct Comm {
  enum class Kind { kPlain, kCartesian, kGraph, kDistGraph, kInter };

  MPI_Comm handle = MPI_COMM_NULL;  ///< MPI_COMM_NULL on ranks that are no members
  Kind kind = Kind::kPlain;
  std::string text;
  std::vector<int> groups[2];  ///< by rank; the second only of an intercommunicator
  /// \{ Neighbours by rank, each in the order of its blocks; kNone: MPI_PROC_NULL.
  std::vector<std::vector<int>> sources, destinations;
  /// \}
  int calls = 0;
  std::uint64_t edges = 0;  ///< hash of which edges met where a rank is a neighbour several times

  [[nodiscard]] bool is_inter() const { return kind == Kind::kInter; }
  [[nodiscard]] bool has_neighbours() const { return kind != Kind::kPlain && !is_inter(); }
  [[nodiscard]] bool has_equal_degrees() const;
  /// The group that a member is in.
  [[nodiscard]] int side_of(int world_rank) const;
  [[nodiscard]] bool has(int world_rank) const;
  /// The rank in its own group.
  [[nodiscard]] int rank_of(int world_rank) const;
  /// \{ As a member sees it.
  [[nodiscard]] const std::vector<int>& own_group(int world_rank) const {
    return groups[side_of(world_rank)];
  }
  [[nodiscard]] const std::vector<int>& peers(int world_rank) const {
    return groups[is_inter() ? 1 - side_of(world_rank) : 0];
  }
  /// \}
};

/// Collective over the world. The first one has all ranks, in order.
std::vector<Comm> make_comms(std::uint64_t seed);
void free_comms(std::vector<Comm>& comms);

}  // namespace random_collectives
