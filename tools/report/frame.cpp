#include "report/frame.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/plot.hpp"

namespace strake::report {
namespace {

constexpr double kSignWidth = 34;  // the sign and the gap to its name
constexpr double kEntryGap = 16;   // to the next entry

double entry_width(const LegendEntry& entry) {
  return kSignWidth + text_width(entry.name) + kEntryGap;
}

void draw_sign(Svg& svg, const LegendEntry& entry, Point at) {
  using Sign = LegendEntry::Sign;
  const Point left{at.x, at.y};
  const Point right{at.x + 26, at.y};
  const Point middle{at.x + 13, at.y};
  switch (entry.sign) {
    case Sign::LineAndMark:
      svg.line(left, right, colour_style(entry.colour, "line"));
      [[fallthrough]];
    case Sign::Mark:
      svg.mark(middle, entry.colour, colour_style(entry.colour, "mark"));
      break;
    case Sign::Line:
      svg.line(left, right, colour_style(entry.colour, "line"));
      break;
    case Sign::Dashes:
      svg.line(left, right, colour_style(entry.colour, "line dashed"));
      break;
    case Sign::Square:
    case Sign::PaleSquare:
      svg.rect({at.x + 8, at.y - 6}, 14, 12, colour_style(entry.colour, "fill"), {},
               entry.sign == Sign::PaleSquare ? 0.45 : 1);
      break;
    case Sign::Limit:
      svg.line(left, right, "limit");
      break;
    case Sign::Whisker:
      svg.line(left, right, "whisker");
      break;
  }
}

}  // namespace

std::string colour_style(int colour, const char* kind) {
  return fmt::format("c{} {}", colour % kColours, kind);
}

void draw_title(Svg& svg, const std::string& title, double width) {
  // 14: bold letters of 13 pixels are about as wide.
  svg.fitted_text({8, 20}, title, "title", width - 16, 14);
}

void draw_x_axis(Svg& svg, const Frame& frame, const Axis& x) {
  const double bottom = frame.top + frame.height;
  for (const Axis::Tick& tick : x.ticks(8)) {
    const double at = frame.x(x, tick.value);
    svg.line({at, frame.top}, {at, bottom}, tick.label.empty() ? "grid minor" : "grid");
    if (!tick.label.empty()) svg.text({at, bottom + 16}, tick.label, "tick", Anchor::Middle);
  }
  svg.text({frame.left + frame.width / 2, bottom + 36}, x.full_label(), "label", Anchor::Middle);
}

void draw_axes(Svg& svg, const Frame& frame, const Axis& x, const Axis& y) {
  draw_x_axis(svg, frame, x);
  double widest = 0;
  for (const Axis::Tick& tick : y.ticks(8)) {
    const double at = frame.y(y, tick.value);
    svg.line({frame.left, at}, {frame.left + frame.width, at},
             tick.label.empty() ? "grid minor" : "grid");
    if (tick.label.empty()) continue;
    svg.text({frame.left - 7, at + 4}, tick.label, "tick", Anchor::End);
    widest = std::max(widest, text_width(tick.label, 11));
  }
  svg.rect({frame.left, frame.top}, frame.width, frame.height, "frame");
  svg.upright_text({frame.left - widest - 18, frame.top + frame.height / 2}, y.full_label(),
                   "label");
}

int legend_rows(const std::vector<LegendEntry>& entries, double width) {
  int rows = entries.empty() ? 0 : 1;
  double x = 0;
  for (const LegendEntry& entry : entries) {
    if (x > 0 && x + entry_width(entry) > width) {
      ++rows;
      x = 0;
    }
    x += entry_width(entry);
  }
  return rows;
}

void draw_legend(Svg& svg, const std::vector<LegendEntry>& entries, Point corner, double width) {
  double x = 0;
  double y = 0;
  for (const LegendEntry& entry : entries) {
    if (x > 0 && x + entry_width(entry) > width) {
      x = 0;
      y += kLegendRow;
    }
    draw_sign(svg, entry, {corner.x + x, corner.y + y + 6});
    svg.text({corner.x + x + kSignWidth, corner.y + y + 10}, entry.name, "legend");
    x += entry_width(entry);
  }
}

}  // namespace strake::report
