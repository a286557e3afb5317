#include "grid/device_packed.hpp"

#include <mpi.h>

#include <map>
#include <string>

#include "strake/error.hpp"

namespace bench {
namespace {

template <typename Value>
std::int64_t bytes_of(const std::vector<Value>& values) {
  return static_cast<std::int64_t>(values.size() * sizeof(Value));
}

std::vector<Tile> tiles_of(const std::vector<BoxCopy>& boxes) {
  std::vector<Tile> tiles;
  for (std::size_t i = 0; i < boxes.size(); ++i)
    for (std::uint32_t first = 0; first < boxes[i].cells; first += kTileCells)
      tiles.push_back({static_cast<std::uint32_t>(i), first});
  return tiles;
}

BoxCopy copy_of(const strake::Box& box, const BoxEnd& to, const BoxEnd& from) {
  if (box.size() >= std::int64_t{1} << 31)
    throw strake::InvalidArgument("a box of " + std::to_string(box.size()) +
                                  " cells is too large for the packing kernel");
  return {to, from, static_cast<std::uint32_t>(box.size()),
          divisor_of(static_cast<std::uint32_t>(box.extent(0))),
          divisor_of(static_cast<std::uint32_t>(box.extent(1)))};
}

BoxEnd dense(double* at, const strake::Box& box) {
  return {at, box.extent(0), box.extent(1) * box.extent(0)};
}

}  // namespace

BoxCopies::BoxCopies(const std::vector<BoxCopy>& boxes) : BoxCopies(boxes, tiles_of(boxes)) {}

BoxCopies::BoxCopies(const std::vector<BoxCopy>& boxes, const std::vector<Tile>& tiles)
    : tile_count_(static_cast<std::uint32_t>(tiles.size())),
      boxes_(Where::Device, bytes_of(boxes)),
      tiles_(Where::Device, bytes_of(tiles)) {
  boxes_.write(boxes.data());
  tiles_.write(tiles.data());
  check(cudaDeviceSynchronize());
}

void BoxCopies::enqueue(cudaStream_t stream) const {
  if (tile_count_ == 0) return;
  check(launch_copies(reinterpret_cast<const BoxCopy*>(boxes_.data()),
                      reinterpret_cast<const Tile*>(tiles_.data()), tile_count_, stream));
}

PackedContender::PackedContender(const RankBox& box, const HaloShape& shape, Where buffers)
    : BlockContender(box, shape) {
  int self = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &self);
  const std::vector<Transfer> transfers = transfers_of(box, shape);

  // The neighbour to one side in a direction is the one from there in the opposite direction, whose
  // parts are as large: a peer gets as many cells as come from it.
  std::map<int, std::int64_t> cells_of_peer;
  for (const Transfer& t : transfers)
    if (t.to != self) cells_of_peer[t.to] += t.sent.size() * shape.quantities;
  std::int64_t all = 0;
  for (const auto& [peer, cells] : cells_of_peer) all += cells;
  constexpr std::int64_t kSize = sizeof(double);
  out_ = std::make_unique<DeviceMemory>(buffers, all * kSize);
  in_ = std::make_unique<DeviceMemory>(buffers, all * kSize);
  std::map<int, double*> out;
  std::map<int, double*> in;
  std::int64_t at = 0;
  for (const auto& [peer, cells] : cells_of_peer) {
    out[peer] = out_->doubles() + at;
    in[peer] = in_->doubles() + at;
    messages_.push_back({peer, out[peer], in[peer], cells});
    at += cells;
  }

  // In a message the boxes come in the order of the directions, and then of the fields: for sender
  // and receiver alike.
  std::vector<BoxCopy> packs;
  std::vector<BoxCopy> unpacks;
  for (const Transfer& t : transfers) {
    for (int q = 0; q < shape.quantities; ++q) {
      const BoxEnd sent = block().end_at(block().data(), q, t.sent);
      const BoxEnd ghosts = block().end_at(block().data(), q, t.ghosts);
      if (t.to == self) {  // and so it comes from there
        packs.push_back(copy_of(t.sent, ghosts, sent));
        continue;
      }
      packs.push_back(copy_of(t.sent, dense(out[t.to], t.sent), sent));
      unpacks.push_back(copy_of(t.ghosts, ghosts, dense(in[t.from], t.ghosts)));
      out[t.to] += t.sent.size();
      in[t.from] += t.ghosts.size();
    }
  }
  pack_ = std::make_unique<BoxCopies>(packs);
  unpack_ = std::make_unique<BoxCopies>(unpacks);
}

}  // namespace bench
