// Which form costs the least (BrickForm::Best), and what padding to pages adds.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "brick/plan.hpp"
#include "exchange/transport/pairs/message_pair.hpp"
#include "memory/sharing/arenas.hpp"
#include "mpi/real_mpi.hpp"

namespace strake {

using brick::BrickRange;
using brick::Region;

namespace {

/// The cost of a transfer to another node, as bytes of one that is long: a short one is packed at
/// either end, and a long one is a message by itself, which costs as much as to pack the shortest
/// of these.
std::int64_t cost_of(std::int64_t bytes) {
  return bytes + std::min(bytes, exchange::planned::kShortestPiece);
}

}  // namespace

std::int64_t AnyBrickGrid::Plan::page() const noexcept {
  return std::max(options.page, sharing::page_bytes());
}

std::int64_t AnyBrickGrid::Plan::in_pages(std::int64_t size) const noexcept {
  return (size + page() - 1) / page() * page();
}

std::int64_t AnyBrickGrid::Plan::padding() const noexcept {
  return bytes - decomposition->stored() * brick_bytes * options.fields;
}

/// Whether this rank can have two grids with so many mappings of views each.
bool AnyBrickGrid::Plan::may_map_views(std::int64_t needed) const {
  if (needed == 0) return true;
  if (!sharing::are_few(2 * needed, sharing::mappings())) return false;
  sharing::Arenas& arenas = sharing::Arenas::get();
  const std::int64_t all = decomposition->stored() * brick_bytes * options.fields;
  return arenas.release(arenas.allocate(std::max(all, sharing::Arenas::kShortest)));
}

/// Best becomes Layout or MemMap: the one whose transfers cost the rank with the most less.
/// Collective.
void AnyBrickGrid::Plan::choose_form() {
  if (options.form != BrickForm::Best) return;
  std::int64_t by_layout = 0;
  std::int64_t by_view = 0;
  std::int64_t needed = 0;  // mappings
  const int times = options.apart ? options.fields : 1;
  for_each_neighbour([&](Region direction, int peer) {
    if (!is_far(peer)) return;
    const auto sends = decomposition->sends(direction);
    std::int64_t in_view = 0;
    std::int64_t last_padding = 0;  // of the last region, which is not sent
    for (const BrickRange& range : sends) by_layout += cost_of(range.count * stride) * times;
    for (const BrickRange& range : decomposition->sends(direction, true)) {
      const std::int64_t exact = range.count * stride;
      in_view += in_pages(exact);
      last_padding = in_pages(exact) - exact;
    }
    by_view += cost_of(in_view - last_padding) * times;
    needed += std::ssize(sends) * times;
  });
  std::array<std::int64_t, 3> most{by_layout, by_view, may_map_views(needed) ? 0 : 1};
  mpi::check(mpi::real_mpi().MPI_Allreduce(MPI_IN_PLACE, most.data(), static_cast<int>(most.size()),
                                           MPI_INT64_T, MPI_MAX, comm),
             "MPI_Allreduce");
  options.form = most[1] < most[0] && most[2] == 0 ? BrickForm::MemMap : BrickForm::Layout;
  choice = fmt::format("{} was chosen: ", maps_views() ? "MemMap" : "Layout");
  if (most[0] == 0)
    choice += "no neighbours are on different nodes\n";
  else
    choice += fmt::format(
        "what a rank sends to other nodes costs as much as {} bytes by Layout, {} by MemMap{}\n",
        most[0], most[1],
        most[2] == 0 ? ""
                     : ", for which a rank has too few mappings, or memory that can't be shared");
}

}  // namespace strake
