#include "exchange/choice/exchange_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "exchange/choice/choice.hpp"
#include "exchange/transport/pairs/sequence_counters.hpp"
#include "layout/traits.hpp"
#include "machine/transports.hpp"
#include "settings/log.hpp"
#include "strake/error.hpp"

namespace strake::exchange::planned {
namespace {

/// Null where nothing was measured on this class of machine.
const machine::ExchangeModel* model() {
  static const std::unique_ptr<const machine::ExchangeModel> made =
      []() -> std::unique_ptr<const machine::ExchangeModel> {
    const machine::Profile* const profile = machine::this_machine();
    if (profile == nullptr) return nullptr;
    return std::make_unique<const machine::ExchangeModel>(*profile, mpi_library());
  }();
  return made.get();
}

/// The path and the candidates of all transfers of a direction.
struct Common {
  machine::Path path;
  int unit = -1;
  machine::TransportSet candidates = machine::kAllTransports;
};
void add(std::vector<machine::PlannedTransfer>& transfers, const Common& common,
         const std::vector<MatchedTransfer>& matched) {
  for (const MatchedTransfer& transfer : matched) {
    const std::int64_t bytes = transfer.mine.size_bytes();
    if (bytes > 0)
      transfers.push_back({common.path,
                           {bytes, bytes / transfer.mine.block_count(), pitch_of(transfer.mine)},
                           common.unit,
                           common.candidates});
  }
}

/// Returns what `predict` does; nothing if the profile can't be used.
template <typename Predict>
auto or_nothing(const Predict& predict) -> decltype(predict()) {
  try {
    return predict();
  } catch (const Error& error) {
    log::warn("the profile of this machine can't be used for exchanges: {}", error.what());
    return std::nullopt;
  }
}

std::optional<machine::Prediction> predicted_round(const RankOnDevice& own,
                                                   std::span<const DeviceTraffic> all) {
  if (model() == nullptr) return std::nullopt;
  std::vector<machine::PlannedTransfer> transfers;
  std::optional<Transport> transport;
  for (const DeviceTraffic& traffic : all) {
    const machine::PathEnd here = end_of(own);
    const machine::PathEnd there = end_of(traffic.other);
    add(transfers, {{here, there}}, *traffic.sends);
    if (traffic.receives == nullptr) continue;
    add(transfers, {{there, here}}, *traffic.receives);
    const Transport its = traffic.transport;
    if (transport.value_or(its) != its) return std::nullopt;
    transport = its;
  }
  machine::Prediction made = model()->predict(transfers, transport);
  if (transfers.empty() || !made.seconds) return std::nullopt;
  return made;
}

/// By unit: the pairs.
std::optional<machine::Prediction> predicted(std::span<const PlannedPair> pairs) {
  if (model() == nullptr) return std::nullopt;
  std::vector<machine::PlannedTransfer> transfers;
  int unit = 0;
  for (const PlannedPair& pair : pairs) {
    machine::TransportSet candidates = 0;
    for (const Transport candidate : pair.candidates) candidates |= machine::set_of(candidate);
    add(transfers, {{pair.here, pair.there}, unit, candidates}, *pair.sends);
    if (pair.receives != nullptr)
      add(transfers, {{pair.there, pair.here}, unit, candidates}, *pair.receives);
    ++unit;
  }
  machine::Prediction made = model()->predict(transfers);
  made.alternatives.resize(pairs.size());
  return made;
}

/// "put 26.8 us, one-shot 45.0 us"
std::string listed(const std::vector<machine::Prediction::Alternative>& alternatives) {
  constexpr double kUsPerSecond = 1e6;
  std::string text;
  for (const auto& [transport, seconds] : alternatives)
    text += fmt::format("{}{} {:.1f} us", text.empty() ? "" : ", ", machine::name_of(transport),
                        seconds * kUsPerSecond);
  return text;
}

}  // namespace

machine::PathEnd end_of(const RankOnDevice& at) noexcept {
  return {MemoryKind::Device, at.rank, 0, at.device};
}

std::vector<PairChoice> choose_for_exchange(std::span<const PlannedPair> pairs) {
  const bool any = std::ranges::any_of(
      pairs, [](const PlannedPair& pair) { return pair.candidates.size() > 1; });
  const auto prediction = any ? or_nothing([&] { return predicted(pairs); }) : std::nullopt;
  std::vector<PairChoice> all;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    PairChoice& choice = all.emplace_back(pairs[i].candidates.front(), std::string());
    if (pairs[i].candidates.size() == 1) continue;
    if (!prediction || prediction->alternatives[i].empty()) {
      choice.why = "by a built-in rule, as this machine's profile has no times of it";
      continue;
    }
    choice.transport = prediction->alternatives[i].front().transport;
    choice.why = "the soonest by this machine's profile: " + listed(prediction->alternatives[i]);
  }
  return all;
}

std::vector<Transport> candidates_between_devices() {
  const Forced* const by_setting = forced();
  if (by_setting != nullptr && by_setting->between_devices) return {*by_setting->between_devices};
  return {Transport::Put, Transport::Engine, Transport::OneShot, Transport::Staged};
}

std::optional<machine::Prediction> predict_round(const RankOnDevice& own,
                                                 std::span<const DeviceTraffic> all) {
  return or_nothing([&] { return predicted_round(own, all); });
}

bool engines_are_wanted() noexcept {
  const Forced* const by_setting = forced();
  return by_setting != nullptr && by_setting->between_devices == Transport::Engine;
}

std::vector<Transport> candidates_between_nodes(Place place, const Schedules& pair) {
  const Forced* const by_setting = forced();
  const bool is_forced = by_setting != nullptr && by_setting->device_messages.has_value();
  std::array<std::int64_t, 2> bytes{};
  std::array<std::int64_t, 2> blocks{};
  for (const std::size_t which : {kSends, kReceives}) {
    bytes[which] = pair[which].size_bytes();
    for (const MatchedTransfer& transfer : pair[which].transfers())
      blocks[which] += transfer.mine.block_count();
  }
  const bool sends_more = bytes[kSends] >= bytes[kReceives];
  const std::size_t larger = sends_more ? kSends : kReceives;
  const Choice choice =
      choose({.direction = sends_more ? MessageDirection::Send : MessageDirection::Receive,
              .place = place,
              .bytes = bytes[larger],
              .blocks = blocks[larger],
              .spread = Spread::Near,
              .nonblocking = true,
              .pitch = 2 * bytes[larger] / std::max<std::int64_t>(blocks[larger], 1)});
  const Transport rule =
      choice.transport == Transport::Device ? Transport::Device : Transport::OneShot;
  if (is_forced || !mpi_is_gpu_aware()) return {rule};
  return {rule, rule == Transport::Device ? Transport::OneShot : Transport::Device};
}

}  // namespace strake::exchange::planned
