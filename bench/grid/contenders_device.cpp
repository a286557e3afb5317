// Ghost exchanges in the memory of devices, which ranks share round robin.
#include "grid/contenders.hpp"
#include "grid/device_batch.hpp"
#include "grid/device_grid.hpp"
#include "grid/device_packed.hpp"

namespace bench {
namespace {

ContenderKind grid_kind(const char* name, Pace pace) {
  return {name, [pace](const RankBox& box, const HaloShape& shape) {
            return make_device_grid(box, shape, pace);
          }};
}

ContenderKind nccl_kind(const char* name, int exchanges) {
  return {name, [exchanges](const RankBox& box, const HaloShape& shape) {
            return make_packed_nccl(box, shape, exchanges);
          }};
}

/// The kind, for jobs of one GPU a rank only.
ContenderKind one_gpu(ContenderKind kind) {
  return {kind.name, [make = kind.make](const RankBox& box, const HaloShape& shape) {
            return shape.gpus == 1 ? make(box, shape) : nullptr;
          }};
}

const std::vector<ContenderKind>& all_kinds() {
  static const std::vector<ContenderKind> kinds = {
      grid_kind("grid on a device", Pace::Wait),
      grid_kind("grid enqueued", Pace::Enqueue),
      grid_kind("grid enqueued ten", Pace::EnqueueTen),
      grid_kind("grid in a graph", Pace::Graph),
      grid_kind("grid in a graph of ten", Pace::GraphOfTen),
      grid_kind("grid, not fused", Pace::EnqueueNotFused),
      grid_kind("grid in a graph, not fused", Pace::GraphNotFused),
      {"cudaMemcpy3DBatchAsync", make_memcpy_batch},
      nccl_kind("pack + NCCL", 1),
      nccl_kind("pack + NCCL ten", 10),
      {"fused pack + pinned MPI", make_packed_pinned},
      {"fused pack + device MPI", make_packed_aware},
  };
  return kinds;
}

}  // namespace

const std::vector<ContenderKind>& contender_kinds() {
  static const std::vector<ContenderKind> kinds = [] {
    std::vector<ContenderKind> made;
    for (const ContenderKind& kind : all_kinds())
      made.push_back(kind.name.starts_with("grid") &&
                             kind.name.find("not fused") == std::string::npos
                         ? kind
                         : one_gpu(kind));
    return made;
  }();
  return kinds;
}

}  // namespace bench
