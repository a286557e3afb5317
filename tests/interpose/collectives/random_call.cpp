#include "random_call.hpp"

#include <algorithm>

namespace random_collectives {
namespace {

/// All blocks of a rank together have about so many bytes at most.
constexpr std::int64_t kMostBytes = 1 << 20;

/// A block that a rank sends to itself has so many bytes at most: Open MPI 4.1 loses bytes of some
/// derived types past them.
constexpr std::int64_t kMostCopied = 64 << 10;

/// Starts of a persistent call. MPICH 4.0 drops its references to datatypes and to the communicator
/// at the first completion.
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
constexpr int kMostStarts = 1;
#else
constexpr int kMostStarts = 3;
#endif

struct Weight {
  Function function;
  int weight;
};
/// 80 of 100 for those that come first.
constexpr Weight kWeights[] = {{Function::kAlltoall, 10},
                               {Function::kAlltoallv, 11},
                               {Function::kAlltoallw, 13},
                               {Function::kNeighborAlltoall, 12},
                               {Function::kNeighborAlltoallv, 12},
                               {Function::kNeighborAlltoallw, 14},
                               {Function::kNeighborAllgather, 4},
                               {Function::kNeighborAllgatherv, 4},
                               {Function::kBcast, 2},
                               {Function::kGather, 1},
                               {Function::kGatherv, 2},
                               {Function::kScatter, 1},
                               {Function::kScatterv, 2},
                               {Function::kAllgather, 1},
                               {Function::kAllgatherv, 2},
                               {Function::kReduce, 1},
                               {Function::kAllreduce, 3},
                               {Function::kReduceScatter, 1},
                               {Function::kReduceScatterBlock, 1},
                               {Function::kScan, 1},
                               {Function::kExscan, 2}};

Function draw_function(Draw& draw) {
  int all = 0;
  for (const Weight& each : kWeights) all += each.weight;
  int left = draw.number(1, all);
  for (const Weight& each : kWeights) {
    left -= each.weight;
    if (left <= 0) return each.function;
  }
  return Function::kAlltoall;
}

bool is_possible(Function function, const Comm& comm) {
  if (is_neighbourly(function) && !comm.has_neighbours()) return false;
  const bool is_within_group = function == Function::kScan || function == Function::kExscan ||
                               function == Function::kReduceScatter ||
                               function == Function::kReduceScatterBlock;
  return !(comm.is_inter() && is_within_group);
}

/// Whether the MPI library alone goes wrong on a call.
bool is_beyond_library(const Call& call, const Comm& comm) {
  const bool is_alone = comm.groups[0].size() + comm.groups[1].size() == 1;
  const bool is_nonblocking = call.mode != Mode::kBlocking;
#ifdef MPICH_VERSION
  // MPICH 4.0 reads as many counts of receives as there are destinations.
  if (call.function == Function::kNeighborAlltoallw && !comm.has_equal_degrees()) return true;
  // MPICH 4.0 ignores the displacement where there is one rank.
  if (call.function == Function::kAllgatherv && is_alone) return true;
  // MPICH 4.0: MPI_Ibcast gives another group wrong bytes of derived types.
  if (call.function == Function::kBcast && comm.is_inter() && is_nonblocking) return true;
  // MPICH 4.0 takes another rank's datatype in place.
  return call.function == Function::kAlltoallw && call.is_in_place && is_nonblocking;
#else
  const bool copies = !is_neighbourly(call.function) && !has_types(call.function) &&
                      call.function != Function::kAlltoallv && !is_reduction(call.function);
  const std::int64_t unit = std::max(call.unit[0].bytes, call.unit[1].bytes);
  if (copies && unit * call.most_units > kMostCopied) return true;
  // Open MPI 4.1 has hung where two exchanges were under way of which one was in place.
  if (call.is_in_place && is_nonblocking && call.function <= Function::kAlltoallw) return true;
  // Open MPI 4.1 multiplies the displacement by the extent where there is one rank. On a
  // communicator with neighbours MPI_Ialltoallw retains as many datatypes as there are neighbours.
  if (call.function != Function::kAlltoallw) return false;
  return is_alone || (comm.has_neighbours() && call.frees_types);
#endif
}

bool can_be_in_place(Function function, const Comm& comm) {
  return !comm.is_inter() && !is_neighbourly(function) && function != Function::kBcast;
}

Call draw_any_call(Draw& draw, const Shapes& shapes, const std::vector<Comm>& comms, Mode mode) {
  Call call;
  call.mode = mode;
  call.function = draw_function(draw);
  std::vector<int> possible;
  for (std::size_t i = 0; i < comms.size(); ++i)
    if (is_possible(call.function, comms[i])) possible.push_back(static_cast<int>(i));
  call.comm = draw.pick(possible);
  const Comm& comm = comms[static_cast<std::size_t>(call.comm)];
  call.id = mix({static_cast<std::uint64_t>(draw.between(0, INT64_MAX - 1))});
  call.is_in_place = can_be_in_place(call.function, comm) && draw.chance(20);
  call.frees_types = mode == Mode::kNonblocking && draw.chance(20);
  call.root = draw.pick(comm.groups[comm.is_inter() && draw.chance(50) ? 1 : 0]);
  call.op = static_cast<Operator>(draw.number(0, comm.is_inter() ? 1 : 2));
  call.ints = draw.chance(10) ? 0 : draw.number(1, draw.chance(20) ? 10000 : 200);
  call.most_bytes = kMostBytes / static_cast<std::int64_t>(comm.groups[0].size());
  for (Piece& unit : call.unit) unit = draw_piece(draw, shapes, call.most_bytes);
  if (has_counts(call.function)) {
    call.most_units = draw.number(1, 4);
    for (Piece& unit : call.unit)
      unit.bytes = unit.wild == kNone && unit.bytes > (64 << 10) ? (64 << 10) : unit.bytes;
  } else {
    call.most_units = draw.chance(8) ? 0 : 1;
  }
  call.rounds = mode == Mode::kPersistent ? draw.number(1, kMostStarts) : 1;
  return call;
}

}  // namespace

int Call::units(int source, int destination) const {
  if (!has_counts(function)) return most_units;
  if (is_in_place && destination != kNone) {
    if (source > destination) std::swap(source, destination);
  }
  Draw draw(
      mix({id, 2, static_cast<std::uint64_t>(source), static_cast<std::uint64_t>(destination)}));
  int most = most_units;
  if (source == destination) {
    const std::int64_t bytes = std::max(unit[0].bytes, unit[1].bytes);
    most = static_cast<int>(std::clamp<std::int64_t>(kMostCopied / bytes, 1, most));
  }
  return draw.chance(20) ? 0 : draw.number(1, most);
}

int Call::ints_of(int rank) const {
  Draw draw(mix({id, 6, static_cast<std::uint64_t>(rank)}));
  return draw.chance(20) ? 0 : draw.number(0, ints);
}

Piece Call::piece(const Shapes& shapes, int source, int destination) const {
  if (is_in_place && source > destination) std::swap(source, destination);
  Draw draw(
      mix({id, 3, static_cast<std::uint64_t>(source), static_cast<std::uint64_t>(destination)}));
  const bool is_none = draw.chance(15);
  const std::int64_t most = source == destination ? std::min(most_bytes, kMostCopied) : most_bytes;
  Piece drawn = draw_piece(draw, shapes, most);
  if (is_none) drawn.bytes = 0;
  return drawn;
}

std::uint64_t Call::message(int round, int source, int destination, int edge) const {
  return mix({id, 4, static_cast<std::uint64_t>(round), static_cast<std::uint64_t>(source),
              static_cast<std::uint64_t>(destination), static_cast<std::uint64_t>(edge)});
}

int Call::value(int round, int rank, int i) const {
  constexpr std::uint64_t kBelow = 1 << 24;  // sums do not overflow
  const std::uint64_t drawn =
      mix({id, 5, static_cast<std::uint64_t>(round), static_cast<std::uint64_t>(rank),
           static_cast<std::uint64_t>(i)});
  return op == Operator::kAffine ? static_cast<int>(drawn & 0xffffffffu)
                                 : static_cast<int>(drawn % kBelow);
}

Piece draw_piece(Draw& draw, const Shapes& shapes, std::int64_t most_bytes) {
  Piece piece;
  if (draw.chance(20)) {
    const Shape wild = shapes.draw_wild(draw, most_bytes);
    if (wild.form == random_program::Form::kWild) {
      piece.bytes = wild.element_bytes;
      piece.wild = static_cast<int>(wild.seed);
      return piece;
    }
  }
  constexpr int kLeaves[] = {1, 4, 8};
  piece.leaf_bytes = kLeaves[draw.index(3)];
  const int percent = draw.number(1, 100);
  if (percent <= 15) {
    piece.bytes = draw.number(1, 100);
  } else if (percent <= 70) {
    piece.bytes = draw.number(100, 4096);
  } else if (percent <= 97) {
    piece.bytes = draw.number(4096, 64 << 10);
  } else {
    piece.bytes = draw.number(64 << 10, 1 << 20);
  }
  piece.bytes = std::min(piece.bytes, most_bytes) / piece.leaf_bytes * piece.leaf_bytes;
  piece.bytes = std::max<std::int64_t>(piece.bytes, piece.leaf_bytes);
  return piece;
}

Shape draw_shape(Draw& draw, const Piece& piece, bool may_be_wild) {
  if (piece.wild == kNone || piece.bytes == 0 || !may_be_wild || draw.chance(40)) {
    return Shapes::draw(draw, piece.bytes, piece.leaf_bytes);
  }
  Shape shape;
  shape.form = random_program::Form::kWild;
  shape.seed = static_cast<std::uint64_t>(piece.wild);
  shape.element_bytes = piece.bytes;
  shape.count = 1;
  shape.is_kept = draw.chance(50);
  return shape;
}

Call draw_call(Draw& draw, const Shapes& shapes, const std::vector<Comm>& comms, Mode mode) {
  for (;;) {
    const Call call = draw_any_call(draw, shapes, comms, mode);
    if (!is_beyond_library(call, comms[static_cast<std::size_t>(call.comm)])) return call;
  }
}

std::string describe(const Call& call, const Comm& comm) {
  std::string text = kModeNames[static_cast<int>(call.mode)];
  text += std::string("MPI_") + kFunctionNames[static_cast<int>(call.function)];
  if (call.is_in_place) text += " in place";
  if (is_reduction(call.function)) {
    text += std::string(" by ") + kOperatorNames[static_cast<int>(call.op)] + " of " +
            std::to_string(call.ints) + " ints";
  } else if (!has_types(call.function)) {
    text += " of " + std::to_string(call.unit[0].bytes) + " B";
    if (call.most_units != 1) text += " x " + std::to_string(call.most_units);
  }
  text += ", root " + std::to_string(call.root) + " of the world, on " + comm.text;
  return text;
}

int affine(int lower, int higher) {
  const auto f = static_cast<std::uint32_t>(lower), g = static_cast<std::uint32_t>(higher);
  const std::uint32_t a = (f >> 16) * (g >> 16) & 0xffffu;
  const std::uint32_t b = ((f & 0xffffu) * (g >> 16) + (g & 0xffffu)) & 0xffffu;
  return static_cast<int>(a << 16 | b);
}

int combine(Operator op, int lower, int higher) {
  switch (op) {
    case Operator::kSum:
      return lower + higher;
    case Operator::kMax:
      return std::max(lower, higher);
    case Operator::kAffine:
      return affine(lower, higher);
  }
  return 0;
}

}  // namespace random_collectives
