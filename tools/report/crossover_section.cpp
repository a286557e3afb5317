#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "machine/model.hpp"
#include "report/plot.hpp"
#include "report/sections.hpp"
#include "report/units.hpp"
#include "settings/settings.hpp"

namespace strake::report {
namespace {

using machine::Message;
using machine::Method;
using machine::Model;

/// What one map compares.
struct Question {
  std::string title;
  MemoryKind memory = MemoryKind::Host;
  std::vector<Method> methods;
  std::vector<std::string> names;
  PitchClass pitch = PitchClass::Near;
  bool wire = true;  ///< with the time of sending; else that of both ends alone
};

/// Without sending, only ways that send alike can be compared: those of device memory by the host.
std::vector<Question> questions(bool wire) {
  std::vector<Question> all;
  for (const PitchClass pitch : {PitchClass::Near, PitchClass::Sparse}) {
    const std::string blocks = name_of(pitch);
    if (!wire) {
      all.push_back({"Device memory, " + blocks,
                     MemoryKind::Device,
                     {Method::OneShot, Method::Staged},
                     {"one-shot", "staged"},
                     pitch,
                     false});
      continue;
    }
    all.push_back({"Host memory, " + blocks,
                   MemoryKind::Host,
                   {Method::System, Method::Pack},
                   {"system (MPI's own datatypes)", "pack"},
                   pitch});
    all.push_back({"Device memory, " + blocks,
                   MemoryKind::Device,
                   {Method::Device, Method::OneShot, Method::Staged},
                   {"device", "one-shot", "staged"},
                   pitch});
  }
  return all;
}

Message message_of(const Question& question, double bytes, double block) {
  Message message;
  message.place.kind = question.memory;
  message.bytes = static_cast<std::int64_t>(bytes);
  message.blocks = static_cast<std::int64_t>(bytes / block);
  const auto length = static_cast<std::int64_t>(block);
  message.pitch = question.memory == MemoryKind::Host
                      ? machine::host_pitch(question.pitch, length)
                      : machine::device_pitch(question.pitch, length);
  // From one cache line on there is an unused one between blocks.
  message.spread = message.pitch >= machine::kFarPitch ? Spread::Far
                   : message.pitch > 64                ? Spread::Sparse
                                                       : Spread::Near;
  return message;
}

/// The square for one size and block, or nothing where fewer than two methods were measured.
std::optional<RegionMap::Cell> cell_of(const Model& model, const Question& question, double bytes,
                                       double block) {
  const Message message = message_of(question, bytes, block);
  std::vector<std::pair<double, std::size_t>> times;
  for (std::size_t i = 0; i < question.methods.size(); ++i) {
    const auto parts = model.parts(question.methods[i], message);
    if (parts && (parts->wire || !question.wire))
      times.push_back({parts->end + parts->other_end + (question.wire ? *parts->wire : 0), i});
  }
  if (times.size() < 2) return std::nullopt;
  std::sort(times.begin(), times.end());
  std::string tip = fmt::format("{} in blocks of {}: ", bytes_text(bytes), bytes_text(block));
  for (const auto& [time, i] : times)
    tip += fmt::format("{}{} {}", i == times[0].second ? "" : ", ", question.names[i],
                       time_text(time));
  return RegionMap::Cell{bytes, block, static_cast<int>(times[0].second),
                         times[1].first < 1.1 * times[0].first, tip};
}

/// The sizes and blocks between which packing of these bytes was measured: outside nothing is
/// known.
bool include_measured(const machine::Profile& profile, const Question& question, Axis& x, Axis& y) {
  const std::string prefix =
      question.memory == MemoryKind::Host ? "pack/cpu/box" : "pack/device/box";
  bool any = false;
  for (const machine::Result& result : profile.results) {
    if (result.name != prefix || pitch_class(result) != question.pitch) continue;
    x.include(static_cast<double>(result.bytes));
    y.include(static_cast<double>(result.block));
    any = true;
  }
  return any;
}

/// Pieces in which staged messages are copied, as the library does unless told otherwise.
std::int64_t chunk() { return settings::number(settings::Id::chunk); }

RegionMap map_of(const Shown& shown, const Question& question, const std::string& library,
                 machine::Reach link, const Axis& x, const Axis& y) {
  RegionMap map;
  map.x = x;
  map.y = y;
  map.names = question.names;
  const Model model(shown.profile, library, link, chunk());
  for (double bytes = x.low; bytes <= x.high; bytes *= 2)
    for (double block = y.low; block <= std::min(y.high, bytes); block *= 2)
      if (auto cell = cell_of(model, question, bytes, block)) map.cells.push_back(std::move(*cell));
  return map;
}

}  // namespace

std::string crossovers(Profiles profiles) {
  std::vector<std::string> libraries;
  for (const Shown& shown : profiles)
    for (const std::string& library : libraries_of(shown.profile))
      if (std::find(libraries.begin(), libraries.end(), library) == libraries.end())
        libraries.push_back(library);
  const bool wire = !libraries.empty();
  if (!wire) libraries.emplace_back();
  std::string rows;
  for (const std::string& library : libraries) {
    for (const auto& [link, where] : {std::pair(machine::Reach::Node, "within a node"),
                                      std::pair(machine::Reach::Net, "between nodes")}) {
      if (!wire && link == machine::Reach::Net) continue;  // the ends are the same
      for (const Question& question : questions(wire)) {
        Axis x{"size [bytes]", Scale::LogBytes, 0, 0};
        Axis y{"block length [bytes]", Scale::LogBytes, 0, 0};
        bool any = false;
        for (const Shown& shown : profiles)
          any = include_measured(shown.profile, question, x, y) || any;
        if (!any) continue;
        x.round();
        y.round();
        std::string figures;
        for (const Shown& shown : profiles) {
          RegionMap map = map_of(shown, question, library, link, x, y);
          if (map.cells.empty()) continue;
          map.title = question.title +
                      (wire ? fmt::format(", {}, {}", library, where) : ", ends without MPI") +
                      whose(profiles, shown);
          figures += figure(draw(map), "");
        }
        rows += profiles.size() > 1 && !figures.empty() ? row_of(figures) : figures;
      }
    }
  }
  if (profiles.size() == 1 && !rows.empty()) rows = row_of(rows);
  return section("crossover", "Which method is fastest",
                 "By the model that chooses in exchanges: the sum of packing, copying, sending and "
                 "unpacking as measured, over size and block length. A point shows the times. "
                 "Methods whose parts were not measured take no part.",
                 rows);
}

}  // namespace strake::report
