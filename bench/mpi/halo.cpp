#include "mpi/halo.hpp"

#include <algorithm>

#include "mpi/numbers.hpp"

namespace bench {

RankBox::RankBox(int rank, int ranks) {
  std::array<int, 3> zyx{};
  MPI_Dims_create(ranks, 3, zyx.data());
  counts_ = {zyx[2], zyx[1], zyx[0]};
  at_ = strake::index_of(rank, counts_);
}

RankBox::RankBox(int rank, const std::array<int, 3>& counts)
    : counts_{counts[0], counts[1], counts[2]}, at_(strake::index_of(rank, counts_)) {}

std::array<int, 3> RankBox::counts() const {
  std::array<int, 3> counts{};
  for (std::size_t axis = 0; axis < 3; ++axis) counts[axis] = static_cast<int>(counts_[axis]);
  return counts;
}

int RankBox::neighbour(strake::Direction direction) const {
  return static_cast<int>(strake::number_of(*strake::neighbour(at_, direction, counts_), counts_));
}

std::vector<Transfer> transfers_of(const RankBox& box, const HaloShape& shape) {
  std::vector<Transfer> all;
  for (const strake::Direction d : strake::kDirections) {
    all.push_back(
        {d.number(), box.neighbour(d), box.neighbour(-d), shape.sent(d), shape.ghosts(-d)});
  }
  return all;
}

HaloBytes halo_bytes(const RankBox& box, const HaloShape& shape) {
  HaloBytes bytes;
  for (const Transfer& transfer : transfers_of(box, shape)) {
    (transfer.to == box.rank() ? bytes.within : bytes.to_others) +=
        transfer.sent.size() * std::int64_t{sizeof(double)} * shape.quantities;
  }
  return bytes;
}

BlockCells::BlockCells(const RankBox& box, const HaloShape& shape)
    : quantities_(static_cast<std::size_t>(shape.quantities)) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    extent_[axis] = std::int64_t{box.counts()[axis]} * shape.edge;
    owned_.lower[axis] = box.at()[axis] * shape.edge;
    owned_.upper[axis] = owned_.lower[axis] + shape.edge;
  }
  stored_ = strake::grown(owned_, shape.radius);
}

std::vector<double> BlockCells::filled(int quantity, int epoch) const {
  return grid_numbers(stored_, owned_, extent_, static_cast<std::size_t>(quantity), quantities_,
                      epoch);
}

std::int64_t BlockCells::wrong(const std::vector<double>& values, int quantity, int epoch) const {
  return count_different(values,
                         grid_numbers(stored_, stored_, extent_, static_cast<std::size_t>(quantity),
                                      quantities_, epoch));
}

Halo::Halo(const RankBox& box, const HaloShape& shape) : shape_(shape), cells_(box, shape) {
  for (int q = 0; q < shape.quantities; ++q) arrays_.emplace_back(shape.bytes(), shape.memory);
  const auto type_of = [&](const strake::Box& cells) {
    Datatype type = subarray(cells, shape.sizes(), MPI_DOUBLE);
    type.commit();
    return type;
  };
  for (const Transfer& transfer : transfers_of(box, shape))
    transfers_.push_back({transfer, type_of(transfer.sent), type_of(transfer.ghosts)});
}

void Halo::fill(int epoch) {
  for (int q = 0; q < shape_.quantities; ++q) std::ranges::copy(cells_.filled(q, epoch), array(q));
}

std::int64_t Halo::wrong_cells(int epoch) const {
  std::int64_t wrong = 0;
  for (int q = 0; q < shape_.quantities; ++q)
    wrong += cells_.wrong({array(q), array(q) + shape_.cells()}, q, epoch);
  return wrong;
}

}  // namespace bench
