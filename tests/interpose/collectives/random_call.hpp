/// \file  One random collective call as all ranks know it: function, communicator, how many bytes
/// go from whom to whom. How the bytes lie is drawn by each rank apart.
#pragma once

#include <cstdint>
#include <string>

#include "random_comms.hpp"

namespace random_collectives {

enum class Function {
  kAlltoall,
  kAlltoallv,
  kAlltoallw,
  kNeighborAlltoall,
  kNeighborAlltoallv,
  kNeighborAlltoallw,
  kNeighborAllgather,
  kNeighborAllgatherv,
  kBcast,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kAllgather,
  kAllgatherv,
  kReduce,
  kAllreduce,
  kReduceScatter,
  kReduceScatterBlock,
  kScan,
  kExscan
};
constexpr const char* kFunctionNames[] = {"Alltoall",
                                          "Alltoallv",
                                          "Alltoallw",
                                          "Neighbor_alltoall",
                                          "Neighbor_alltoallv",
                                          "Neighbor_alltoallw",
                                          "Neighbor_allgather",
                                          "Neighbor_allgatherv",
                                          "Bcast",
                                          "Gather",
                                          "Gatherv",
                                          "Scatter",
                                          "Scatterv",
                                          "Allgather",
                                          "Allgatherv",
                                          "Reduce",
                                          "Allreduce",
                                          "Reduce_scatter",
                                          "Reduce_scatter_block",
                                          "Scan",
                                          "Exscan"};

inline bool is_neighbourly(Function f) {
  return f >= Function::kNeighborAlltoall && f <= Function::kNeighborAllgatherv;
}
inline bool is_reduction(Function f) { return f >= Function::kReduce; }
/// Each rank sends one block, to all.
inline bool is_allgather(Function f) {
  return f == Function::kAllgather || f == Function::kAllgatherv ||
         f == Function::kNeighborAllgather || f == Function::kNeighborAllgatherv;
}
/// With the name's ending v: a datatype for all blocks, a count for each.
inline bool has_counts(Function f) {
  return f == Function::kAlltoallv || f == Function::kNeighborAlltoallv ||
         f == Function::kNeighborAllgatherv || f == Function::kGatherv ||
         f == Function::kScatterv || f == Function::kAllgatherv;
}
/// With the ending w: a datatype for each block.
inline bool has_types(Function f) {
  return f == Function::kAlltoallw || f == Function::kNeighborAlltoallw;
}

/// Both libraries cut what goes along a tree or ring into elements: all ranks must have the same.
inline bool is_described_alike(Function f) { return f >= Function::kBcast && !is_reduction(f); }

enum class Mode { kBlocking, kNonblocking, kPersistent };
constexpr const char* kModeNames[] = {"", "nonblocking ", "persistent "};

/// The third is not commutative.
enum class Operator { kSum, kMax, kAffine };
constexpr const char* kOperatorNames[] = {"MPI_SUM", "MPI_MAX", "an operation of its own"};

/// Bytes that both ends describe by datatypes of their own.
struct Piece {
  std::int64_t bytes = 0;
  int leaf_bytes = 1;
  int wild = kNone;  ///< a datatype of Shapes that has so many bytes
};

struct Options {
  std::uint64_t seed = 1;
  int first = 0, steps = 100;
  bool is_persistent = false;
  bool on_device = false;
};

struct Call {
  std::uint64_t id = 0;
  Function function = Function::kAlltoall;
  Mode mode = Mode::kBlocking;
  int comm = 0;
  bool is_in_place = false;
  bool frees_types = false;      ///< while a nonblocking call is under way
  int root = 0;                  ///< of the world
  Operator op = Operator::kSum;  ///< of a reduction
  int ints = 0;                  ///< of a reduction, or of each rank's part of one
  Piece unit[2];                 ///< by the sender's group; of has_types(): not used
  int most_units = 1;            ///< of it in a block
  std::int64_t most_bytes = 0;   ///< of a block
  int rounds = 1;                ///< starts, of a persistent one

  [[nodiscard]] bool is_plain() const { return !has_counts(function) && !has_types(function); }
  /// How many units go from one to the other, of a function with counts; kNone: to or from all.
  [[nodiscard]] int units(int source, int destination) const;
  /// Ints of a rank's part of a reduction.
  [[nodiscard]] int ints_of(int rank) const;
  /// The bytes that go from one to the other, of a function with types.
  [[nodiscard]] Piece piece(const Shapes& shapes, int source, int destination) const;
  /// The contents of what one sends to the other by its edge of this number among those to it.
  [[nodiscard]] std::uint64_t message(int round, int source, int destination, int edge) const;
  /// Element i of what a rank gives to a reduction.
  [[nodiscard]] int value(int round, int rank, int i) const;
};

std::string describe(const Call& call, const Comm& comm);

/// All ranks draw the same from the same state of `draw`.
Piece draw_piece(Draw& draw, const Shapes& shapes, std::int64_t most_bytes);
/// How one end describes it. `may_be_wild`: by the wild datatype, now and then.
Shape draw_shape(Draw& draw, const Piece& piece, bool may_be_wild);
Call draw_call(Draw& draw, const Shapes& shapes, const std::vector<Comm>& comms, Mode mode);

/// \{ The operation that is not commutative: x -> a x + b modulo 65536, with a in the upper half;
/// the lower rank's is applied first.
int affine(int lower, int higher);
int combine(Operator op, int lower, int higher);
/// \}

}  // namespace random_collectives
