#include "exchange/method.hpp"

#include <cstdlib>
#include <string_view>

#include "mpi/real_mpi.hpp"
#include "settings/settings.hpp"

namespace strake::exchange {
namespace {

// Defaults measured on the machines of docs/performance.md; the measured model will replace them.
// Host memory: packing wins over the system's own datatype engine for short blocks, once the
// message outweighs a temporary buffer's cost.
constexpr std::int64_t kPackMaxMeanBlock = 512;
constexpr std::int64_t kPackMinBytes = 512;
// An operation and its request cost about a microsecond, which is what packing saves at a few KiB.
constexpr std::int64_t kPackMinBytesNonblocking = 16 << 10;
// Device memory without a GPU-aware MPI: one launch into mapped memory is the shortest way for what
// must be packed anyway (half round trip of 4 MiB: 570 us against 630 us staged); above, the copy
// engine leaves the kernel behind (54 GB/s against 52 at 16 MiB). Contiguous bytes go by copy
// engine at any size (6.2 us against 9.3 us for 1 KiB).
constexpr std::int64_t kOneShotMaxBytes = 4 << 20;

std::int64_t one_shot_limit(bool dense) noexcept {
  const std::int64_t forced = settings::number(settings::Id::one_shot_limit);
  if (forced > 0) return forced;
  return dense ? 0 : kOneShotMaxBytes;
}

// Open MPI packs the sender's next piece while the receiver unpacks the last; packing ahead gives
// that overlap up. It is worth it where our copy is several times faster than its own: not for many
// far blocks (0.5 to 0.8 x on one machine, 1.0 to 1.1 x on the other), nor for large messages of
// blocks that its own engine moves well enough (0.6 to 0.9 x, against 1.4 to 2.6 x) or that are so
// sparse that lines set the time of both (4 MiB of 8 bytes every 32: 0.83 x, every 64: 0.73 x, but
// every 24: 1.1 x). MPICH's engine is slower than packing ahead in every case measured (1.9 to 20
// x).
#ifdef OPEN_MPI
constexpr std::int64_t kPackMaxFar = 256 << 10;
constexpr std::int64_t kPackMaxBytes = 1 << 20;
constexpr std::int64_t kSlowBlock = 16;

bool system_overlaps(const Transfer& transfer) noexcept {
  const std::int64_t mean_block = transfer.bytes / transfer.blocks;
  // Halos of many messages at once leave less to gain: 0.8 x with faces of 24-byte blocks, 1.0
  // to 1.3 x with 8-byte ones.
  if (transfer.nonblocking && mean_block >= kSlowBlock && transfer.spread != Spread::Transpose) {
    return true;
  }
  switch (transfer.spread) {
    case Spread::Transpose:
      return false;
    case Spread::Far:
      if (transfer.bytes > kPackMaxFar) return true;
      break;
    case Spread::Sparse:
      if (transfer.bytes > kPackMaxBytes) return true;
      break;
    case Spread::Near:
      break;
  }
  return transfer.bytes > kPackMaxBytes && mean_block >= kSlowBlock;
}
#else
bool system_overlaps(const Transfer& /*transfer*/) noexcept { return false; }
#endif

enum class Forced : std::uint8_t { Auto, Pack, Device, OneShot, Staged, System };

Forced forced_method() noexcept {
  static const Forced forced = [] {
    const std::string_view name = settings::text(settings::Id::method);
    if (name == "pack") return Forced::Pack;
    if (name == "device") return Forced::Device;
    if (name == "one-shot") return Forced::OneShot;
    if (name == "staged") return Forced::Staged;
    if (name == "system") return Forced::System;
    return Forced::Auto;
  }();
  return forced;
}

Choice choose_host(const Transfer& transfer, Forced forced) noexcept {
  if (transfer.dense) return {Method::System, Reason::Contiguous};
  if (forced == Forced::System) return {Method::System, Reason::Forced};
  if (forced == Forced::Pack) return {Method::Pack, Reason::Forced};
  const std::int64_t least = transfer.nonblocking ? kPackMinBytesNonblocking : kPackMinBytes;
  if (transfer.bytes < least || transfer.bytes / transfer.blocks > kPackMaxMeanBlock) {
    return {Method::System, Reason::SystemIsFaster};
  }
  if (system_overlaps(transfer)) return {Method::System, Reason::SystemIsFaster};
  return {Method::Pack, Reason::None};
}

Choice choose_device(const Transfer& transfer, Forced forced) noexcept {
  const bool aware = mpi_is_gpu_aware();
  switch (forced) {
    case Forced::System:
      if (aware) return {Method::System, Reason::Forced};
      break;
    case Forced::Device:
      if (aware) return {transfer.dense ? Method::System : Method::Device, Reason::Forced};
      break;
    case Forced::OneShot:
      return {Method::OneShot, Reason::Forced};
    case Forced::Staged:
      return {Method::Staged, Reason::Forced};
    case Forced::Auto:
    case Forced::Pack:
      break;
  }
  if (aware) {
    return transfer.dense ? Choice{Method::System, Reason::GpuAware}
                          : Choice{Method::Device, Reason::None};
  }
  return {transfer.bytes <= one_shot_limit(transfer.dense) ? Method::OneShot : Method::Staged,
          Reason::None};
}

bool ask_library() noexcept {
  const std::string_view setting = settings::text(settings::Id::gpu_aware);
  if (setting == "yes") return true;
  if (setting == "no") return false;
  // An extension of both libraries, absent from builds that know nothing of GPUs.
  using Query = int (*)();
  const auto query = reinterpret_cast<Query>(mpi::find_real("MPIX_Query_cuda_support"));
  return query != nullptr && query() == 1;
}

}  // namespace

Spread spread_of(const Layout& layout) noexcept {
  constexpr std::int64_t kFar = 1024;
  constexpr std::int64_t kSparse = 32;
  if (layout.kind() != Layout::Kind::Box || layout.dims().empty()) return Spread::Near;
  const auto dims = layout.dims();
  const std::int64_t inner = std::abs(dims.back().stride_bytes);
  if (inner < kSparse) return Spread::Near;
  for (const Dim& dim : dims.first(dims.size() - 1)) {
    if (std::abs(dim.stride_bytes) < inner) {
      return inner < kFar ? Spread::Near : Spread::Transpose;
    }
  }
  return inner < kFar ? Spread::Sparse : Spread::Far;
}

bool mpi_is_gpu_aware() noexcept {
  static const bool aware = ask_library();
  return aware;
}

Choice choose(const Transfer& transfer) noexcept {
  const Forced forced = forced_method();
  // Pinned memory is the host's; managed memory may be on the device, and only the device moves it
  // quickly.
  const bool host =
      transfer.place.kind == MemoryKind::Host || transfer.place.kind == MemoryKind::Pinned;
  return host ? choose_host(transfer, forced) : choose_device(transfer, forced);
}

const char* name_of(Method method) noexcept {
  constexpr const char* kNames[] = {"system", "pack", "device", "one-shot", "staged"};
  return kNames[static_cast<int>(method)];
}

const char* name_of(Reason reason) noexcept {
  constexpr const char* kNames[] = {"none",
                                    "Strake is disabled",
                                    "contiguous host memory",
                                    "no bytes or no peer",
                                    "datatype never committed",
                                    "arguments the system refuses",
                                    "the system's own way is faster",
                                    "datatype not decodable",
                                    "contiguous device memory, GPU-aware MPI",
                                    "forced by STRAKE_METHOD",
                                    "out of memory"};
  return kNames[static_cast<int>(reason)];
}

}  // namespace strake::exchange
