#include "strake/copy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "copy/cpu/compile.hpp"
#include "copy/plan_impl.hpp"
#include "memory/per_thread.hpp"
#include "settings/settings.hpp"
#include "strake/error.hpp"

namespace strake {
namespace {

/// Whether a device has to take part: device memory, or managed memory, which may be on the device.
bool needs_device(Place place) {
  return place.kind == MemoryKind::Device || place.kind == MemoryKind::Managed;
}

/// "device 0", "host".
std::string to_text(Place place) {
  return place.device < 0 ? name_of(place.kind)
                          : fmt::format("{} {}", name_of(place.kind), place.device);
}

/// The back end that the setting asks for, checked against what the memories need.
bool runs_on_device(Place to, Place from, int device) {
  const std::string_view forced = settings::text(settings::Id::backend);
  const bool device_memory = !to.on_host() || !from.on_host();
  if (forced == "cpu" && device_memory) {
    throw Unsupported(fmt::format("STRAKE_BACKEND=cpu cannot copy from {} to {} memory",
                                  to_text(from), to_text(to)));
  }
  if (forced == "cpu") return false;
  return forced == "cuda" || device >= 0 || needs_device(to) || needs_device(from);
}

}  // namespace

CopyPlan::CopyPlan() = default;
CopyPlan::CopyPlan(CopyPlan&&) noexcept = default;
CopyPlan& CopyPlan::operator=(CopyPlan&&) noexcept = default;
CopyPlan::~CopyPlan() = default;
CopyPlan::CopyPlan(std::unique_ptr<const Impl> impl) noexcept : impl_(std::move(impl)) {}

CopyPlan CopyPlan::compile(const Layout& to, Place to_place, const Layout& from, Place from_place,
                           int device) {
  if (to.size_bytes() != from.size_bytes()) {
    throw InvalidArgument(fmt::format("cannot copy {} bytes ({}) to {} bytes ({})",
                                      from.size_bytes(), from.to_string(), to.size_bytes(),
                                      to.to_string()));
  }
  if (!runs_on_device(to_place, from_place, device)) {
    const auto threads = static_cast<int>(settings::number(settings::Id::threads));
    return CopyPlan(std::make_unique<const Impl>(
        cpu::compile(to, from, {.kernels = nullptr, .threads = threads})));
  }
  DeviceCopier* const copier = device_copier();
  if (copier == nullptr) {
    throw Unsupported(fmt::format("no device back end is loaded to copy from {} to {} memory",
                                  to_text(from_place), to_text(to_place)));
  }
  return CopyPlan(std::make_unique<const Impl>(
      copier->compile(to, to_place, from, from_place, CopyVariant::Auto, device)));
}

std::int64_t CopyPlan::size_bytes() const noexcept { return impl_ ? impl_->size_bytes : 0; }

const char* CopyPlan::backend() const noexcept {
  return impl_ && impl_->device ? device_backend()->name() : "cpu";
}

std::string CopyPlan::description() const {
  if (!impl_) return "nothing";
  if (impl_->device) return impl_->device->description();
  return fmt::format("cpu {} {}", impl_->op->description(), cpu::default_kernels().nest->name);
}

void CopyPlan::run(std::byte* to, const std::byte* from, ByteRange part) const {
  if (!impl_) return;
  const ByteRange cut = {std::max<std::int64_t>(part.begin, 0),
                         std::min(part.end, impl_->size_bytes)};
  if (cut.begin >= cut.end) return;
  if (impl_->op) return cpu::run_range(*impl_->op, to, from, cut);
  Queue& queue = thread_queue(impl_->ordinal);
  queue.wait(impl_->device->enqueue(queue, to, from, cut));
}

void CopyPlan::enqueue(Stream& stream, std::byte* to, const std::byte* from, ByteRange part) const {
  if (!impl_) return;
  require_same_device(stream, impl_->ordinal, "plan");
  if (impl_->op) return run(to, from, part);
  DeviceStream& device_stream = *StreamAccess::of(stream);
  if (!impl_->device->staged()) return impl_->device->enqueue(device_stream, to, from, part);
  if (device_stream.capturing()) {
    throw Unsupported(
        "a copy of pageable host memory can't be captured: the host takes part in it (use pinned "
        "memory)");
  }
  stream.synchronize();
  run(to, from, part);
}

void require_same_device(const Stream& stream, int device, const char* what) {
  if (stream.device() == device) return;
  throw InvalidArgument(fmt::format("a {} for device {} on a stream of device {} (-1: the CPU)",
                                    what, device, stream.device()));
}

Queue& thread_queue(int device) {
  auto& queues = PerThread<std::vector<std::unique_ptr<Queue>>>::get();
  const auto index = static_cast<std::size_t>(std::max(device, 0));
  if (index >= queues.size()) queues.resize(index + 1);
  if (queues[index] == nullptr) {
    queues[index] = required_device_backend().make_queue(device);
  }
  return *queues[index];
}

}  // namespace strake
