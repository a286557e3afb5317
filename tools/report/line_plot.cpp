#include <algorithm>
#include <vector>

#include "report/frame.hpp"
#include "report/plot.hpp"

namespace strake::report {
namespace {

// Two plots fit side by side on a page of 1280 pixels.
constexpr double kWidth = 590;
constexpr double kHeight = 300;
constexpr double kLeft = 72;
constexpr double kTop = 34;
constexpr double kRight = 26;   // half of the last tick's label
constexpr double kBottom = 50;  // ticks and label of the x axis

int colour_of(const LinePlot& plot, std::size_t i) {
  return plot.series[i].colour >= 0 ? plot.series[i].colour : static_cast<int>(i);
}

std::vector<LegendEntry> legend_of(const LinePlot& plot) {
  using Sign = LegendEntry::Sign;
  std::vector<LegendEntry> entries;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const Series& series = plot.series[i];
    const Sign sign = series.marks && series.line ? Sign::LineAndMark
                      : series.marks              ? Sign::Mark
                      : series.dashed             ? Sign::Dashes
                                                  : Sign::Line;
    entries.push_back({series.name, sign, colour_of(plot, i)});
  }
  if (!plot.limits.empty()) entries.push_back({"what the link allows", Sign::Limit, 0});
  return entries;
}

}  // namespace

std::string draw(const LinePlot& plot) {
  const Frame frame{kLeft, kTop, kWidth - kLeft - kRight, kHeight};
  const auto legend = legend_of(plot);
  const double legend_top = kTop + kHeight + kBottom;
  Svg svg(kWidth, legend_top + kLegendRow * legend_rows(legend, kWidth - 16) + 6, plot.title);
  draw_title(svg, plot.title, kWidth);
  draw_axes(svg, frame, plot.x, plot.y);
  for (const LinePlot::Limit& limit : plot.limits) {
    const double y = frame.y(plot.y, limit.y);
    svg.line({frame.left, y}, {frame.left + frame.width, y}, "limit", limit.tip);
  }
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const Series& series = plot.series[i];
    std::vector<Point> points;
    for (const Series::Value& value : series.values)
      points.push_back({frame.x(plot.x, value.x), frame.y(plot.y, value.y)});
    const int colour = colour_of(plot, i);
    if (series.line && points.size() > 1)
      svg.polyline(points, colour_style(colour, series.dashed ? "line dashed" : "line"));
    for (std::size_t k = 0; series.marks && k < points.size(); ++k)
      svg.mark(points[k], colour, colour_style(colour, "mark"), series.values[k].tip);
  }
  draw_legend(svg, legend, {8, legend_top}, kWidth - 16);
  return svg.str();
}

}  // namespace strake::report
