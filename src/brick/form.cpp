// Which form costs the least (BrickForm::Best), and what padding to pages adds.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "brick/plan.hpp"
#include "exchange/transport/pairs/message_pair.hpp"
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

/// Best becomes Layout or MemMap: the one whose transfers cost the rank with the most less.
/// Collective.
void AnyBrickGrid::Plan::choose_form() {
  if (options.form != BrickForm::Best) return;
  std::int64_t by_layout = 0;
  std::int64_t by_view = 0;
  std::int64_t mappings = 0;
  const int times = options.apart ? options.fields : 1;
  for_each_neighbour([&](Region direction, int peer) {
    if (!is_far(peer)) return;
    const auto sends = decomposition->sends(direction);
    std::int64_t in_view = 0;
    for (const BrickRange& range : sends) by_layout += cost_of(range.count * stride) * times;
    for (const BrickRange& range : decomposition->sends(direction, true))
      in_view += in_pages(range.count * stride);
    by_view += cost_of(in_view) * times;
    mappings += std::ssize(sends) * times;
  });
  const bool too_many = mappings > 0 && !sharing::are_few(mappings, sharing::mappings());
  std::array<std::int64_t, 3> most{by_layout, by_view, too_many ? 1 : 0};
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
        most[0], most[1], most[2] == 0 ? "" : ", which needs too many mappings");
}

}  // namespace strake
