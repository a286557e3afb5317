#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "machine/model.hpp"
#include "machine/transports.hpp"
#include "report/html.hpp"
#include "report/sections.hpp"
#include "report/units.hpp"
#include "settings/settings.hpp"

namespace strake::report {
namespace {

using machine::Message;
using machine::Model;
using machine::Transport;

/// A transport as the maps show it; its place is its colour.
struct Choice {
  Transport transport;
  char letter;
};
constexpr Choice kChoices[] = {{Transport::Pack, 'P'},   {Transport::Library, 'M'},
                               {Transport::Device, 'D'}, {Transport::OneShot, 'O'},
                               {Transport::Staged, 'S'}, {Transport::Shared, 'H'}};

/// The transports that one map compares, and the messages for which it does.
struct Question {
  std::string title;
  MemoryKind memory = MemoryKind::Host;
  std::vector<Transport> transports;
  PitchClass pitch = PitchClass::Near;
  bool wire = true;  ///< with the time of sending; else that of both ends alone
};

bool shared_was_measured(const machine::Profile& profile, const std::string& library) {
  return std::any_of(profile.results.begin(), profile.results.end(), [&](const auto& result) {
    return result.name == "mpi/node/shared/box" && result.mpi == library;
  });
}

/// Without sending, only transports that send alike can be compared: those of device memory by the
/// host. `shared`: messages by shared memory were measured, too.
std::vector<Question> questions(bool wire, bool shared) {
  std::vector<Question> all;
  for (const PitchClass pitch : {PitchClass::Near, PitchClass::Sparse}) {
    const std::string blocks = name_of(pitch);
    std::vector<Transport> in_host = {Transport::Library, Transport::Pack};
    if (shared) in_host.push_back(Transport::Shared);
    if (wire) all.push_back({"Host memory, " + blocks, MemoryKind::Host, in_host, pitch});
    std::vector<Transport> on_device = {Transport::OneShot, Transport::Staged};
    if (wire) on_device.insert(on_device.begin(), Transport::Device);
    all.push_back({"Device memory, " + blocks, MemoryKind::Device, on_device, pitch, wire});
  }
  return all;
}

Message message_of(const Question& question, std::int64_t bytes, std::int64_t block) {
  Message message;
  message.place.kind = question.memory;
  message.bytes = bytes;
  message.blocks = bytes / block;
  message.pitch = question.memory == MemoryKind::Host
                      ? machine::host_pitch(question.pitch, block)
                      : machine::device_pitch(question.pitch, block);
  // From one cache line on there is an unused one between blocks.
  message.spread = message.pitch >= machine::kFarPitch ? Spread::Far
                   : message.pitch > 64                ? Spread::Sparse
                                                       : Spread::Near;
  return message;
}

const Choice& choice_of(Transport transport) {
  return *std::find_if(std::begin(kChoices), std::end(kChoices),
                       [&](const Choice& choice) { return choice.transport == transport; });
}

/// The time by which a transport is compared with the others.
std::optional<double> time_of(const Model& model, Transport transport, const Message& message,
                              bool wire) {
  if (wire) return model.time(transport, message);
  const auto parts = model.parts(transport, message);
  return parts ? std::optional(parts->end + parts->other_end) : std::nullopt;
}

/// Empty text: fewer than two transports can be compared.
std::string map_cell(const Model& model, const Question& question, std::int64_t bytes,
                     std::int64_t block) {
  const Message message = message_of(question, bytes, block);
  std::vector<std::pair<double, Transport>> times;
  for (const Transport transport : question.transports) {
    // Jobs never share shorter messages.
    if (transport == Transport::Shared && bytes < settings::number(settings::Id::share_limit))
      continue;
    if (const auto time = time_of(model, transport, message, question.wire))
      times.emplace_back(*time, transport);
  }
  if (times.size() < 2) return {};
  std::sort(times.begin(), times.end());
  std::string tip = fmt::format("{} in blocks of {}: ", bytes_text(static_cast<double>(bytes)),
                                bytes_text(static_cast<double>(block)));
  for (const auto& [time, transport] : times)
    tip += fmt::format("{}{} {}", transport == times[0].second ? "" : ", ",
                       machine::name_of(transport), time_text(time));
  const Choice& best = choice_of(times[0].second);
  const bool close = times[1].first < 1.1 * times[0].first;
  return cell(std::string(1, best.letter), tip,
              fmt::format("method m{}{}", &best - kChoices, close ? " close" : ""));
}

/// The sizes and blocks with which packing of these bytes was measured.
void add_measured(const machine::Profile& profile, const Question& question,
                  std::set<std::int64_t>& sizes, std::set<std::int64_t>& blocks) {
  const std::string name = question.memory == MemoryKind::Host ? "pack/cpu/box" : "pack/device/box";
  for (const machine::Result& result : profile.results) {
    if (result.name != name || pitch_class(result) != question.pitch) continue;
    sizes.insert(result.bytes);
    blocks.insert(result.block);
  }
}

std::string map_of(const Shown& shown, const Question& question, const std::string& library,
                   machine::Reach link) {
  std::set<std::int64_t> sizes;
  std::set<std::int64_t> blocks;
  add_measured(shown.profile, question, sizes, blocks);
  // Staged messages are copied in the pieces that the library takes unless told otherwise.
  const Model model(shown.profile, library, link, settings::number(settings::Id::chunk));
  bool any = false;
  const std::string map = map_table(blocks, sizes, [&](std::int64_t block, std::int64_t bytes) {
    std::string text = block <= bytes ? map_cell(model, question, bytes, block) : std::string();
    any = any || !text.empty();
    return text;
  });
  if (!any) return {};
  std::string legend;
  for (const Transport transport : question.transports) {
    const Choice& choice = choice_of(transport);
    const auto place = &choice - kChoices;
    if (map.find(fmt::format("method m{}", place)) != std::string::npos)
      legend += fmt::format("<li class=\"square m{}\">{}: {}, {}</li>", place, choice.letter,
                            name_of(transport), machine::facts_of(transport).describe);
  }
  return map + "<ul class=\"legend\">" + legend + "</ul>\n";
}

}  // namespace

std::string transport_maps(Profiles profiles) {
  std::string first;
  std::string rest;
  for (const Shown& shown : profiles) {
    std::vector<std::string> libraries = libraries_of(shown.profile);
    const bool wire = !libraries.empty();
    if (!wire) libraries.emplace_back();
    for (const std::string& library : libraries) {
      for (const auto link : {machine::Reach::Node, machine::Reach::Net}) {
        const bool node = link == machine::Reach::Node;
        if (!wire && !node) continue;  // the ends are the same
        const bool shared = node && shared_was_measured(shown.profile, library);
        for (const Question& question : questions(wire, shared)) {
          const std::string map = map_of(shown, question, library, link);
          if (map.empty()) continue;
          const std::string title =
              question.title +
              (wire ? fmt::format(", {}, {}", library, node ? "within a node" : "between nodes")
                    : ", ends without MPI") +
              whose(profiles, shown);
          // Between ranks of a node, jobs pack into shared memory.
          const std::string other_way =
              node && wire && question.memory == MemoryKind::Host && !shared
                  ? "<p>Packed messages are sent by MPI here. Ranks of a node share memory "
                    "instead, and this profile has no times of that way.</p>\n"
                  : "";
          (node && question.pitch == PitchClass::Near ? first : rest) +=
              "<figure><figcaption>" + escaped(title) + "</figcaption>\n" + map + other_way +
              "</figure>\n";
        }
      }
    }
  }
  if (first.empty() && rest.empty())
    first =
        "<p class=\"none\">No two transports can be compared: their parts were not measured, or "
        "only "
        "while other work disturbed them.</p>\n";
  const std::string more =
      folded("Blocks farther apart, and other nodes", row_of(rest, "row maps"));
  return section("methods", "Which transport is fastest",
                 "The sum of packing, copying, sending and unpacking as measured, by block length "
                 "and size of the message, as jobs choose by it; shared: whole messages, from "
                 "STRAKE_SHARE_LIMIT on. Pale: the next is within "
                 "10 %. Methods whose parts were not measured, or only while other work disturbed "
                 "them, take no part.",
                 row_of(first, "row maps") + more);
}

}  // namespace strake::report
