#include "plan/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace strake::plan {
namespace {

using topo::Point;

// Pixels.
constexpr double kPictureMargin = 28;
constexpr double kPartsWidth = 660;
constexpr double kTrafficWidth = 500;
constexpr double kBetweenPanels = 40;
constexpr double kLineHeight = 20;

/// A colour for each node, other than those of the nodes beside it where there are enough.
std::vector<int> colours_of(const Question& asked, const Placed& placed) {
  std::vector<std::set<int>> beside(static_cast<std::size_t>(asked.nodes));
  const placement::Position& counts = placed.parts.counts();
  for (int part = 0; part < static_cast<int>(placed.at.size()); ++part) {
    const placement::Position at = placed.parts.position_of(part);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      placement::Position next = at;
      if (++next[axis] >= counts[axis]) continue;
      const int node = placed.at[static_cast<std::size_t>(part)].node;
      const int other = placed.at[static_cast<std::size_t>(placed.parts.part_at(next))].node;
      if (node == other) continue;
      beside[static_cast<std::size_t>(node)].insert(other);
      beside[static_cast<std::size_t>(other)].insert(node);
    }
  }
  std::vector<int> colours(beside.size(), -1);
  std::array<int, kNodeColours> used{};
  for (std::size_t node = 0; node < colours.size(); ++node) {
    std::array<int, kNodeColours> near{};
    for (const int other : beside[node])
      if (const int colour = colours[static_cast<std::size_t>(other)]; colour >= 0)
        ++near[static_cast<std::size_t>(colour)];
    std::size_t best = 0;
    for (std::size_t colour = 1; colour < near.size(); ++colour)
      if (std::pair(near[colour], used[colour]) < std::pair(near[best], used[best])) best = colour;
    ++used[best];
    colours[node] = static_cast<int>(best);
  }
  return colours;
}

/// The lines below the title.
std::vector<std::string> subtitles(const Question& asked, const Answer& answer) {
  std::vector<std::string> lines = {question_text(asked)};
  if (asked.machine) lines.push_back(asked.machine->title);
  if (const auto us = predicted_us(answer))
    lines.push_back(fmt::format("Predicted by the profile: {:.1f} us", *us));
  if (!answer.bound || !answer.default_bound || answer.bound->link.empty()) return lines;
  std::string bound = fmt::format("At least {:.1f} us: {}", answer.bound->us, answer.bound->link);
  if (asked.placement != Placement::Default)
    bound += fmt::format(" (default placement: {:.1f} us, {})", answer.default_bound->us,
                         answer.default_bound->link);
  lines.push_back(bound);
  return lines;
}

}  // namespace

const char* picture_style() noexcept {
  return "svg{max-width:100%;height:auto;font-family:Helvetica,Arial,sans-serif}"
         "text{font-size:12px;fill:#1d2126}.title{font-size:20px;font-weight:bold}"
         ".head{font-size:14px;font-weight:bold}.soft{fill:#5d6672}.small{font-size:10px}"
         ".page{fill:#fff}.part{stroke:#fff;stroke-width:.6}.edge{stroke:#1d2126;stroke-width:1.1}"
         ".thin{stroke-width:.6}.fine{stroke-width:.2}"
         ".cell{fill:none;stroke:#d8dde4}.heat{fill:#2563c9}.rest{fill:#c3c9d1}"
         ".self{fill:#11875d}.node{fill:#2563c9}.network{fill:#d4600b}"
         ".axis{stroke:#5d6672}.grid{stroke:#e3e7ec}"
         ".flat{stroke:#d4600b;stroke-width:2;fill:none;stroke-dasharray:6 4}"
         ".aware{stroke:#2563c9;stroke-width:2;fill:none}"
         ".flat-mark{fill:#d4600b}.aware-mark{fill:#2563c9}"
         ".n0{fill:#b7d0f6}.n1{fill:#fbcfa6}.n2{fill:#b0e2c9}.n3{fill:#f0bedd}"
         ".n4{fill:#d5caf8}.n5{fill:#ece09b}.n6{fill:#a9e2ea}.n7{fill:#d0d6de}"
         "@media(prefers-color-scheme:dark){text{fill:#e5e8ec}.soft{fill:#a3acb8}"
         ".page{fill:#14171b}.part{stroke:#14171b}.edge{stroke:#e5e8ec}.cell{stroke:#363d47}"
         ".heat{fill:#6ea3f5}.rest{fill:#565f6b}.self{fill:#45c193}.node{fill:#6ea3f5}"
         ".network{fill:#f2934a}.axis{stroke:#a3acb8}.grid{stroke:#2b313a}"
         ".flat{stroke:#f2934a}.aware{stroke:#6ea3f5}.flat-mark{fill:#f2934a}"
         ".aware-mark{fill:#6ea3f5}"
         ".n0{fill:#2a4d85}.n1{fill:#85481a}.n2{fill:#1c6a49}.n3{fill:#7a2f61}"
         ".n4{fill:#51409a}.n5{fill:#66570f}.n6{fill:#19606c}.n7{fill:#4a525d}}";
}

void draw_page(topo::Svg& svg, double width, double height) {
  svg.rect({0, 0}, width, height, "page");
}

std::string place_name(const Question& asked) {
  if (asked.machine) return asked.machine->places == "GPUs" ? "GPU" : "core";
  return asked.on_host ? "rank" : "GPU";
}

std::string question_text(const Question& asked) {
  return fmt::format("{} cells of {} bytes, periodic, radius {}", by(asked.grid), asked.cell_bytes,
                     asked.radius);
}

std::string to_svg(const Question& asked, const Answer& answer) {
  const std::vector<int> colours = colours_of(asked, answer.placed);
  const PartsPanel parts(asked, answer, colours, kPartsWidth);
  const TrafficPanel traffic(asked, answer, colours, kTrafficWidth);
  const std::string title =
      fmt::format("{} parts on {} {} of {} {}{}, {} placement", by(answer.counts), asked.nodes,
                  asked.nodes == 1 ? "node" : "nodes", asked.places, place_name(asked),
                  asked.places == 1 ? "" : "s", name_of(asked.placement));
  const std::vector<std::string> lines = subtitles(asked, answer);
  const double top = kPictureMargin + 34 + kLineHeight * static_cast<double>(lines.size());
  const double height =
      std::ceil(top + std::max(parts.height(), traffic.height()) + kPictureMargin);
  double width = 2 * kPictureMargin + kPartsWidth + kBetweenPanels + kTrafficWidth;
  for (const std::string& line : lines)
    width = std::max(width, topo::text_width(line) + 2 * kPictureMargin);
  width = std::ceil(width);
  topo::Svg svg(width, height, title);
  draw_page(svg, width, height);
  svg.text({kPictureMargin, kPictureMargin + 14}, title, "title");
  double y = kPictureMargin + 16 + kLineHeight;
  for (const std::string& line : lines) {
    svg.text({kPictureMargin, y}, line, "soft");
    y += kLineHeight;
  }
  parts.draw(svg, {kPictureMargin, top});
  traffic.draw(svg, {kPictureMargin + kPartsWidth + kBetweenPanels, top});
  return svg.str(picture_style());
}

}  // namespace strake::plan
