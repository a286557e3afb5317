#include "exchange/choice/between_devices.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "exchange/choice/choice.hpp"
#include "exchange/transport/pairs/sequence_counters.hpp"
#include "settings/log.hpp"
#include "strake/error.hpp"

namespace strake::exchange::planned {
namespace {

/// Engines only where they are wanted.
constexpr std::array kCandidates = {Transport::Put, Transport::OneShot, Transport::Staged};

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

machine::PathEnd end_of(const RankOnDevice& at) {
  return {MemoryKind::Device, at.rank, 0, at.device};
}

void add(std::vector<machine::PlannedTransfer>& transfers, const machine::Path& path,
         const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces) {
    const std::int64_t bytes = piece.mine.size_bytes();
    if (bytes > 0) transfers.push_back({path, {bytes, bytes / piece.mine.block_count(), 0}});
  }
}

std::optional<Transport> predicted(const RankOnDevice& own, const RankOnDevice& other,
                                   const PairSchedule& sends, const PairSchedule& receives) {
  if (model() == nullptr) return std::nullopt;
  std::vector<machine::PlannedTransfer> transfers;
  add(transfers, {end_of(own), end_of(other)}, sends.pieces());
  add(transfers, {end_of(other), end_of(own)}, receives.pieces());
  std::optional<Transport> best;
  double least = 0;
  for (const Transport candidate : kCandidates) {
    const auto seconds = model()->predict(transfers, candidate).seconds;
    if (!seconds || (best && *seconds >= least)) continue;
    best = candidate;
    least = *seconds;
  }
  return best;
}

/// What `predict` returns; nothing if the profile can't be used.
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
    add(transfers, {here, there}, *traffic.sends);
    if (traffic.receives == nullptr) continue;
    add(transfers, {there, here}, *traffic.receives);
    const Transport its = traffic.transport;
    if (transport.value_or(its) != its) return std::nullopt;
    transport = its;
  }
  machine::Prediction made = model()->predict(transfers, transport);
  if (transfers.empty() || !made.seconds) return std::nullopt;
  return made;
}

}  // namespace

std::optional<machine::Prediction> predict_round(const RankOnDevice& own,
                                                 std::span<const DeviceTraffic> all) {
  return or_nothing([&] { return predicted_round(own, all); });
}

bool engines_are_wanted() noexcept {
  const Forced* const by_setting = forced();
  return by_setting != nullptr && by_setting->between_devices == Transport::Engine;
}

Transport choose_between_nodes(Place place, std::span<Schedules* const> all) {
  std::array<std::int64_t, 2> bytes{};
  std::array<std::int64_t, 2> blocks{};
  for (const Schedules* const pair : all) {
    for (const std::size_t which : {kSends, kReceives}) {
      bytes[which] += (*pair)[which].size_bytes();
      for (const Piece& piece : (*pair)[which].pieces()) blocks[which] += piece.mine.block_count();
    }
  }
  const bool sends_more = bytes[kSends] >= bytes[kReceives];
  const std::size_t larger = sends_more ? kSends : kReceives;
  const Choice choice =
      choose({.direction = sends_more ? Direction::Send : Direction::Receive,
              .place = place,
              .bytes = bytes[larger],
              .blocks = blocks[larger],
              .spread = Spread::Near,
              .nonblocking = true,
              .pitch = 2 * bytes[larger] / std::max<std::int64_t>(blocks[larger], 1)});
  return choice.transport == Transport::Device ? Transport::Device : Transport::OneShot;
}

Transport choose_between_devices(const RankOnDevice& own, const RankOnDevice& other,
                                 const PairSchedule& sends, const PairSchedule& receives) {
  const Forced* const by_setting = forced();
  if (by_setting != nullptr && by_setting->between_devices) return *by_setting->between_devices;
  return or_nothing([&] { return predicted(own, other, sends, receives); })
      .value_or(Transport::Put);
}

}  // namespace strake::exchange::planned
