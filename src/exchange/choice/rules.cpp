// The rules of choosing that need no MPI: the core has them, for tools that link no MPI library.
#include <iterator>

#include "exchange/choice/choice.hpp"

namespace strake::exchange {

std::optional<Choice> settled_choice(const Message& message, const Forced* forced,
                                     bool gpu_aware) noexcept {
  const bool host = message.place.in_host_memory();
  if (host && message.dense) return Choice{Transport::Library, Reason::Contiguous};
  if (forced == nullptr) return std::nullopt;
  auto transport = host ? forced->host_messages : forced->device_messages;
  if (!transport) return std::nullopt;
  if (!host && (*transport == Transport::Device || *transport == Transport::Library)) {
    if (!gpu_aware) return std::nullopt;
    if (message.dense) transport = Transport::Library;
  }
  return Choice{*transport, Reason::Forced};
}

Choice built_in_device(const Message& message, bool gpu_aware,
                       std::int64_t one_shot_limit) noexcept {
  // Measured on H200s. One launch into mapped memory is the shortest way for
  // what must be packed anyway (half round trip of 4 MiB: 570 us against 630 us staged); above, the
  // copy engine leaves the kernel behind (54 GB/s against 52 at 16 MiB). Contiguous bytes go by
  // copy engine at any size (6.2 us against 9.3 us for 1 KiB).
  constexpr std::int64_t kOneShotMaxBytes = 4 << 20;
  // With a GPU-aware MPI, strided at both ends: 18 to 22 us against 26 to 32 us by device memory up
  // to 10 KiB, equal at 32 KiB, 160 to 200 us against 40 us at 1 MiB (Open MPI 4.1.4).
  constexpr std::int64_t kOneShotMaxBytesAware = 32 << 10;
  if (gpu_aware && message.dense) return {Transport::Library, Reason::GpuAware};
  const std::int64_t limit = one_shot_limit > 0 ? one_shot_limit
                             : message.dense    ? 0
                             : gpu_aware        ? kOneShotMaxBytesAware
                                                : kOneShotMaxBytes;
  if (message.bytes <= limit) return {Transport::OneShot, Reason::None};
  return {gpu_aware ? Transport::Device : Transport::Staged, Reason::None};
}

const char* name_of(Reason reason) noexcept {
  constexpr const char* kNames[] = {
      "none",
      "contiguous host memory",
      "no bytes or no peer",
      "datatype never committed",
      "arguments that the MPI library refuses",
      "the MPI library is faster, by the profile of this machine",
      "datatype not decodable",
      "contiguous device memory, GPU-aware MPI",
      "forced by STRAKE_METHOD",
      "out of memory",
      "collective operations",
      "external32",
      "one-sided operations",
      "MPI_Isendrecv and MPI_Isendrecv_replace",
      "a device without kernels for it",
      "a datatype used a few times",
      "left by a built-in rule",
      "the MPI library was faster in this job's trials",
      "collective operations left to the MPI library by this job's trials",
      "collective operations of ranks that have not agreed on another way"};
  static_assert(std::size(kNames) == kReasons);
  return kNames[static_cast<int>(reason)];
}

}  // namespace strake::exchange
