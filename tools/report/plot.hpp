/// \file  The kinds of plots of a report, each drawn with axes, units and a legend.
#pragma once

#include <string>
#include <vector>

#include "report/axis.hpp"
#include "report/svg.hpp"

namespace strake::report {

/// Colours (classes c0 …) and marks repeat after this many series; a plot should have no more.
inline constexpr int kColours = 8;

struct Series {
  std::string name;
  struct Value {
    double x = 0;
    double y = 0;
    std::string tip;
  };
  std::vector<Value> values;
  bool marks = true;
  bool line = true;
  bool dashed = false;
  int colour = -1;  ///< -1: its place in the plot
};

/// Lines and marks over two axes.
struct LinePlot {
  std::string title;
  Axis x;
  Axis y;
  std::vector<Series> series;
  struct Limit {
    double y = 0;
    std::string tip;
  };
  std::vector<Limit> limits;  ///< level lines: what a link allows
};
/// The axes as they are: they must be rounded.
[[nodiscard]] std::string draw(const LinePlot& plot);

/// Horizontal bars, one below the other.
struct BarPlot {
  std::string title;
  Axis x;
  struct Bar {
    std::string label;
    double value = 0;
    double low = 0;  ///< a whisker from low to high; none where 0
    double high = 0;
    double limit = 0;  ///< a mark; none where 0
    std::string text;  ///< behind the bar
    std::string tip;
  };
  std::vector<Bar> bars;
  std::string whisker_name;  ///< legend
  std::string limit_name;    ///< legend; empty: no bar has one
};
[[nodiscard]] std::string draw(const BarPlot& plot);

/// Squares with numbers, the darker the larger.
struct HeatMap {
  std::string title;
  std::string row_label;
  std::string column_label;
  std::string unit;
  std::vector<std::string> names;  ///< of rows and of columns
  struct Cell {
    double value = 0;   ///< 0: blank
    std::string text;   ///< first line
    std::string below;  ///< second line
    std::string tip;
  };
  std::vector<std::vector<Cell>> cells;
  double most = 0;  ///< the darkest
};
[[nodiscard]] std::string draw(const HeatMap& map);

/// Which of several is best, over two axes of bytes, in steps of a power of two.
struct RegionMap {
  std::string title;
  Axis x;
  Axis y;
  std::vector<std::string> names;  ///< of what may be best; colour by place
  struct Cell {
    double x = 0;
    double y = 0;
    int best = 0;        ///< place in names
    bool close = false;  ///< the second is nearly as good: drawn paler
    std::string tip;
  };
  std::vector<Cell> cells;
};
[[nodiscard]] std::string draw(const RegionMap& map);

}  // namespace strake::report
