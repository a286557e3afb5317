#include "exchange/method.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <string_view>

#include "exchange/plans.hpp"
#include "machine/model.hpp"
#include "machine/pitch.hpp"
#include "mpi/job.hpp"
#include "mpi/quirks.hpp"
#include "mpi/real_mpi.hpp"
#include "settings/log.hpp"
#include "settings/settings.hpp"

namespace strake::exchange {
namespace {

// For machines without a profile: measured on those of docs/performance.md.
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
// Of far blocks at multiples of 2 KiB a cache holds a few hundred (8-byte columns of rows of 4 and
// 8 KiB, 1024 to 12,288 blocks: 0.4 to 0.6 x).
constexpr std::int64_t kPackMaxAligned = 512;
// Sparse ones of 4 to 64 bytes took an Intel Xeon 1.1 to 1.7 times as long packed from 256 KiB on,
// 0.6 to 0.8 at 64 KiB; those of 2 and 3 bytes 0.7 to 0.9 at any size.
constexpr std::int64_t kPackMaxSparse = 256 << 10;
constexpr std::int64_t kLeastSparse = 4;
constexpr std::int64_t kPackMaxBytes = 1 << 20;
constexpr std::int64_t kSlowBlock = 16;

bool pipeline_is_faster(const Message& message) noexcept {
  const std::int64_t mean_block = message.mean_block();
  // Halos of many messages at once leave less to gain: 0.8 x with faces of 24-byte blocks, 1.0
  // to 1.3 x with 8-byte ones.
  if (message.nonblocking && mean_block >= kSlowBlock && message.spread != Spread::Transpose) {
    return true;
  }
  switch (message.spread) {
    case Spread::Transpose:
      return false;
    case Spread::Far:
      if (message.bytes > kPackMaxFar) return true;
      if (machine::is_aligned(message.pitch) && message.blocks > kPackMaxAligned) return true;
      break;
    case Spread::Sparse:
      if (message.bytes >= kPackMaxSparse && mean_block >= kLeastSparse) return true;
      break;
    case Spread::Near:
      break;
  }
  return message.bytes > kPackMaxBytes && mean_block >= kSlowBlock;
}
// MPICH's own copy is slower than packing ahead in every case measured (1.05 to 20 x) but far
// blocks of a size: 128 KiB of 8 bytes every 1040 took an Intel Xeon 0.84 x in two runs, 1.07 x in
// another, Zen 4 1.06 x; 42 KiB of 40 bytes 1.07 and 1.49 x, 406 KiB and 512 KiB 1.10 to 1.20 x.
constexpr std::int64_t kUnpipelinedMaxFar = 96 << 10;
constexpr std::int64_t kUnpipelinedMinFar = 256 << 10;

bool block_by_block_is_faster(const Message& message) noexcept {
  return message.spread == Spread::Far && message.bytes > kUnpipelinedMaxFar &&
         message.bytes < kUnpipelinedMinFar;
}

bool library_is_faster(const Message& message) noexcept {
  return mpi::quirks::kPipelinesDatatypes ? pipeline_is_faster(message)
                                          : block_by_block_is_faster(message);
}

Choice built_in_host(const Message& message) noexcept {
  if (message.bytes < kPackMinBytes || message.mean_block() > machine::kPackMaxMeanBlock) {
    return {Method::System, Reason::BuiltInRule};
  }
  if (library_is_faster(message)) return {Method::System, Reason::BuiltInRule};
  return {Method::Pack, Reason::None};
}

/// What was measured on this class of machine, or null.
const machine::Model* model() noexcept {
  static const machine::Model* const made = []() -> const machine::Model* {
    const machine::Profile* profile = machine::this_machine();
    if (profile == nullptr) return nullptr;
    const std::string library = mpi_library();
    if (library_is_measured()) {
      log::debug("methods are chosen by the profile of {}, for {}", profile->host, library);
    } else {
      log::info("the profile of this machine has nothing of {}; mpirun -n 2 strake measure adds it",
                library);
    }
    try {
      return new machine::Model(
          *profile, library,
          mpi::on_one_node().value_or(true) ? machine::Reach::Node : machine::Reach::Net,
          settings::number(settings::Id::chunk));
    } catch (const std::exception& error) {
      log::warn("the profile of {} can't be used: {}", profile->host, error.what());
      return nullptr;
    }
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
  return fmt::format("{} {}", mpi::quirks::kLibrary, version.substr(begin, end - begin));
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

Message message_of(const mpi::Elements& elements, Direction direction, Place place,
                   bool nonblocking) noexcept {
  return {.direction = direction,
          .dense = elements.dense(),
          .place = place,
          .bytes = elements.size_bytes(),
          .blocks = elements.block_count(),
          .spread = elements.spread(),
          .nonblocking = nonblocking,
          .pitch = elements.pitch()};
}

Choice choose(const Message& message) noexcept {
  // Pinned memory is the host's; managed memory may be on the device, and only the device moves it
  // quickly.
  const bool host = message.place.in_host_memory();
  const bool aware = !host && mpi_is_gpu_aware();
  static const std::optional<Method> forced = forced_method();
  if (const auto settled = settled_choice(message, forced, aware)) return *settled;
  const std::int64_t limit = settings::number(settings::Id::one_shot_limit);
  if (const machine::Model* measured = model()) {
    if (const auto method = measured->choose(message, {aware, limit})) {
      if (*method != Method::System) return {*method, Reason::None};
      return {Method::System, host ? Reason::LibraryIsFaster : Reason::GpuAware};
    }
  }
  return host ? built_in_host(message) : built_in_device(message, aware, limit);
}

Choice choose(mpi::Elements& elements, Direction direction, Place place,
              bool nonblocking) noexcept {
  std::atomic<std::uint32_t>& kept = plans_of(elements).choice(direction, place, nonblocking);
  constexpr std::uint32_t kMade = 1U << 16;
  if (const std::uint32_t known = kept.load(std::memory_order_relaxed); known != 0) {
    return {static_cast<Method>(known >> 8 & 0xff), static_cast<Reason>(known & 0xff)};
  }
  const Choice choice = choose(message_of(elements, direction, place, nonblocking));
  kept.store(kMade | static_cast<std::uint32_t>(choice.method) << 8 |
                 static_cast<std::uint32_t>(choice.reason),
             std::memory_order_relaxed);
  return choice;
}

}  // namespace strake::exchange
