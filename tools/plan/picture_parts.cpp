#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plan/picture.hpp"
#include "strake/error.hpp"

namespace strake::plan {
namespace {

using topo::Point;

// Pixels.
constexpr double kHeadHeight = 26;
constexpr double kMostHeight = 640;  // of all slices together
constexpr double kSliceGap = 14;
constexpr double kSliceLabel = 16;
constexpr double kMostCell = 104;
constexpr double kLeastCell = 3;
constexpr double kThinnest = 0.5;  // thinner parts are not drawn
constexpr double kLeastLine = 24;  // the height of parts in one row
constexpr double kNoteHeight = 26;
constexpr int kMostCells = 1 << 16;  // of a slice: some 10 MB of SVG

}  // namespace

PartsPanel::PartsPanel(const Question& asked, const Answer& answer,
                       const std::vector<int>& colour_of, double width)
    : asked_(asked), answer_(answer), colour_of_(colour_of) {
  const placement::Position& counts = answer.counts;
  for (const std::size_t axis : {std::size_t{1}, std::size_t{0}})
    if (counts[axis] < counts[through_]) through_ = axis;
  across_ = through_ == 0 ? 1 : 0;
  down_ = through_ == 2 ? 1 : 2;
  if (counts[down_] > counts[across_]) std::swap(across_, down_);
  const std::int64_t cells = std::int64_t{counts[across_]} * counts[down_];
  if (cells > kMostCells)
    throw InvalidArgument(fmt::format("a picture of {} x {} parts: {} at most can be drawn",
                                      counts[across_], counts[down_], kMostCells));
  shown_ = counts[through_];
  fit(width, shown_);
  while (cell_.width < kLeastCell && shown_ > 1) fit(width, shown_ = (shown_ + 1) / 2);
  if (counts[down_] == 1) cell_.height = std::max(cell_.height, kLeastLine);
  label_ = label_with_room();
}

void PartsPanel::fit(double width, int slices) {
  const double across = answer_.counts[across_];
  const double down = answer_.counts[down_];
  const double shape = std::clamp(
      static_cast<double>(answer_.largest[down_]) / static_cast<double>(answer_.largest[across_]),
      0.5, 1.6);
  cell_ = {};
  for (int per_row = 1; per_row <= slices; ++per_row) {
    const double rows = std::ceil(static_cast<double>(slices) / per_row);
    const double by_width = ((width + kSliceGap) / per_row - kSliceGap) / across;
    const double by_height = ((kMostHeight + kSliceGap) / rows - kSliceGap - kSliceLabel) / down;
    const double found = std::min({by_width, by_height / shape, kMostCell});
    if (found <= cell_.width) continue;
    cell_ = {found, found * shape};
    per_row_ = per_row;
  }
}

bool PartsPanel::is_too_thin() const noexcept {
  return std::min(cell_.width, cell_.height) < kThinnest;
}

double PartsPanel::height() const noexcept {
  if (is_too_thin()) return kHeadHeight + kNoteHeight;
  const double rows = std::ceil(static_cast<double>(shown_) / per_row_);
  const double slice = answer_.counts[down_] * cell_.height + kSliceLabel + kSliceGap;
  return kHeadHeight + rows * slice + kNoteHeight;
}

int PartsPanel::part_at(int slice, int column, int row) const {
  placement::Position at{};
  at[through_] = slice;
  at[across_] = column;
  at[down_] = row;
  return answer_.placed.parts.part_at(at);
}

const placement::NodePlace& PartsPanel::place_at(int slice, int column, int row) const {
  return answer_.placed.at[static_cast<std::size_t>(part_at(slice, column, row))];
}

PartsPanel::Label PartsPanel::label_with_room() const {
  const auto has_room = [this](const std::string& words, double size) {
    return topo::text_width(words, size) + 3 <= cell_.width && size + 2 <= cell_.height;
  };
  // The last node's last place has the longest label.
  const int node = asked_.nodes - 1;
  const int place = asked_.places - 1;
  constexpr double kTwoLines = 36;
  constexpr double kSmall = 10;
  if (has_room(fmt::format("node {}", node), 12) && cell_.height >= kTwoLines &&
      has_room(fmt::format("{} {}", place_name(asked_), place), 12))
    return Label::Words;
  if (has_room(fmt::format("{}:{}", node, place), kSmall)) return Label::NodeAndNumber;
  return has_room(std::to_string(place), kSmall) ? Label::Number : Label::None;
}

void PartsPanel::label(topo::Svg& svg, Point corner, const placement::NodePlace& at) const {
  const double x = corner.x + cell_.width / 2;
  const double y = corner.y + cell_.height / 2;
  if (label_ == Label::Words) {
    svg.text({x, y - 4}, fmt::format("node {}", at.node), "soft", topo::Anchor::Middle);
    svg.text({x, y + 13}, fmt::format("{} {}", place_name(asked_), at.number), "",
             topo::Anchor::Middle);
  } else if (label_ != Label::None) {
    svg.text({x, y + 3.5},
             label_ == Label::Number ? std::to_string(at.number)
                                     : fmt::format("{}:{}", at.node, at.number),
             "small", topo::Anchor::Middle);
  }
}

void PartsPanel::draw_slice(topo::Svg& svg, Point corner, int slice) const {
  const int columns = answer_.counts[across_];
  const int rows = answer_.counts[down_];
  const bool is_small = cell_.width < 8;
  const char* const edge = is_small ? "edge thin" : "edge";
  const auto at = [&](double column, double row) {
    return Point{corner.x + column * cell_.width, corner.y + row * cell_.height};
  };
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column) {
      const placement::NodePlace& place = place_at(slice, column, row);
      svg.rect(at(column, row), cell_.width, cell_.height,
               fmt::format("{} n{}", is_small ? "part fine" : "part",
                           colour_of_[static_cast<std::size_t>(place.node)]),
               fmt::format("part {}: node {}, {} {}", part_at(slice, column, row), place.node,
                           place_name(asked_), place.number));
      label(svg, at(column, row), place);
    }
  // A line between two parts of different nodes, and around all.
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column <= columns; ++column)
      if (column == 0 || column == columns ||
          place_at(slice, column - 1, row).node != place_at(slice, column, row).node)
        svg.line(at(column, row), at(column, row + 1), edge);
  for (int column = 0; column < columns; ++column)
    for (int row = 0; row <= rows; ++row)
      if (row == 0 || row == rows ||
          place_at(slice, column, row - 1).node != place_at(slice, column, row).node)
        svg.line(at(column, row), at(column + 1, row), edge);
}

void PartsPanel::draw(topo::Svg& svg, Point corner) const {
  const char across = "xyz"[across_];
  const char down = "xyz"[down_];
  const char through = "xyz"[through_];
  svg.text({corner.x, corner.y + 12},
           fmt::format("The grid's parts: {} to the right, {} down, a slice for each {}", across,
                       down, through),
           "head");
  if (is_too_thin()) {
    svg.text({corner.x, corner.y + kHeadHeight + 12},
             fmt::format("{} x {} parts, too thin to draw", answer_.counts[across_],
                         answer_.counts[down_]),
             "soft");
    return;
  }
  const double width = answer_.counts[across_] * cell_.width + kSliceGap;
  const double height = answer_.counts[down_] * cell_.height + kSliceLabel + kSliceGap;
  for (int slice = 0; slice < shown_; ++slice) {
    const Point at{corner.x + (slice % per_row_) * width,
                   corner.y + kHeadHeight + std::floor(slice / per_row_) * height};
    svg.text({at.x, at.y + 11}, fmt::format("{} = {}", through, slice), "soft");
    draw_slice(svg, {at.x, at.y + kSliceLabel}, slice);
  }
  std::string note = "A colour is a node, lines go around nodes.";
  if (shown_ < answer_.counts[through_])
    note += fmt::format(" {} of {} slices are drawn.", shown_, answer_.counts[through_]);
  if (label_ == Label::NodeAndNumber) note += fmt::format(" Labels: node:{}.", place_name(asked_));
  if (label_ == Label::Number) note += fmt::format(" Labels: the {}.", place_name(asked_));
  svg.text({corner.x, corner.y + this->height() - 6}, note, "soft");
}

}  // namespace strake::plan
