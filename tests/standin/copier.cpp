// The device copier of the stand-in: compiles its copies.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

#include "copies.hpp"
#include "copy/device_copier.hpp"
#include "put.hpp"
#include "strake/error.hpp"

namespace standin {
namespace {

using strake::Layout;
using strake::Place;
using strake::Ticket;

class Copier final : public strake::DeviceCopier {
 public:
  std::unique_ptr<strake::DevicePlan> compile(const Layout& to, Place to_place, const Layout& from,
                                              Place from_place, strake::CopyVariant /*variant*/,
                                              int device) override {
    if (!has_kernels()) throw strake::Unsupported("the stand-in has no kernels");
    const auto is_pageable = [](Place place) { return place.kind == strake::MemoryKind::Host; };
    return std::make_unique<Plan>(
        to, from, device >= 0 ? device : std::max({to_place.device, from_place.device, 0}),
        is_pageable(to_place) || is_pageable(from_place));
  }

  std::unique_ptr<strake::DeviceBatch> compile_batch(
      int device, std::span<const Place> /*slots*/,
      std::span<const strake::CopyBatch::Copy> copies) override {
    if (!has_kernels()) throw strake::Unsupported("the stand-in has no kernels");
    return std::make_unique<Batch>(copies, device);
  }

  std::unique_ptr<strake::PutRounds> compile_put(int device, const strake::PutCopies& copies,
                                                 const strake::PutState& state) override {
    if (!has_kernels()) throw strake::Unsupported("the stand-in has no kernels");
    return std::make_unique<DevicePut>(copies, state, device);
  }

  Ticket enqueue_together(strake::Queue& queue, std::span<const strake::BatchRun> runs) override {
    Ticket last;
    for (const strake::BatchRun& run : runs) {
      std::byte* const bases[] = {run.to, const_cast<std::byte*>(run.from)};
      last = run.batch->enqueue(queue, bases);
    }
    return last;
  }
};

}  // namespace
}  // namespace standin

extern "C" __attribute__((visibility("default"))) strake::DeviceCopier* strake_make_device_copier(
    int version, const strake::BlockSource& /*blocks*/) {
  return version == strake::kDeviceBackendVersion ? new standin::Copier : nullptr;
}
