#include "exchange/method.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "exchange/choice_cache.hpp"
#include "exchange/job.hpp"
#include "exchange/model.hpp"
#include "machine/pitch.hpp"
#include "mpi/real_mpi.hpp"
#include "settings/log.hpp"
#include "settings/settings.hpp"

namespace strake::exchange {
namespace {

// For machines without a profile: measured on those of docs/performance.md.
// Host memory: packing wins over the system's own datatype engine for short blocks, once the
// message outweighs a temporary buffer's cost.
constexpr std::int64_t kPackMinBytes = 512;
// An operation and its request cost about a microsecond, which is what packing saves at a few KiB.
constexpr std::int64_t kPackMinBytesNonblocking = 16 << 10;
// Open MPI packs the sender's next piece while the receiver unpacks the last; packing ahead gives
// that overlap up. It is worth it where our copy is several times faster than its own: not for many
// far blocks (0.5 to 0.8 x on one machine, 1.0 to 1.1 x on the other), nor for large messages of
// blocks that its own engine moves well enough (0.6 to 0.9 x, against 1.4 to 2.6 x) or that are so
// sparse that lines set the time of both (4 MiB of 8 bytes every 32: 0.83 x, every 64: 0.73 x, but
// every 24: 1.1 x).
#ifdef OPEN_MPI
constexpr std::int64_t kPackMaxFar = 256 << 10;
// Of far blocks at multiples of 2 KiB a cache holds a few hundred (8-byte columns of rows of 4 and
// 8 KiB, 1024 to 12,288 blocks: 0.4 to 0.6 x).
constexpr std::int64_t kPackMaxAligned = 512;
// Sparse ones of 4 to 64 bytes took an Intel Xeon 1.1 to 1.7 times as long packed from 256 KiB on,
// 0.6 to 0.8 at 64 KiB; those of 2 and 3 bytes 0.7 to 0.9 at any size.
constexpr std::int64_t kPackMaxSparse = 256 << 10;
constexpr std::int64_t kLeastSparse = 4;
constexpr std::int64_t kPackMaxBytes = 1 << 20;
constexpr std::int64_t kSlowBlock = 16;

bool system_overlaps(const Transfer& transfer) noexcept {
  const std::int64_t mean_block = transfer.mean_block();
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
      if (machine::is_aligned(transfer.pitch) && transfer.blocks > kPackMaxAligned) return true;
      break;
    case Spread::Sparse:
      if (transfer.bytes >= kPackMaxSparse && mean_block >= kLeastSparse) return true;
      break;
    case Spread::Near:
      break;
  }
  return transfer.bytes > kPackMaxBytes && mean_block >= kSlowBlock;
}
#else
// MPICH's engine is slower than packing ahead in every case measured (1.05 to 20 x) but far blocks
// of a size: 128 KiB of 8 bytes every 1040 took an Intel Xeon 0.84 x in two runs, 1.07 x
// in another, Zen 4 1.06 x; 42 KiB of 40 bytes 1.07 and 1.49 x, 406 KiB and 512 KiB 1.10 to 1.20 x.
constexpr std::int64_t kPackMaxFar = 96 << 10;
constexpr std::int64_t kPackMinFar = 256 << 10;

bool system_overlaps(const Transfer& transfer) noexcept {
  return transfer.spread == Spread::Far && transfer.bytes > kPackMaxFar &&
         transfer.bytes < kPackMinFar;
}
#endif

Choice built_in_host(const Transfer& transfer) noexcept {
  const std::int64_t least = transfer.nonblocking ? kPackMinBytesNonblocking : kPackMinBytes;
  if (transfer.bytes < least || transfer.mean_block() > kPackMaxMeanBlock) {
    return {Method::System, Reason::SystemIsFaster};
  }
  if (system_overlaps(transfer)) return {Method::System, Reason::SystemIsFaster};
  return {Method::Pack, Reason::None};
}

/// What was measured on this class of machine, or null.
const Model* model() noexcept {
  static const Model* const made = []() -> const Model* {
    const machine::Profile* profile = machine::this_machine();
    if (profile == nullptr) return nullptr;
    const std::string library = mpi_library();
    if (library_is_measured()) {
      log::debug("methods are chosen by the profile of {}, for {}", profile->host, library);
    } else {
      log::info("the profile of this machine has nothing of {}; mpirun -n 2 strake measure adds it",
                library);
    }
    return new Model(*profile, library, on_one_node().value_or(true) ? Link::Node : Link::Net,
                     settings::number(settings::Id::chunk));
  }();
  return made;
}

bool ask_library() noexcept {
  const std::string_view setting = settings::text(settings::Id::gpu_aware);
  if (setting == "yes") return true;
  if (setting == "no") return false;
  // An extension of both libraries, absent from builds that know nothing of GPUs.
  using Query = int (*)();
  const auto query = reinterpret_cast<Query>(mpi::find_real("MPIX_Query_cuda_support"));
  if (query == nullptr || query() != 1) return false;
  // A library may claim what it can't do: a job that tried it knows better.
  const machine::Profile* profile = machine::this_machine();
  return profile == nullptr ||
         std::none_of(profile->aware.begin(), profile->aware.end(),
                      [library = mpi_library()](const machine::Profile::Aware& tried) {
                        return tried.mpi == library && !tried.aware;
                      });
}

}  // namespace

bool mpi_is_gpu_aware() noexcept {
  static const bool aware = ask_library();
  return aware;
}

std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  mpi::real_mpi().MPI_Get_library_version(text.data(), &length);
  const std::string_view version(text.data());
  const std::size_t begin = std::min(version.find_first_of("0123456789"), version.size());
  const std::size_t end = version.find_first_of(", \t\r\n", begin);
#ifdef OPEN_MPI
  return "Open MPI " + std::string(version.substr(begin, end - begin));
#else
  return "MPICH " + std::string(version.substr(begin, end - begin));
#endif
}

bool library_is_measured() noexcept {
  static const bool measured = [] {
    const machine::Profile* profile = machine::this_machine();
    return profile != nullptr &&
           std::any_of(profile->results.begin(), profile->results.end(),
                       [library = mpi_library()](const machine::Result& result) {
                         return result.mpi == library;
                       });
  }();
  return measured;
}

Choice choose_anew(const Transfer& transfer) noexcept {
  // Pinned memory is the host's; managed memory may be on the device, and only the device moves it
  // quickly.
  const bool host = transfer.place.in_host_memory();
  const bool aware = !host && mpi_is_gpu_aware();
  static const std::optional<Method> forced = forced_method();
  if (const auto settled = settled_choice(transfer, forced, aware)) return *settled;
  const std::int64_t limit = settings::number(settings::Id::one_shot_limit);
  if (const Model* measured = model()) {
    if (const auto choice = measured->choose(transfer, {aware, limit})) return *choice;
  }
  return host ? built_in_host(transfer) : built_in_device(transfer, aware, limit);
}

Choice choose(const Transfer& transfer) noexcept {
  // The built-in rules take no longer than a look-up.
  if (model() == nullptr) return choose_anew(transfer);
  static constinit ChoiceCache cache;
  if (const auto known = cache.find(transfer)) return *known;
  const Choice choice = choose_anew(transfer);
  cache.insert(transfer, choice);
  return choice;
}

}  // namespace strake::exchange
