#include "verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "exchange/method.hpp"
#include "message.hpp"
#include "settings/counted.hpp"
#include "settings/settings.hpp"

namespace strake::explain {
namespace {

using machine::Method;

/// What is done, and why: "left to the MPI library", "there are many far blocks".
struct Decision {
  std::string library;  ///< empty: any
  bool packed = false;
  std::string why;
};

std::string fate(bool packed, const std::string& library) {
  if (packed) return library.empty() ? "packed" : "packed for " + library;
  return "left to " + (library.empty() ? "the MPI library" : library);
}

Decision by_rule(const std::string& library, const Layout& layout, bool pipelines) {
  const machine::Message message{.direction = machine::Direction::Send,
                                 .dense = false,
                                 .place = {},
                                 .bytes = layout.size_bytes(),
                                 .blocks = layout.block_count(),
                                 .spread = spread_of(layout),
                                 .nonblocking = false,
                                 .pitch = pitch_of(layout)};
  const exchange::HostRule rule = exchange::built_in_host(message, pipelines);
  const bool packed = rule.choice.method == Method::Pack;
  const bool tried = !packed && settings::flag(settings::Id::trials);
  return {library, packed,
          fmt::format("{}, by a built-in rule{}", rule.why,
                      tried ? ", so the first exchanges of a job try packing, too" : "")};
}

/// Total times of both ways, by the profile.
Decision by_profile(const Message& message) {
  const End& send = message.ends[0];
  bool packed = false;
  std::string times;
  for (const Candidate& made : send.candidates) {
    packed = packed || (made.chosen && made.method == Method::Pack);
    if (!made.total) continue;
    times += fmt::format("{:.2f} us {}, ", *made.total * 1e6,
                         made.method == Method::Pack ? "packed" : "in the library's own way");
  }
  return {message.mpi, packed, times + "by the profile of this machine"};
}

std::vector<Decision> decisions_of(const Layout& layout) {
  const Decision open_mpi = by_rule("Open MPI", layout, true);
  const Decision mpich = by_rule("MPICH", layout, false);
  std::vector<Decision> out;
  for (const Message& message : messages_of(layout, MemoryKind::Host, MemoryKind::Host).all) {
    if (message.link != machine::Reach::Node || message.mpi.empty()) continue;
    if (message.ends[0].decided == Decided::Measured) {
      out.push_back(by_profile(message));
    } else {
      out.push_back(message.mpi.starts_with(open_mpi.library) ? open_mpi : mpich);
      out.back().library = message.mpi;
    }
  }
  if (!out.empty()) return out;
  if (open_mpi.packed == mpich.packed && open_mpi.why == mpich.why)
    return {{"", open_mpi.packed, open_mpi.why}};
  return {open_mpi, mpich};
}

/// Whether ranks of a node exchange it by memory that they share.
bool is_shared(const Layout& layout) {
  return settings::flag(settings::Id::share) &&
         layout.size_bytes() >= settings::number(settings::Id::share_limit) &&
         layout.size_bytes() <= settings::number(settings::Id::share_bytes);
}

std::string blocks_text(const Layout& layout) {
  const std::int64_t blocks = layout.block_count();
  return fmt::format("{} of {}{}", counted(blocks, "block"),
                     counted(layout.size_bytes() / blocks, "byte"),
                     layout.size_bytes() % blocks == 0 ? "" : " on the average");
}

}  // namespace

std::string verdict_of(const Layout& layout) {
  if (settings::flag(settings::Id::disable))
    return "left to the MPI library: STRAKE_DISABLE is set";
  if (layout.size_bytes() == 0) return "left to the MPI library: it has no bytes";
  if (layout.is_dense()) {
    return "left to the MPI library: contiguous bytes in host memory leave nothing to gain";
  }
  const std::optional<Method> forced = exchange::forced_method();
  if (forced == Method::System) return "left to the MPI library: forced by STRAKE_METHOD";
  if (is_shared(layout)) {
    return fmt::format(
        "packed into memory that both ranks share: {}, and a built-in rule takes that way from {} "
        "bytes on",
        blocks_text(layout), settings::number(settings::Id::share_limit));
  }
  if (forced == Method::Pack) return "packed: forced by STRAKE_METHOD";
  std::string text;
  for (const Decision& decision : decisions_of(layout)) {
    if (!text.empty()) text += "; ";
    text += fmt::format("{}: {}", fate(decision.packed, decision.library), decision.why);
  }
  return text;
}

}  // namespace strake::explain
