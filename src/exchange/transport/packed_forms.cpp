// How transports pack messages (exchange/transport/packing.hpp).
#include <algorithm>

#include "copy/plan_impl.hpp"
#include "exchange/transport/packing.hpp"
#include "exchange/transport/queues.hpp"
#include "settings/settings.hpp"
#include "strake/error.hpp"

namespace strake::exchange {
namespace {

/// Longer messages are packed and unpacked by a launch of their own, at once. [bytes]
constexpr std::int64_t kMostTogether = 32 << 10;

/// A device's memory is written once the work before the message is done, and behind nothing that
/// came later. Of other memory it is not known when that is.
QueueOrder order_of_unpacking(const Packing& packing) noexcept {
  return packing.on_device() ? QueueOrder::Own : QueueOrder::AfterDefault;
}

/// Runs `enqueue`; where it fails, waits for what it has enqueued, which uses the message's
/// buffers.
template <typename Enqueue>
void enqueue_all(const BorrowedQueues& queues, const Ticket& kernels, const Ticket& copies,
                 Enqueue&& enqueue) {
  try {
    enqueue();
  } catch (...) {
    try {
      queues.kernels().wait(kernels);
      queues.copies().wait(copies);
    } catch (const Error&) {
      // The device has failed: nothing runs there any more.
    }
    throw;
  }
}

Place on_its_device(Place typed) noexcept { return {MemoryKind::Device, typed.device}; }
Place pinned_for_it(Place typed) noexcept { return {MemoryKind::Pinned, typed.device}; }

void pack_on_host(Packing& packing) {
  packing.plan()->run(packing.buffer().data(), packing.typed().address);
}
void unpack_on_host(Packing& packing, std::int64_t bytes) {
  packing.plan()->run(packing.typed().address, packing.buffer().data(), {0, bytes});
}

void compile_to_buffer(Packing& packing) { packing.compile(packing.buffer().place()); }

void pack_by_kernel(Packing& packing) {
  const BorrowedQueues queues(packing.typed().place.device, QueueOrder::AfterDefault);
  Queue& queue = queues.kernels();
  packing.enqueued(
      queue, enqueue(*packing.plan(), queue, packing.buffer().data(), packing.typed().address));
}
void unpack_by_kernel(Packing& packing, std::int64_t bytes) {
  const BorrowedQueues queues(packing.typed().place.device, order_of_unpacking(packing));
  Queue& queue = queues.kernels();
  packing.enqueued(queue, enqueue(*packing.plan(), queue, packing.typed().address,
                                  packing.buffer().data(), {0, bytes}));
}

/// Contiguous bytes are copied straight to or from the user's memory.
void open_staged(Packing& packing) {
  if (packing.elements().dense()) return;
  packing.between() =
      PoolBlock({MemoryKind::Device, packing.typed().place.device}, packing.size_bytes());
  packing.compile(packing.between().place());
}

/// One piece is copied while the next is packed.
void pack_in_pieces(Packing& packing) {
  const std::int64_t bytes = packing.size_bytes();
  const BorrowedQueues queues(packing.typed().place.device, QueueOrder::AfterDefault);
  std::byte* const from = packing.typed().address;
  std::byte* const to = packing.buffer().data();
  if (packing.plan() == nullptr) {
    return packing.enqueued(
        queues.copies(),
        queues.copies().copy(to, from + packing.elements().layout().offset(), bytes));
  }
  const std::int64_t piece = settings::number(settings::Id::chunk);
  std::byte* const between = packing.between().data();
  Ticket packed;
  Ticket copied;
  enqueue_all(queues, packed, copied, [&] {
    for (std::int64_t begin = 0; begin < bytes; begin += piece) {
      const std::int64_t end = std::min(begin + piece, bytes);
      packed = enqueue(*packing.plan(), queues.kernels(), between, from, {begin, end});
      queues.copies().wait_for(queues.kernels(), packed);
      copied = queues.copies().copy(to + begin, between + begin, end - begin);
    }
  });
  packing.enqueued(queues.copies(), copied);
}

void unpack_in_pieces(Packing& packing, std::int64_t bytes) {
  const BorrowedQueues queues(packing.typed().place.device, order_of_unpacking(packing));
  std::byte* const to = packing.typed().address;
  const std::byte* const from = packing.buffer().data();
  if (packing.plan() == nullptr) {
    return packing.enqueued(
        queues.copies(),
        queues.copies().copy(to + packing.elements().layout().offset(), from, bytes));
  }
  const std::int64_t piece = settings::number(settings::Id::chunk);
  std::byte* const between = packing.between().data();
  Ticket copied;
  Ticket unpacked;
  enqueue_all(queues, unpacked, copied, [&] {
    for (std::int64_t begin = 0; begin < bytes; begin += piece) {
      const std::int64_t end = std::min(begin + piece, bytes);
      copied = queues.copies().copy(between + begin, from + begin, end - begin);
      queues.kernels().wait_for(queues.copies(), copied);
      unpacked = enqueue(*packing.plan(), queues.kernels(), to, between, {begin, end});
    }
  });
  packing.enqueued(queues.kernels(), unpacked);
}

}  // namespace

const PackedForm kPackForm = {.carried = [](Place /*typed*/) noexcept { return Place{}; },
                              .open = [](Packing& packing) { packing.compile_for_cpu(); },
                              .pack = pack_on_host,
                              .unpack = unpack_on_host,
                              .synchronous = true};
const PackedForm kDeviceForm = {.carried = on_its_device,
                                .open = compile_to_buffer,
                                .pack = pack_by_kernel,
                                .unpack = unpack_by_kernel};
const PackedForm kOneShotForm = {.carried = pinned_for_it,
                                 .open = compile_to_buffer,
                                 .pack = pack_by_kernel,
                                 .unpack = unpack_by_kernel,
                                 .most_together = kMostTogether};
const PackedForm kStagedForm = {.carried = pinned_for_it,
                                .open = open_staged,
                                .pack = pack_in_pieces,
                                .unpack = unpack_in_pieces};

}  // namespace strake::exchange
