// Batches of copies: one after the other on the CPU, one launch on a device.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "copy/batch_check.hpp"
#include "copy/plan_impl.hpp"
#include "settings/settings.hpp"
#include "strake/copy.hpp"
#include "strake/error.hpp"

namespace strake {

class STRAKE_LOCAL CopyBatch::Impl {
 public:
  /// For a device; -1: the CPU.
  Impl(int device, std::span<const Slot> slots, std::span<const Copy> copies);

  void enqueue(Stream& stream, std::span<std::byte* const> bases) const;
  void run(std::span<std::byte* const> bases) const;
  [[nodiscard]] std::string description() const;

  int device = -1;
  std::int64_t size_bytes = 0;

 private:
  /// A copy on the CPU.
  struct Run {
    CopyPlan plan;
    std::size_t to_slot;
    std::size_t from_slot;
  };
  void require_sound(std::span<std::byte* const> bases) const;
  void run_on_cpu(std::span<std::byte* const> bases) const;

  std::unique_ptr<DeviceBatch> batch_;  // on a device
  std::vector<Run> runs_;               // otherwise
  std::vector<Copy> checked_;           // at every run, if there are any
  std::vector<Place> places_;           // of the slots
};

namespace {

std::vector<Place> places_of(std::span<const CopyBatch::Slot> slots) {
  std::vector<Place> places;
  places.reserve(slots.size());
  for (const CopyBatch::Slot& slot : slots) places.push_back(slot.place);
  return places;
}

void require_slot(std::size_t copy, std::int32_t slot, std::size_t slots) {
  if (slot >= 0 && static_cast<std::size_t>(slot) < slots) return;
  throw InvalidArgument(
      fmt::format("copy {} of the batch: there is no slot {}, only {}", copy, slot, slots));
}

void require_within(std::size_t copy, const Layout& layout, std::int32_t slot,
                    const CopyBatch::Slot& memory) {
  constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
  const ByteRange bounds = layout.bounds();
  if (memory.size_bytes == kAny || (bounds.begin >= 0 && bounds.end <= memory.size_bytes)) return;
  throw InvalidArgument(
      fmt::format("copy {} of the batch: {} has bytes [{}, {}), but slot {} has bytes [0, {})",
                  copy, layout.to_string(), bounds.begin, bounds.end, slot, memory.size_bytes));
}

/// \throws InvalidArgument
void require_sound(std::span<const CopyBatch::Slot> slots,
                   std::span<const CopyBatch::Copy> copies) {
  if (slots.size() > static_cast<std::size_t>(CopyBatch::kMaxSlots)) {
    throw InvalidArgument(fmt::format("a batch with {} slots: at most {} are possible",
                                      slots.size(), CopyBatch::kMaxSlots));
  }
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const CopyBatch::Copy& copy = copies[i];
    require_slot(i, copy.to_slot, slots.size());
    require_slot(i, copy.from_slot, slots.size());
    if (copy.to.size_bytes() != copy.from.size_bytes()) {
      throw InvalidArgument(fmt::format("copy {} of the batch: {} bytes ({}) to {} bytes ({})", i,
                                        copy.from.size_bytes(), copy.from.to_string(),
                                        copy.to.size_bytes(), copy.to.to_string()));
    }
    require_within(i, copy.to, copy.to_slot, slots[static_cast<std::size_t>(copy.to_slot)]);
    require_within(i, copy.from, copy.from_slot, slots[static_cast<std::size_t>(copy.from_slot)]);
  }
}

/// The device of the first target in device memory, else of the first such source, else of managed
/// memory; -1: the CPU.
int device_of(std::span<const CopyBatch::Slot> slots, std::span<const CopyBatch::Copy> copies) {
  for (const MemoryKind kind : {MemoryKind::Device, MemoryKind::Managed}) {
    for (const auto side : {&CopyBatch::Copy::to_slot, &CopyBatch::Copy::from_slot}) {
      for (const CopyBatch::Copy& copy : copies) {
        const Place place = slots[static_cast<std::size_t>(copy.*side)].place;
        if (place.kind == kind) return std::max(place.device, 0);
      }
    }
  }
  return -1;
}

/// `device`, unless STRAKE_BACKEND forces a back end: an ordinal for `cuda`, -1 for `cpu`.
/// \throws Unsupported  `cpu` is forced, but a slot is in a device's memory
int forced_device(std::span<const CopyBatch::Slot> slots, int device) {
  const std::string_view forced = settings::text(settings::Id::backend);
  if (forced == "cuda") return std::max(device, 0);
  if (forced != "cpu" || device < 0) return device;
  for (const CopyBatch::Slot& slot : slots) {
    if (!slot.place.on_host()) {
      throw Unsupported(
          fmt::format("STRAKE_BACKEND=cpu cannot copy memory of device {}", slot.place.device));
    }
  }
  return -1;
}

}  // namespace

CopyBatch::Impl::Impl(int batch_device, std::span<const Slot> slots, std::span<const Copy> copies)
    : device(batch_device), places_(places_of(slots)) {
  for (const Copy& copy : copies) size_bytes += copy.to.size_bytes();
  if (settings::flag(settings::Id::check)) checked_.assign(copies.begin(), copies.end());
  if (device >= 0) {
    DeviceCopier* const copier = device_copier();
    if (copier == nullptr) {
      throw Unsupported(
          fmt::format("no device back end is loaded for a batch of device {}", device));
    }
    batch_ = copier->compile_batch(device, places_, copies);
    return;
  }
  runs_.reserve(copies.size());
  for (const Copy& copy : copies) {
    const auto to = static_cast<std::size_t>(copy.to_slot);
    const auto from = static_cast<std::size_t>(copy.from_slot);
    runs_.push_back({CopyPlan::compile(copy.to, places_[to], copy.from, places_[from]), to, from});
  }
}

void CopyBatch::Impl::require_sound(std::span<std::byte* const> bases) const {
  if (bases.size() != places_.size()) {
    throw InvalidArgument(
        fmt::format("{} base addresses for a batch with {} slots", bases.size(), places_.size()));
  }
  if (!checked_.empty()) check_batch(checked_, places_, bases, device >= 0);
}

void CopyBatch::Impl::run_on_cpu(std::span<std::byte* const> bases) const {
  for (const Run& run : runs_) run.plan.run(bases[run.to_slot], bases[run.from_slot]);
}

void CopyBatch::Impl::enqueue(Stream& stream, std::span<std::byte* const> bases) const {
  require_same_device(stream, device, "batch");
  require_sound(bases);
  if (batch_ == nullptr) return run_on_cpu(bases);
  batch_->enqueue(*StreamAccess::of(stream), bases);
}

void CopyBatch::Impl::run(std::span<std::byte* const> bases) const {
  require_sound(bases);
  if (batch_ == nullptr) return run_on_cpu(bases);
  Queue& queue = thread_queue(device);
  queue.wait(batch_->enqueue(queue, bases));
}

std::string CopyBatch::Impl::description() const {
  return batch_ != nullptr ? batch_->description()
                           : fmt::format("cpu batch of {} copies", runs_.size());
}

CopyBatch CopyBatch::compile(std::span<const Slot> slots, std::span<const Copy> copies,
                             int device) {
  require_sound(slots, copies);
  const int runs_it = forced_device(slots, device >= 0 ? device : device_of(slots, copies));
  return CopyBatch(std::make_unique<const Impl>(runs_it, slots, copies));
}

CopyBatch::CopyBatch() = default;
CopyBatch::CopyBatch(CopyBatch&&) noexcept = default;
CopyBatch& CopyBatch::operator=(CopyBatch&&) noexcept = default;
CopyBatch::~CopyBatch() = default;
CopyBatch::CopyBatch(std::unique_ptr<const Impl> impl) noexcept : impl_(std::move(impl)) {}

std::int64_t CopyBatch::size_bytes() const noexcept { return impl_ ? impl_->size_bytes : 0; }
int CopyBatch::device() const noexcept { return impl_ ? impl_->device : -1; }
std::string CopyBatch::description() const { return impl_ ? impl_->description() : "nothing"; }

void CopyBatch::enqueue(Stream& stream, std::span<std::byte* const> bases) const {
  if (impl_) impl_->enqueue(stream, bases);
}

void CopyBatch::run(std::span<std::byte* const> bases) const {
  if (impl_) impl_->run(bases);
}

}  // namespace strake
