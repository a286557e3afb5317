// The choice of a transport for host memory. Nothing here calls MPI, so that tools can use it.
#include "exchange/choice/choice.hpp"
#include "machine/model.hpp"
#include "machine/pitch.hpp"

namespace strake::exchange {
namespace {

// For machines without a profile: measured on Xeons, EPYCs and H200s (docs/results).
// Host memory: packing wins over the MPI library's own copy of short blocks, once the
// message outweighs a temporary buffer's cost.
constexpr std::int64_t kPackMinBytes = 512;
// Open MPI packs the sender's next piece while the receiver unpacks the last; packing ahead gives
// that overlap up. It is worth it where our copy is several times faster than its own: not for many
// far blocks (0.5 to 0.8 x on one machine, 1.0 to 1.1 x on the other), nor for large messages of
// blocks that it moves well enough itself (0.6 to 0.9 x, against 1.4 to 2.6 x) or that are so
// sparse that lines set the time of both (4 MiB of 8 bytes every 32: 0.83 x, every 64: 0.73 x, but
// every 24: 1.1 x).
constexpr std::int64_t kPackMaxFar = 256 << 10;
// A cache holds a few hundred far blocks at multiples of 2 KiB (8-byte columns of rows of 4 and
// 8 KiB, 1024 to 12,288 blocks: 0.4 to 0.6 x).
constexpr std::int64_t kPackMaxAligned = 512;
// Sparse blocks of 4 to 64 bytes took an Intel Xeon 1.1 to 1.7 times as long packed from 256 KiB
// on, 0.6 to 0.8 at 64 KiB; sparse blocks of 2 and 3 bytes 0.7 to 0.9 at any size.
constexpr std::int64_t kPackMaxSparse = 256 << 10;
constexpr std::int64_t kLeastSparse = 4;
constexpr std::int64_t kPackMaxBytes = 1 << 20;
constexpr std::int64_t kSlowBlock = 16;

/// Why the pipeline of the MPI library is faster than packing; null: it is not.
const char* pipeline_is_faster(const Message& message) noexcept {
  const std::int64_t mean_block = message.mean_block();
  // Halos of many messages at once leave less to gain: 0.8 x with faces of 24-byte blocks, 1.0
  // to 1.3 x with 8-byte ones.
  if (message.nonblocking && mean_block >= kSlowBlock && message.spread != Spread::Transpose) {
    return "nonblocking messages of such blocks overlap in the MPI library";
  }
  switch (message.spread) {
    case Spread::Transpose:
      return nullptr;
    case Spread::Far:
      if (message.bytes > kPackMaxFar) return "there are many far blocks";
      if (machine::is_aligned(message.pitch) && message.blocks > kPackMaxAligned)
        return "there are many blocks at multiples of 2 KiB";
      break;
    case Spread::Sparse:
      if (message.bytes >= kPackMaxSparse && mean_block >= kLeastSparse)
        return "there are many sparse blocks";
      break;
    case Spread::Near:
      break;
  }
  return message.bytes > kPackMaxBytes && mean_block >= kSlowBlock ? "the message is large"
                                                                   : nullptr;
}

// MPICH's own copy is slower than packing ahead in every case measured (1.05 to 20 x) but far
// blocks of a size: 128 KiB of 8 bytes every 1040 took an Intel Xeon 0.84 x in two runs, 1.07 x in
// another, Zen 4 1.06 x; 42 KiB of 40 bytes 1.07 and 1.49 x, 406 KiB and 512 KiB 1.10 to 1.20 x.
constexpr std::int64_t kUnpipelinedMaxFar = 96 << 10;
constexpr std::int64_t kUnpipelinedMinFar = 256 << 10;

const char* block_by_block_is_faster(const Message& message) noexcept {
  return message.spread == Spread::Far && message.bytes > kUnpipelinedMaxFar &&
                 message.bytes < kUnpipelinedMinFar
             ? "there are many far blocks"
             : nullptr;
}

}  // namespace

HostRule built_in_host(const Message& message, bool pipelines) noexcept {
  const auto left = [](const char* why) {
    return HostRule{{Transport::Library, Reason::BuiltInRule}, why};
  };
  if (message.bytes < kPackMinBytes) return left("short messages don't pay for a temporary buffer");
  if (message.mean_block() > machine::kPackMaxMeanBlock)
    return left("the MPI library copies such long blocks as fast");
  const char* const faster =
      pipelines ? pipeline_is_faster(message) : block_by_block_is_faster(message);
  if (faster != nullptr) return left(faster);
  return {{Transport::Pack, Reason::BuiltInRule},
          "the MPI library copies such short blocks more slowly"};
}

Choice choose_host(const Message& message, const machine::Model* model,
                   const machine::Model* on_node, bool pipelines) noexcept {
  Choice choice;
  if (const auto transport = model != nullptr ? model->choose(message, {}) : std::nullopt) {
    choice = {*transport,
              *transport == Transport::Library ? Reason::LibraryIsFaster : Reason::None};
  } else {
    choice = built_in_host(message, pipelines).choice;
  }
  if (on_node != nullptr) choice.shares = on_node->shares(message, choice.transport).value_or(true);
  return choice;
}

}  // namespace strake::exchange
