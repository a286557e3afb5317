#include "exchange/planned/choice.hpp"

#include <array>
#include <iterator>
#include <memory>
#include <optional>
#include <vector>

#include "exchange/method.hpp"
#include "machine/exchange_model.hpp"
#include "settings/log.hpp"
#include "settings/settings.hpp"
#include "strake/error.hpp"

namespace strake::exchange::planned {
namespace {

using machine::Method;
using machine::TransferMethod;

struct Candidate {
  MailMethod method;
  TransferMethod predicted;
};
constexpr std::array<Candidate, 3> kCandidates = {{{MailMethod::Device, TransferMethod::Device},
                                                   {MailMethod::OneShot, TransferMethod::OneShot},
                                                   {MailMethod::Staged, TransferMethod::Staged}}};

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

void add(std::vector<machine::PlannedTransfer>& transfers, const machine::Path& path,
         const Lane& lane) {
  for (const Piece& piece : lane.pieces()) {
    const std::int64_t bytes = piece.mine.size_bytes();
    if (bytes > 0) transfers.push_back({path, {bytes, bytes / piece.mine.block_count(), 0}});
  }
}

std::optional<MailMethod> predicted(const RankOnDevice& own, const RankOnDevice& other,
                                    const Lane& sends, const Lane& receives) {
  if (model() == nullptr) return std::nullopt;
  const auto end = [](const RankOnDevice& of) {
    return machine::PathEnd{MemoryKind::Device, of.rank, 0, of.device};
  };
  std::vector<machine::PlannedTransfer> transfers;
  add(transfers, {end(own), end(other)}, sends);
  add(transfers, {end(other), end(own)}, receives);
  std::optional<MailMethod> best;
  double least = 0;
  for (const Candidate& candidate : kCandidates) {
    const auto seconds = model()->predict(transfers, candidate.predicted).seconds;
    if (!seconds || (best && *seconds >= least)) continue;
    best = candidate.method;
    least = *seconds;
  }
  return best;
}

}  // namespace

const char* name_of(MailMethod method) noexcept {
  constexpr const char* kNames[] = {"device", "engine", "one-shot", "staged"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(MailMethod::Staged) + 1);
  return kNames[static_cast<int>(method)];
}

bool engines_are_wanted() noexcept { return settings::text(settings::Id::method) == "engine"; }

MailMethod choose(const RankOnDevice& own, const RankOnDevice& other, const Lane& sends,
                  const Lane& receives) {
  if (engines_are_wanted()) return MailMethod::Engine;
  switch (forced_method().value_or(Method::System)) {
    case Method::Device:
      return MailMethod::Device;
    case Method::OneShot:
      return MailMethod::OneShot;
    case Method::Staged:
    case Method::Pack:
      return MailMethod::Staged;
    default:
      break;
  }
  try {
    return predicted(own, other, sends, receives).value_or(MailMethod::Device);
  } catch (const Error& error) {
    log::warn("the profile of this machine can't be used for exchanges: {}", error.what());
    return MailMethod::Device;
  }
}

}  // namespace strake::exchange::planned
