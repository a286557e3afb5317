/// \file  The choice of a transport for device memory of a planned exchange: between two devices of
/// a node, and from a device to another node.
#pragma once

#include <optional>
#include <span>

#include "exchange/transport/put/choices.hpp"
#include "machine/exchange_model.hpp"

namespace strake::exchange::planned {

/// By STRAKE_METHOD; else by the prediction for all that goes between the two, if this machine's
/// profile has what it takes (machine/exchange_model.hpp); else Put. ~10 us a piece.
[[nodiscard]] Transport choose_between_devices(const RankOnDevice& own, const RankOnDevice& other,
                                               const PairSchedule& sends,
                                               const PairSchedule& receives);
/// How a rank packs and unpacks, in device memory, what it exchanges with a rank of another node:
/// as a message of as many bytes would go (choice.hpp), Device or OneShot. Each end chooses for
/// itself. ~1 us.
[[nodiscard]] Transport choose_between_nodes(Place place, std::span<Schedules* const> all);
/// How long a round takes, from its start to the end of a wait for it, where other ranks do alike.
/// Nothing: nothing was measured on this class of machine, or not all that it takes, or by several
/// transports.
[[nodiscard]] std::optional<machine::Prediction> predict_round(const RankOnDevice& own,
                                                               std::span<const DeviceTraffic> all);
/// Whether STRAKE_METHOD wants copy engines, for what a rank is to itself, too.
[[nodiscard]] bool engines_are_wanted() noexcept;

}  // namespace strake::exchange::planned
