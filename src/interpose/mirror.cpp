#include "interpose/mirror.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "copy/plan_impl.hpp"
#include "exchange/peers/backoff.hpp"
#include "exchange/transport/mixed.hpp"
#include "exchange/transport/queues.hpp"
#include "interpose/found.hpp"
#include "strake/error.hpp"

namespace strake::interpose {
namespace {

using exchange::BorrowedQueues;
using exchange::LaunchBatcher;
using machine::MessageDirection;

/// A mirror of so many times its elements' bytes, and longer than kLeastSpan, is reserved for the
/// call alone: most of its pages stay untouched. [1, bytes]
constexpr std::int64_t kSparse = 4;
constexpr std::int64_t kLeastSpan = 1 << 20;

}  // namespace

ReservedSpan::ReservedSpan(std::int64_t bytes) : bytes_(bytes) {
  void* const mapped = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    throw OutOfMemory(
        fmt::format("no {} bytes of addresses for elements in a device's memory that "
                    "lie so far apart",
                    bytes));
  data_ = static_cast<std::byte*>(mapped);
}

ReservedSpan::~ReservedSpan() {
  if (data_ != nullptr) munmap(data_, static_cast<std::size_t>(bytes_));
}

Mirror::Mirror(exchange::Typed typed, ByteRange reach) : typed_(std::move(typed)) {
  const Layout& layout = typed_.elements->layout();
  ByteRange bounds = layout.bounds();
  if (reach.size() > 0)
    bounds = {std::min(bounds.begin, reach.begin), std::max(bounds.end, reach.end)};
  if (!typed_.mixed) required_device_backend().require_intact(typed_.place.device);
  std::byte* data = nullptr;
  if (layout.is_dense() && !typed_.mixed) {
    try {
      block_ = PoolBlock({MemoryKind::Pinned, typed_.place.device}, bounds.size());
      pinned_ = true;
      data = block_.data();
    } catch (const OutOfMemory&) {
      // Pageable memory does as well, by way of a little pinned memory.
    }
  }
  if (data == nullptr) {
    const bool sparse = bounds.size() > kLeastSpan && bounds.size() / kSparse > layout.size_bytes();
    if (sparse) {
      data = span_.emplace(bounds.size()).data();
    } else {
      block_ = PoolBlock(Place{}, bounds.size());
      data = block_.data();
    }
  }
  base_ = reinterpret_cast<std::byte*>(address_of(data, -bounds.begin));
}

void Mirror::mark() {
  if (!typed_.mixed) mark_ = LaunchBatcher::get().mark(typed_.place.device);
}

void Mirror::copy(MessageDirection direction, ByteRange part) {
  part.end = std::min(part.end, size_bytes());
  if (part.begin >= part.end) return;
  if (typed_.mixed) return copy_mixed(direction, part);
  const int device = typed_.place.device;
  const bool in = direction == MessageDirection::Send;
  std::byte* const to = in ? base_ : typed_.address;
  const std::byte* const from = in ? typed_.address : base_;
  const BorrowedQueues queues(device, in ? QueueOrder::AfterDefault : QueueOrder::Own);
  if (pinned_) {
    const std::int64_t begin = typed_.elements->layout().offset() + part.begin;
    Queue& queue = queues.copies();
    queue.wait(queue.copy(to + begin, from + begin, part.size()));
  } else {
    const CopyPlan& plan = exchange::plans_of(*typed_.elements).mirrored(direction, typed_.place);
    Queue& queue = queues.kernels();
    queue.wait(enqueue(plan, queue, to, from, part));
  }
}

void Mirror::copy_mixed(MessageDirection direction, ByteRange part) {
  mpi::Elements& elements = *typed_.elements;
  const PoolBlock packed(Place{}, part.size());
  const CopyPlan& plan = exchange::plans_of(elements).plan(
      direction == MessageDirection::Send ? MessageDirection::Receive : MessageDirection::Send, {},
      {});
  // A plan's packed bytes begin with byte 0, wherever its part does.
  std::byte* const dense = packed.data() - part.begin;
  if (direction == MessageDirection::Send) {
    exchange::copy_mixed(direction, elements.layout(), typed_.address, packed.data(), part);
    plan.run(base_, dense, part);
  } else {
    plan.run(dense, base_, part);
    exchange::copy_mixed(direction, elements.layout(), typed_.address, packed.data(), part);
  }
}

void Mirror::copy_in(ByteRange part) { copy(MessageDirection::Send, part); }

void Mirror::copy_back() {
  exchange::Backoff backoff;
  while (mark_ != 0 && !LaunchBatcher::get().reached(typed_.place.device, mark_)) backoff.pause();
  copy(MessageDirection::Receive, ByteRange::all());
}

}  // namespace strake::interpose
