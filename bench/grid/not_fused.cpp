#include "grid/not_fused.hpp"

#include <mpi.h>

#include <cstdint>
#include <span>

#include "strake/layout.hpp"
#include "strake/view.hpp"

namespace bench {
namespace {

/// From the first stored cell on.
strake::Layout layout_of(const strake::Box& part, const strake::View<double>& view) {
  constexpr std::int64_t kSize = sizeof(double);
  return strake::layout_of(part, {kSize, view.stride(1) * kSize, view.stride(2) * kSize});
}

}  // namespace

NotFused::NotFused(const std::vector<strake::Field<double>>& fields, const RankBox& box,
                   const HaloShape& shape, strake::Place place) {
  const std::vector<Transfer> transfers = transfers_of(box, shape);
  const bool one_plan = place.kind == strake::MemoryKind::Device;
  for (const strake::Field<double>& field : fields) {
    const strake::View<double> view = field.view();
    const auto& first = view.stored().lower;
    auto* const base = reinterpret_cast<std::byte*>(&view(first[0], first[1], first[2]));
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      if (one_plan && plans_.size() == transfers.size()) {
        runs_.push_back({i, base});
        continue;
      }
      strake::ExchangePart part;
      const int array = part.array(place);
      part.send(transfers[i].to, 0, array, layout_of(transfers[i].sent, view));
      part.receive(transfers[i].from, 0, array, layout_of(transfers[i].ghosts, view));
      runs_.push_back({plans_.size(), base});
      plans_.emplace_back(MPI_COMM_WORLD, part);
    }
  }
}

void NotFused::exchange() {
  for (const Run& run : runs_) plans_[run.plan].start(std::span(&run.base, 1));
  for (strake::Exchange& plan : plans_) plan.wait();
}

void NotFused::enqueue(strake::Stream& stream) {
  for (const Run& run : runs_) plans_[run.plan].enqueue(std::span(&run.base, 1), stream);
}

}  // namespace bench
