/// \file  Parts of all plots: the frame with axes, and the legend below it.
#pragma once

#include <string>
#include <vector>

#include "report/axis.hpp"
#include "report/svg.hpp"

namespace strake::report {

struct Frame {
  double left = 0;
  double top = 0;
  double width = 0;
  double height = 0;

  [[nodiscard]] double x(const Axis& axis, double value) const noexcept {
    return left + width * axis.position(value);
  }
  [[nodiscard]] double y(const Axis& axis, double value) const noexcept {
    return top + height * (1 - axis.position(value));
  }
};

void draw_title(Svg& svg, const std::string& title, double width);
/// Box, grid, ticks and labels of a plot over two axes.
void draw_axes(Svg& svg, const Frame& frame, const Axis& x, const Axis& y);
/// The x axis alone, grid included.
void draw_x_axis(Svg& svg, const Frame& frame, const Axis& x);

struct LegendEntry {
  enum class Sign { LineAndMark, Mark, Line, Dashes, Square, PaleSquare, Limit, Whisker };
  std::string name;
  Sign sign = Sign::LineAndMark;
  int colour = 0;
};
/// Rows that the entries take in `width` pixels.
[[nodiscard]] int legend_rows(const std::vector<LegendEntry>& entries, double width);
void draw_legend(Svg& svg, const std::vector<LegendEntry>& entries, Point corner, double width);
inline constexpr double kLegendRow = 20;

/// "c3 line"
[[nodiscard]] std::string colour_style(int colour, const char* kind);

}  // namespace strake::report
