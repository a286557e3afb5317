#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "plan/picture.hpp"
#include "report/units.hpp"

namespace strake::plan {
namespace {

using topo::Point;

// Pixels.
constexpr double kPlotMargin = 28;
constexpr double kPlotWidth = 460;
constexpr double kPlotHeight = 300;
constexpr double kPlotGap = 90;  // numbers of the axis stand there
constexpr double kPlotTop = 130;
constexpr double kMark = 7;

/// A number of each row, if all rows have it.
struct Curve {
  std::string title;
  std::function<std::optional<double>(const Answer&)> value;
};

std::vector<Curve> curves_of(const std::vector<Row>& rows) {
  std::vector<Curve> curves = {
      {"Predicted time [us]", predicted_us},
      {"At least, by the slowest link [us]",
       [](const Answer& answer) {
         return answer.bound ? std::optional(answer.bound->us) : std::nullopt;
       }},
      {"Leaves a node at most [MiB]",
       [](const Answer& answer) { return std::optional(mib_of(answer.most_leaving)); }}};
  std::erase_if(curves, [&rows](const Curve& curve) {
    return !std::ranges::all_of(
        rows, [&](const Row& row) { return curve.value(row.answer).has_value(); });
  });
  return curves;
}

/// 1, 2 or 5 times a power of ten: about five of them reach `most`. 1 if all values are 0.
double step_for(double most) {
  if (most <= 0) return 1;
  const double rough = std::max(most, 1e-3) / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double times : {1.0, 2.0, 5.0})
    if (times * power >= rough) return times * power;
  return 10 * power;
}

/// One curve's axes and its two lines.
class SweepPlot {
 public:
  SweepPlot(const std::vector<Row>& rows, const Curve& curve, Point corner)
      : rows_(rows), curve_(curve), corner_(corner) {
    for (const Row& row : rows) {
      most_ = std::max(most_, *curve.value(row.answer));
      least_nodes_ = std::min(least_nodes_, row.question.nodes);
      most_nodes_ = std::max(most_nodes_, row.question.nodes);
    }
    step_ = step_for(most_);
    top_ = step_ * std::max(std::ceil(most_ / step_), 1.0);
  }

  void draw(topo::Svg& svg) const {
    svg.text({corner_.x, corner_.y - 16}, curve_.title, "head");
    for (double value = 0; value <= top_ * (1 + 1e-9); value += step_) {
      svg.line({corner_.x, y_of(value)}, {corner_.x + kPlotWidth, y_of(value)}, "grid");
      svg.text({corner_.x - 8, y_of(value) + 4}, report::number_text(value), "soft",
               topo::Anchor::End);
    }
    draw_nodes(svg);
    draw_line(svg, Placement::Default, "flat");
    draw_line(svg, Placement::NodeAware, "aware");
  }

 private:
  [[nodiscard]] double y_of(double value) const {
    return corner_.y + kPlotHeight * (1 - value / top_);
  }
  [[nodiscard]] double x_of(int nodes) const {
    constexpr double kInside = 24;
    if (most_nodes_ == least_nodes_) return corner_.x + kPlotWidth / 2;
    const double all = std::log(static_cast<double>(most_nodes_) / least_nodes_);
    return corner_.x + kInside +
           (kPlotWidth - 2 * kInside) * std::log(static_cast<double>(nodes) / least_nodes_) / all;
  }
  /// The numbers of nodes, where they have room.
  void draw_nodes(topo::Svg& svg) const {
    const double bottom = corner_.y + kPlotHeight;
    svg.line({corner_.x, bottom}, {corner_.x + kPlotWidth, bottom}, "axis");
    std::vector<int> counts;
    for (const Row& row : rows_) counts.push_back(row.question.nodes);
    std::ranges::sort(counts);
    double free_from = 0;
    for (const int nodes : counts) {
      const std::string words = std::to_string(nodes);
      const double half = topo::text_width(words) / 2 + 2;
      if (x_of(nodes) - half < free_from) continue;
      svg.line({x_of(nodes), bottom}, {x_of(nodes), bottom + 4}, "axis");
      svg.text({x_of(nodes), bottom + 18}, words, "soft", topo::Anchor::Middle);
      free_from = x_of(nodes) + half;
    }
    svg.text({corner_.x + kPlotWidth / 2, bottom + 38}, "nodes", "soft", topo::Anchor::Middle);
  }
  void draw_line(topo::Svg& svg, Placement placement, const std::string& style) const {
    std::vector<const Row*> own;
    for (const Row& row : rows_)
      if (row.question.placement == placement) own.push_back(&row);
    std::ranges::stable_sort(own, {}, [](const Row* row) { return row->question.nodes; });
    std::vector<Point> points;
    for (const Row* row : own)
      points.push_back({x_of(row->question.nodes), y_of(*curve_.value(row->answer))});
    svg.polyline(points, style);
    for (std::size_t i = 0; i < own.size(); ++i)
      svg.rect({points[i].x - kMark / 2, points[i].y - kMark / 2}, kMark, kMark, style + "-mark",
               fmt::format("{} nodes, {}: {}", own[i]->question.nodes, name_of(placement),
                           report::number_text(*curve_.value(own[i]->answer))));
  }

  const std::vector<Row>& rows_;
  const Curve& curve_;
  Point corner_;
  double most_ = 0;
  double step_ = 1;
  double top_ = 1;
  int least_nodes_ = 1 << 30;
  int most_nodes_ = 1;
};

}  // namespace

std::string to_svg(const std::vector<Row>& rows) {
  const std::vector<Curve> curves = curves_of(rows);
  const Question& asked = rows.front().question;
  const bool is_weak = rows.back().question.grid != asked.grid;
  const int last = rows.back().question.nodes;
  std::string nodes = fmt::format("{} node{}", last, last == 1 ? "" : "s");
  if (last != asked.nodes) nodes = fmt::format("{} to {}", asked.nodes, nodes);
  const std::string title =
      fmt::format("Exchange of ghost cells on {} of {} {}{}", nodes, asked.places,
                  place_name(asked), asked.places == 1 ? "" : "s");
  const std::string question =
      (is_weak ? "From " : "") + question_text(asked) +
      (is_weak ? fmt::format(", to {} cells", by(rows.back().question.grid)) : "") +
      (asked.machine ? "; " + asked.machine->title : "");
  const double width = std::ceil(
      std::max({2 * kPlotMargin + static_cast<double>(curves.size()) * (kPlotWidth + kPlotGap) -
                    kPlotGap + 50,
                topo::text_width(question) + 2 * kPlotMargin,
                topo::text_width(title, 20) + 2 * kPlotMargin}));
  const double height = kPlotTop + kPlotHeight + 60 + kPlotMargin;
  topo::Svg svg(width, height, title);
  draw_page(svg, width, height);
  svg.text({kPlotMargin, kPlotMargin + 14}, title, "title");
  svg.text({kPlotMargin, kPlotMargin + 36}, question, "soft");
  double x = kPlotMargin + 50;
  for (const Curve& curve : curves) {
    SweepPlot(rows, curve, {x, kPlotTop}).draw(svg);
    x += kPlotWidth + kPlotGap;
  }
  const double legend = kPlotTop + kPlotHeight + 60;
  const std::vector<Point> flat = {{kPlotMargin + 50, legend}, {kPlotMargin + 90, legend}};
  svg.polyline(flat, "flat");
  svg.text({kPlotMargin + 98, legend + 4}, "default placement", "");
  const std::vector<Point> aware = {{kPlotMargin + 250, legend}, {kPlotMargin + 290, legend}};
  svg.polyline(aware, "aware");
  svg.text({kPlotMargin + 298, legend + 4}, "node-aware placement", "");
  return svg.str(picture_style());
}

}  // namespace strake::plan
