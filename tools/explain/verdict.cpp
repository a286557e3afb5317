#include "verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "exchange/choice/choice.hpp"
#include "message.hpp"
#include "settings/counted.hpp"
#include "settings/settings.hpp"

namespace strake::explain {
namespace {

using machine::Transport;

std::string blocks_text(const Layout& layout) {
  const std::int64_t blocks = layout.block_count();
  return fmt::format("{} of {}{}", counted(blocks, "block"),
                     counted(layout.size_bytes() / blocks, "byte"),
                     layout.size_bytes() % blocks == 0 ? "" : " on the average");
}

/// A transport, and the reason for it: "there are many far blocks".
struct Decision {
  std::string library;  ///< empty: any
  Transport transport = Transport::Library;
  std::string why;
};

std::string fate(Transport transport, const std::string& library) {
  const std::string whose = library.empty() ? "" : " for " + library;
  if (transport == Transport::Shared) return "packed into memory that both ranks share" + whose;
  if (transport == Transport::Pack) return "packed" + whose;
  return "left to " + (library.empty() ? "the MPI library" : library);
}

/// \param pipelines  as of built_in_host()
Decision by_rule(const std::string& library, const Layout& layout, bool pipelines, bool shares) {
  if (shares) {
    return {library, Transport::Shared,
            fmt::format("{}, and a built-in rule takes that way from {} bytes on",
                        blocks_text(layout), settings::number(settings::Id::share_limit))};
  }
  const machine::Message message{.direction = machine::MessageDirection::Send,
                                 .dense = false,
                                 .place = {},
                                 .bytes = layout.size_bytes(),
                                 .blocks = layout.block_count(),
                                 .spread = spread_of(layout),
                                 .nonblocking = false,
                                 .pitch = pitch_of(layout)};
  const exchange::HostRule rule = exchange::built_in_host(message, pipelines);
  const bool tried =
      rule.choice.transport == Transport::Library && settings::flag(settings::Id::trials);
  return {library, rule.choice.transport,
          fmt::format("{}, by a built-in rule{}", rule.why,
                      tried ? ", so the first exchanges of a job try packing, too" : "")};
}

/// Total times of all ways, by the profile.
Decision by_profile(const Message& message) {
  Decision decision{message.mpi, Transport::Library, ""};
  for (const Candidate& made : message.ends[0].candidates) {
    if (made.chosen) decision.transport = made.transport;
    if (!made.total || !made.why_not.empty()) continue;
    decision.why += fmt::format("{:.2f} us {}, ", *made.total * 1e6,
                                made.transport == Transport::Library ? "in the library's own way"
                                : made.transport == Transport::Pack  ? "packed"
                                                                     : "shared");
  }
  decision.why += "by the profile of this machine";
  return decision;
}

bool is_shared(const End& end) {
  return std::ranges::any_of(end.candidates, [](const Candidate& made) {
    return made.chosen && made.transport == Transport::Shared;
  });
}

std::vector<Decision> decisions_of(const Layout& layout) {
  std::vector<Decision> out;
  for (const Message& message : messages_of(layout, MemoryKind::Host, MemoryKind::Host).all) {
    if (message.link != machine::Reach::Node || message.mpi.empty()) continue;
    const End& send = message.ends[0];
    out.push_back(
        send.decided == Decided::Measured
            ? by_profile(message)
            : by_rule(message.mpi, layout, message.mpi.starts_with("Open MPI"), is_shared(send)));
  }
  const bool shares = may_be_shared(layout.size_bytes());
  if (out.empty())
    out = {by_rule("Open MPI", layout, true, shares), by_rule("MPICH", layout, false, shares)};
  const bool alike = std::ranges::all_of(out, [&](const Decision& decision) {
    return decision.transport == out[0].transport && decision.why == out[0].why;
  });
  if (out.size() > 1 && alike) out = {{"", out[0].transport, out[0].why}};
  return out;
}

}  // namespace

std::string verdict_of(const Layout& layout) {
  if (settings::flag(settings::Id::disable))
    return "left to the MPI library: STRAKE_DISABLE is set";
  if (layout.size_bytes() == 0) return "left to the MPI library: it has no bytes";
  if (layout.is_dense()) {
    return "left to the MPI library: contiguous bytes in host memory leave nothing to gain";
  }
  const exchange::Forced* const by_setting = exchange::forced();
  const auto forced = by_setting != nullptr ? by_setting->host_messages : std::nullopt;
  if (forced == Transport::Library) return "left to the MPI library: forced by STRAKE_METHOD";
  if (forced == Transport::Pack) {
    return fate(may_be_shared(layout.size_bytes()) ? Transport::Shared : Transport::Pack, "") +
           ": forced by STRAKE_METHOD";
  }
  std::string text;
  for (const Decision& decision : decisions_of(layout)) {
    if (!text.empty()) text += "; ";
    text += fmt::format("{}: {}", fate(decision.transport, decision.library), decision.why);
  }
  return text;
}

}  // namespace strake::explain
