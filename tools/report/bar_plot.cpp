#include <algorithm>
#include <vector>

#include "report/frame.hpp"
#include "report/plot.hpp"

namespace strake::report {
namespace {

constexpr double kWidth = 590;
constexpr double kTop = 30;
constexpr double kBar = 14;
constexpr double kStep = 20;
constexpr double kLongestLabel = 270;  // pixels: half of the plot is left to the bars

}  // namespace

std::string draw(const BarPlot& plot) {
  double labels = 0;
  double texts = 0;
  for (const BarPlot::Bar& bar : plot.bars) {
    labels = std::max(labels, text_width(bar.label, 11));
    texts = std::max(texts, text_width(bar.text, 11));
  }
  const double left = std::min(labels, kLongestLabel) + 16;
  const double height = kStep * static_cast<double>(plot.bars.size()) + 6;
  const Frame frame{left, kTop, kWidth - left - texts - 14, height};
  std::vector<LegendEntry> legend = {{"median", LegendEntry::Sign::Square, 0}};
  if (!plot.whisker_name.empty())
    legend.push_back({plot.whisker_name, LegendEntry::Sign::Whisker, 0});
  if (!plot.limit_name.empty()) legend.push_back({plot.limit_name, LegendEntry::Sign::Limit, 0});
  Svg svg(kWidth, kTop + height + 50 + kLegendRow * legend_rows(legend, kWidth - 16) + 6,
          plot.title);
  draw_title(svg, plot.title, kWidth);
  draw_x_axis(svg, frame, plot.x);
  svg.rect({frame.left, frame.top}, frame.width, frame.height, "frame");
  for (std::size_t i = 0; i < plot.bars.size(); ++i) {
    const BarPlot::Bar& bar = plot.bars[i];
    const double y = kTop + 3 + kStep * static_cast<double>(i) + (kStep - kBar) / 2;
    const double middle = y + kBar / 2;
    const double end = frame.x(plot.x, bar.value);
    svg.fitted_text({left - 6, middle + 4}, bar.label, "tick", kLongestLabel, 11, Anchor::End);
    svg.rect({left, y}, std::max(end - left, 0.5), kBar, "c0 fill", bar.tip);
    if (bar.low > 0 && bar.high > bar.low)
      svg.line({frame.x(plot.x, bar.low), middle}, {frame.x(plot.x, bar.high), middle}, "whisker",
               bar.tip);
    if (bar.limit > 0) {
      const double at = frame.x(plot.x, bar.limit);
      svg.line({at, y - 2}, {at, y + kBar + 2}, "limit", bar.tip);
    }
    svg.text({frame.left + frame.width + 8, middle + 4}, bar.text, "tick");
  }
  draw_legend(svg, legend, {8, kTop + height + 50}, kWidth - 16);
  return svg.str();
}

}  // namespace strake::report
