#include "message.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "colour.hpp"
#include "command/wrap.hpp"
#include "machine/transports.hpp"
#include "settings/settings.hpp"

namespace strake::explain {
namespace {

using machine::MessageDirection;
using machine::Model;
using machine::Reach;
using machine::Transport;

constexpr double kMicro = 1e6;

std::string aware_text(bool aware) { return aware ? "GPU-aware" : "not GPU-aware"; }

bool is_aware(const machine::Profile& profile, const std::string& mpi) {
  const std::string_view setting = settings::text(settings::Id::gpu_aware);
  if (setting != "auto") return setting == "yes";
  const auto found = std::find_if(profile.aware.begin(), profile.aware.end(),
                                  [&](const auto& entry) { return entry.mpi == mpi; });
  return found != profile.aware.end() && found->aware;
}

bool measured_between_nodes(const machine::Profile& profile, const std::string& mpi) {
  return std::any_of(profile.results.begin(), profile.results.end(), [&](const auto& result) {
    return result.mpi == mpi && result.name.starts_with("mpi/net/");
  });
}

/// Why the settings let no memory be shared for a message of so many bytes; empty: they do.
std::string why_not_shared(std::int64_t bytes) {
  if (!settings::flag(settings::Id::share)) return "STRAKE_SHARE is 0";
  if (bytes < settings::number(settings::Id::share_limit)) return "below STRAKE_SHARE_LIMIT";
  return bytes > settings::number(settings::Id::share_bytes) ? "above STRAKE_SHARE_BYTES" : "";
}

Candidate candidate(const Model& model, Transport transport, const machine::Message& message,
                    bool aware) {
  Candidate made{transport, {}, {}, {}, model.time(transport, message), {}, false};
  if (const auto parts = model.parts(transport, message)) {
    made.wire = parts->wire;
    if (transport != Transport::Library) {
      made.end = parts->end;
      made.other_end = parts->other_end;
      // The ends, measured alone, took no less than the whole message: MPI's part is not known.
      if (made.wire && *made.wire <= 0) made.wire.reset();
    }
  }
  const bool hands_over = transport == Transport::Device ||
                          (transport == Transport::Library && !message.place.in_host_memory());
  if (transport == Transport::Shared) made.why_not = why_not_shared(message.bytes);
  if (!made.why_not.empty()) return made;
  if (hands_over && !aware) {
    made.why_not = "the MPI library is not GPU-aware";
  } else if (!made.total) {
    made.why_not = "not measured";
  }
  return made;
}

/// The transport for host memory, as a job chooses it. Nothing where a built-in rule decides
/// whether to pack: the verdict says that.
std::optional<Transport> choose_in_host(const Model& model, const machine::Message& message,
                                        const std::string& mpi, bool on_node, Decided& decided) {
  const bool may_share = on_node && may_be_shared(message.bytes);
  const exchange::Choice choice = exchange::choose_host(
      message, &model, may_share ? &model : nullptr, mpi.starts_with("Open MPI"));
  if (may_share && choice.shares) {
    decided = model.shares(message, choice.transport) ? Decided::Measured : Decided::BuiltIn;
    return Transport::Shared;
  }
  if (choice.reason == exchange::Reason::BuiltInRule) return std::nullopt;
  decided = Decided::Measured;
  return choice.transport;
}

std::optional<Transport> choose_on_device(const Model& model, const machine::Message& message,
                                          bool aware, Decided& decided) {
  const auto transport =
      model.choose(message, {aware, settings::number(settings::Id::one_shot_limit)});
  if (transport) decided = Decided::Measured;
  return transport;
}

End end_of(const Model& model, const Layout& layout, MessageDirection direction, MemoryKind memory,
           const std::string& mpi, bool aware, bool on_node) {
  End end{direction, memory, {}, Decided::BuiltIn, exchange::Reason::None};
  const machine::Message message{.direction = direction,
                                 .dense = layout.is_dense(),
                                 .place = {memory, memory == MemoryKind::Host ? -1 : 0},
                                 .bytes = layout.size_bytes(),
                                 .blocks = layout.block_count(),
                                 .spread = spread_of(layout),
                                 .nonblocking = false,
                                 .pitch = pitch_of(layout)};
  const bool host = message.place.in_host_memory();
  if (host) {
    end.candidates = {candidate(model, Transport::Library, message, aware),
                      candidate(model, Transport::Pack, message, aware)};
    if (on_node && !message.dense)
      end.candidates.push_back(candidate(model, Transport::Shared, message, aware));
  } else {
    for (const Transport transport : {message.dense ? Transport::Library : Transport::Device,
                                      Transport::OneShot, Transport::Staged}) {
      end.candidates.push_back(candidate(model, transport, message, aware));
    }
  }
  auto choice = message.bytes == 0 ? exchange::Choice{Transport::Library, exchange::Reason::Empty}
                                   : exchange::settled_choice(message, exchange::forced(), aware);
  if (choice) {
    end.decided = Decided::Settled;
    end.reason = choice->reason;
  } else if (const auto transport = host ? choose_in_host(model, message, mpi, on_node, end.decided)
                                         : choose_on_device(model, message, aware, end.decided)) {
    choice = exchange::Choice{*transport, exchange::Reason::None};
  }
  for (Candidate& made : end.candidates) {
    made.chosen = choice && made.transport == choice->transport;
  }
  return end;
}

std::string place_text(const Message& message) {
  const std::string library =
      message.mpi.empty() ? "no MPI library"
                          : fmt::format("{}, {}", message.mpi, aware_text(message.gpu_aware));
  return fmt::format("{}, {}", library,
                     message.link == Reach::Node ? "on one node" : "between nodes");
}

std::string decided_text(const End& end) {
  if (end.decided == Decided::Settled) return fmt::format("settled: {}", name_of(end.reason));
  return end.decided == Decided::Measured ? "chosen by the profile" : "built-in: not all is known";
}

std::string time_text(const std::optional<double>& seconds) {
  return seconds ? fmt::format("{:.2f}", *seconds * kMicro) : std::string("-");
}

}  // namespace

bool may_be_shared(std::int64_t bytes) { return why_not_shared(bytes).empty(); }

Messages messages_of(const Layout& layout, MemoryKind from, MemoryKind to) {
  Messages out;
  const machine::Located& located = machine::located_here();
  if (!located.profile) return out;
  const machine::Profile& profile = *located.profile;
  std::set<std::string> libraries;
  for (const machine::Result& result : profile.results) {
    if (!result.mpi.empty()) libraries.insert(result.mpi);
  }
  if (libraries.empty()) libraries.insert("");
  for (const std::string& mpi : libraries) {
    for (const Reach link : {Reach::Node, Reach::Net}) {
      if (link == Reach::Net && !measured_between_nodes(profile, mpi)) continue;
      const Model model(profile, mpi, link, settings::number(settings::Id::chunk));
      const bool aware = is_aware(profile, mpi);
      const bool on_node = link == Reach::Node;
      out.all.push_back(
          {mpi,
           aware,
           link,
           {end_of(model, layout, MessageDirection::Send, from, mpi, aware, on_node),
            end_of(model, layout, MessageDirection::Receive, to, mpi, aware, on_node)}});
    }
  }
  return out;
}

nlohmann::ordered_json to_json(const machine::ProfileState& state) {
  return {{"state", name_of(state.kind)}, {"text", state.sentence}};
}

nlohmann::ordered_json to_json(const Messages& messages) {
  nlohmann::ordered_json json;
  const auto us = [](const std::optional<double>& seconds) {
    return seconds ? nlohmann::ordered_json(*seconds * kMicro) : nlohmann::ordered_json(nullptr);
  };
  json["messages"] = nlohmann::json::array();
  for (const Message& message : messages.all) {
    nlohmann::ordered_json entry;
    entry["mpi"] = message.mpi;
    entry["gpu_aware"] = message.gpu_aware;
    entry["link"] = message.link == Reach::Node ? "node" : "net";
    for (const End& end : message.ends) {
      nlohmann::ordered_json side;
      side["memory"] = name_of(end.memory);
      side["decided"] = end.decided == Decided::Settled    ? "settled"
                        : end.decided == Decided::Measured ? "profile"
                                                           : "built-in";
      if (end.decided == Decided::Settled) side["reason"] = name_of(end.reason);
      side["candidates"] = nlohmann::json::array();
      for (const Candidate& made : end.candidates) {
        nlohmann::ordered_json one;
        one["method"] = name_of(made.transport);
        one["chosen"] = made.chosen;
        if (!made.why_not.empty()) one["why_not"] = made.why_not;
        one["end_us"] = us(made.end);
        one["mpi_us"] = us(made.wire);
        one["other_end_us"] = us(made.other_end);
        one["total_us"] = us(made.total);
        side["candidates"].push_back(std::move(one));
      }
      entry[end.direction == MessageDirection::Send ? "send" : "receive"] = std::move(side);
    }
    json["messages"].push_back(std::move(entry));
  }
  return json;
}

std::string to_text(const Messages& messages) {
  std::string text;
  for (const Message& message : messages.all) {
    text += fmt::format("  message by {}\n", place_text(message));
    for (const End& end : message.ends) {
      text += fmt::format(
          "    {:<20} {:>9} {:>9} {:>9} {:>9}   {}\n",
          fmt::format("{} {}", end.direction == MessageDirection::Send ? "send from" : "receive in",
                      name_of(end.memory)),
          "this end", "MPI", "other end", "total us", decided_text(end));
      for (const Candidate& made : end.candidates) {
        const std::string row =
            fmt::format("    {} {:<18}", made.chosen ? '>' : ' ', name_of(made.transport));
        text += made.chosen ? coloured(row, Colour::Bold, stdout) : row;
        text += fmt::format(" {:>9} {:>9} {:>9} {:>9}", time_text(made.end), time_text(made.wire),
                            time_text(made.other_end), time_text(made.total));
        text += made.why_not.empty() ? "\n" : fmt::format("   {}\n", made.why_not);
      }
    }
  }
  return text;
}

}  // namespace strake::explain
