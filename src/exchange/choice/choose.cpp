#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <string_view>

#include "exchange/choice/choice.hpp"
#include "exchange/choice/choice_log.hpp"
#include "exchange/transport/plans.hpp"
#include "machine/model.hpp"
#include "machine/profile_state.hpp"
#include "machine/transports.hpp"
#include "mpi/job.hpp"
#include "mpi/library_name.hpp"
#include "mpi/quirks.hpp"
#include "mpi/real_mpi.hpp"
#include "settings/log.hpp"
#include "settings/settings.hpp"

namespace strake::exchange {
namespace {

using machine::Model;
using machine::Reach;

bool all_on_one_node() noexcept { return mpi::on_one_node().value_or(true); }

/// Returns null if nothing was measured, or the profile can't be used.
std::unique_ptr<const Model> make_model(Reach reach) noexcept {
  const machine::Profile* profile = machine::this_machine();
  if (profile == nullptr) return nullptr;
  try {
    return std::make_unique<const Model>(*profile, mpi_library(), reach,
                                         settings::number(settings::Id::chunk));
  } catch (const std::exception& error) {
    log::warn("the profile of {} can't be used: {}", profile->host, error.what());
    return nullptr;
  }
}

/// The model of messages between any two ranks of the job, by this machine's profile, or null.
const Model* model() noexcept {
  static const Model* const made = []() -> const Model* {
    if (machine::this_machine() == nullptr) return nullptr;
    log_once("profile: " + machine::state_of(machine::located_here(), mpi_library()).sentence);
    return make_model(all_on_one_node() ? Reach::Node : Reach::Net).release();
  }();
  return made;
}

/// The model of messages between ranks of one node, or null.
const Model* node_model() noexcept {
  static const Model* const made = all_on_one_node() ? model() : make_model(Reach::Node).release();
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
  return mpi::library_name(text.data());
}

Message message_of(const mpi::Elements& elements, MessageDirection direction, Place place,
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
  static const Forced* const by_setting = forced();
  if (const auto settled = settled_choice(message, by_setting, aware)) return *settled;
  if (host) return choose_host(message, model(), node_model(), mpi::quirks::kPipelinesDatatypes);
  const std::int64_t limit = settings::number(settings::Id::one_shot_limit);
  if (const Model* const measured = model()) {
    if (const auto transport = measured->choose(message, {aware, limit}))
      return {*transport, *transport == Transport::Library ? Reason::GpuAware : Reason::None};
  }
  return built_in_device(message, aware, limit);
}

std::string why_chosen(const Message& message, const Choice& choice) {
  if (choice.reason != Reason::None && choice.reason != Reason::BuiltInRule)
    return name_of(choice.reason);
  const bool host = message.place.in_host_memory();
  const bool aware = !host && mpi_is_gpu_aware();
  const Model* const measured = choice.reason == Reason::None ? model() : nullptr;
  if (measured != nullptr &&
      measured->choose(message, {aware, settings::number(settings::Id::one_shot_limit)}))
    return "the fastest by the profile of this machine";
  constexpr const char* kRule = "by a built-in rule";
  if (!host) return kRule;
  const bool tried = choice.reason == Reason::BuiltInRule && settings::flag(settings::Id::trials);
  const char* const other =
      choice.transport == Transport::Pack ? "the MPI library's own copy" : "packing";
  return fmt::format("{}, {}{}", built_in_host(message, mpi::quirks::kPipelinesDatatypes).why,
                     kRule,
                     tried ? fmt::format(", so the first exchanges try {}, too", other) : "");
}

Choice choose(mpi::Elements& elements, MessageDirection direction, Place place,
              bool nonblocking) noexcept {
  std::atomic<std::uint32_t>& kept = plans_of(elements).choice(direction, place, nonblocking);
  constexpr std::uint32_t kMade = 1U << 16;
  constexpr std::uint32_t kShares = 1U << 17;
  if (const std::uint32_t known = kept.load(std::memory_order_relaxed); known != 0) {
    return {static_cast<Transport>(known >> 8 & 0xff), static_cast<Reason>(known & 0xff),
            (known & kShares) != 0};
  }
  const Message message = message_of(elements, direction, place, nonblocking);
  const Choice choice = choose(message);
  log_choice(message, choice, elements);
  kept.store(kMade | (choice.shares ? kShares : 0) |
                 static_cast<std::uint32_t>(choice.transport) << 8 |
                 static_cast<std::uint32_t>(choice.reason),
             std::memory_order_relaxed);
  return choice;
}

}  // namespace strake::exchange
