/// \file  Charts of a report. Their data stands in the page as JSON, and page.js draws them with
/// Chart.js.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "report/profiles.hpp"

namespace strake::report {

/// Colours repeat after this many lines; a chart should have no more.
inline constexpr int kColours = 8;

struct Line {
  std::string name;
  int colour = 0;
  bool dashed = false;
  std::vector<const machine::Result*> points;     ///< of the chart's profile, in order of x
  std::vector<std::pair<double, double>> values;  ///< without points: what was computed
};

enum class X { Bytes, Block };
enum class Y { Rate, Time };

struct Chart {
  std::string title;
  std::string group;        ///< charts of one group have the same axes; empty: its own
  std::size_t profile = 0;  ///< place among the report's
  X x = X::Bytes;
  Y y = Y::Rate;
  std::vector<Line> lines;
};

class Charts {
 public:
  /// Fewer points are a table's, and no curve.
  static constexpr std::size_t kLeastPoints = 3;

  explicit Charts(Profiles profiles) : profiles_(profiles) {}

  /// The figure, with title and legend. Lines of too few points are left out; nothing if none is
  /// left.
  [[nodiscard]] std::string figure(Chart chart);
  /// The profiles, with all results, and the charts, whose points are places in these.
  [[nodiscard]] nlohmann::ordered_json json() const;

 private:
  Profiles profiles_;
  nlohmann::ordered_json charts_ = nlohmann::ordered_json::array();
};

}  // namespace strake::report
