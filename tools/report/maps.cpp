// Heat maps and maps of regions.
#include <algorithm>
#include <cmath>
#include <vector>

#include "report/frame.hpp"
#include "report/plot.hpp"
#include "report/units.hpp"

namespace strake::report {
namespace {

constexpr double kWidth = 590;
constexpr double kTop = 34;
// The darkest square still lets dark text (or light text, in the dark scheme) be read.
constexpr double kFaintest = 0.06;
constexpr double kDarkest = 0.6;

double opacity(double value, double most) {
  return kFaintest + (kDarkest - kFaintest) * std::clamp(value / most, 0.0, 1.0);
}

}  // namespace

std::string draw(const HeatMap& map) {
  const std::size_t count = map.names.size();
  double labels = 0;
  for (const std::string& name : map.names) labels = std::max(labels, text_width(name, 11));
  const double left = labels + 36;
  const double top = kTop + 40;
  const double room = (kWidth - left - 10) / static_cast<double>(count);
  const double width = std::clamp(room, 46.0, 80.0);  // 46: three digits and a point in 11 pixels
  const double height = 38;
  const double full = std::max(kWidth, left + width * static_cast<double>(count) + 10);
  const double bottom = top + height * static_cast<double>(count);
  Svg svg(full, bottom + 56, map.title);
  draw_title(svg, map.title, kWidth);
  svg.text({left + width * static_cast<double>(count) / 2, kTop + 12}, map.column_label, "label",
           Anchor::Middle);
  svg.upright_text({16, (top + bottom) / 2}, map.row_label, "label");
  for (std::size_t i = 0; i < count; ++i) {
    const double y = top + height * static_cast<double>(i);
    const double x = left + width * static_cast<double>(i);
    svg.text({x + width / 2, top - 8}, map.names[i], "tick", Anchor::Middle);
    svg.text({left - 7, y + height / 2 + 4}, map.names[i], "tick", Anchor::End);
    for (std::size_t j = 0; j < count; ++j) {
      const HeatMap::Cell& cell = map.cells[i][j];
      const Point corner{left + width * static_cast<double>(j), y};
      if (cell.value > 0)
        svg.rect(corner, width, height, "heat", cell.tip, opacity(cell.value, map.most));
      svg.rect(corner, width, height, "cell");
      if (cell.value <= 0) continue;
      const double middle = corner.x + width / 2;
      svg.text({middle, y + (cell.below.empty() ? 23 : 17)}, cell.text, "value", Anchor::Middle);
      if (!cell.below.empty()) svg.text({middle, y + 31}, cell.below, "tick", Anchor::Middle);
    }
  }
  // The legend: what the shades stand for.
  const double y = bottom + 16;
  for (int step = 0; step < 5; ++step) {
    const double value = map.most * (step + 1) / 5;
    svg.rect({left + 62.0 * step, y}, 62, 12, "heat", {}, opacity(value, map.most));
    svg.text({left + 62.0 * step + 31, y + 27}, number_text(value), "tick", Anchor::Middle);
  }
  svg.text({left + 318, y + 11}, map.unit + " (blank: not measured)", "legend");
  return svg.str();
}

std::string draw(const RegionMap& map) {
  const Frame frame{72, kTop, kWidth - 72 - 26, 260};
  std::vector<LegendEntry> legend;
  std::vector<bool> used(map.names.size(), false);
  bool close = false;
  for (const RegionMap::Cell& cell : map.cells) {
    used[static_cast<std::size_t>(cell.best)] = true;
    close = close || cell.close;
  }
  for (std::size_t i = 0; i < map.names.size(); ++i)
    legend.push_back({map.names[i] + (used[i] ? "" : " (nowhere)"), LegendEntry::Sign::Square,
                      static_cast<int>(i)});
  if (close)
    legend.push_back({"dimmed: the next is within 10 %", LegendEntry::Sign::PaleSquare, 0});
  const double legend_top = kTop + frame.height + 50;
  Svg svg(kWidth, legend_top + kLegendRow * legend_rows(legend, kWidth - 16) + 6, map.title);
  draw_title(svg, map.title, kWidth);
  // Squares first, the grid over them.
  const double width = frame.width / std::max(1.0, std::log2(map.x.high / map.x.low));
  const double height = frame.height / std::max(1.0, std::log2(map.y.high / map.y.low));
  for (const RegionMap::Cell& cell : map.cells) {
    // A square stands for the sizes around its own, cut at the edges of the frame.
    const double x = frame.x(map.x, cell.x);
    const double y = frame.y(map.y, cell.y);
    const double x0 = std::max(x - width / 2, frame.left);
    const double x1 = std::min(x + width / 2, frame.left + frame.width);
    const double y0 = std::max(y - height / 2, frame.top);
    const double y1 = std::min(y + height / 2, frame.top + frame.height);
    svg.rect({x0, y0}, x1 - x0, y1 - y0, colour_style(cell.best, "fill"), cell.tip,
             cell.close ? 0.45 : 0.9);
  }
  draw_axes(svg, frame, map.x, map.y);
  draw_legend(svg, legend, {8, legend_top}, kWidth - 16);
  return svg.str();
}

}  // namespace strake::report
