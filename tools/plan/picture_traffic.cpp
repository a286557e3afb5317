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
constexpr double kTitleHeight = 24;
constexpr double kSharesHeight = 120;
constexpr double kBarHeight = 22;
constexpr double kRowHeight = 20;
constexpr double kLeastRowLabel = 74;
constexpr double kRowBar = 230;
constexpr double kMatrixLabel = 24;
constexpr double kMostMatrixCell = 46;
constexpr double kSectionGap = 22;

constexpr std::size_t kMostRows = 10;
constexpr std::size_t kMostSegments = 12;

/// A number that has room in a cell of the matrix.
std::string cell_text(double mib) { return mib < 0.01 ? "<0.01" : report::number_text(mib); }

/// "and 502 others: 124 MiB to 125 MiB"
std::string others_text(std::size_t count, std::int64_t least, std::int64_t most) {
  const std::string low = report::bytes_text(static_cast<double>(least));
  const std::string high = report::bytes_text(static_cast<double>(most));
  return fmt::format("and {} others: {}", count, low == high ? low + " each" : low + " to " + high);
}

}  // namespace

TrafficPanel::TrafficPanel(const Question& asked, const Answer& answer,
                           const std::vector<int>& colour_of, double width)
    : asked_(asked),
      answer_(answer),
      colour_of_(colour_of),
      width_(width),
      within_(static_cast<std::size_t>(asked.places)) {
  collect();
}

void TrafficPanel::collect() {
  std::map<std::pair<int, int>, std::int64_t> between;
  const auto& at = answer_.placed.at;
  for_each_transfer(asked_, answer_.placed, [&](const placement::Flow& flow, std::int64_t bytes) {
    const auto& from = at[static_cast<std::size_t>(flow.from)];
    const auto& to = at[static_cast<std::size_t>(flow.to)];
    if (!answer_.placed.is_near(from.node, to.node))
      between[{from.node, to.node}] += bytes;
    else if (from.node == 0 && to.node == 0 && from.number != to.number)
      within_(static_cast<std::size_t>(from.number), static_cast<std::size_t>(to.number)) +=
          static_cast<double>(bytes);
  });
  for (int node = 0; node < asked_.nodes; ++node) leaving_.push_back({node, 0, {}});
  for (const auto& [pair, bytes] : between) {
    Leaving& leaving = leaving_[static_cast<std::size_t>(pair.first)];
    leaving.bytes += bytes;
    leaving.to.emplace_back(bytes, pair.second);
  }
  for (Leaving& leaving : leaving_)
    std::ranges::stable_sort(leaving.to,
                             [](const auto& a, const auto& b) { return a.first > b.first; });
  if (leaving_.size() > kMostRows)
    std::ranges::stable_sort(leaving_, std::ranges::greater(), &Leaving::bytes);
}

double TrafficPanel::matrix_cell() const noexcept {
  return std::min(kMostMatrixCell,
                  (width_ - kMatrixLabel) / static_cast<double>(std::max(asked_.places, 1)));
}

double TrafficPanel::row_label() const {
  constexpr double kGap = 10;
  return std::max(kLeastRowLabel,
                  topo::text_width(fmt::format("node {}", asked_.nodes - 1)) + kGap);
}

double TrafficPanel::height() const noexcept {
  const std::size_t rows = std::min(leaving_.size(), kMostRows + 1);
  const double matrix = asked_.places > 1 ? 2 * kTitleHeight + matrix_cell() * asked_.places : 0;
  return kSharesHeight + kSectionGap + kTitleHeight + kRowHeight * static_cast<double>(rows) +
         kSectionGap + matrix;
}

double TrafficPanel::draw_shares(topo::Svg& svg, Point corner) const {
  svg.text({corner.x, corner.y + 12}, "Bytes of an exchange", "head");
  const Percent percent = percent_of(answer_.shares);
  const bool is_domain = answer_.placed.nodes_per_domain > 1;
  struct Share {
    double value;
    const char* style;
    std::string words;
  };
  const std::string near = is_domain ? "domain" : "node";
  const std::vector<Share> shares = {{percent.self, "self", "stay in a part"},
                                     {percent.node, "node", "go to another part of the " + near},
                                     {percent.network, "network", "leave the " + near}};
  double x = corner.x;
  double y = corner.y + kTitleHeight + kBarHeight + 18;
  for (const Share& share : shares) {
    const std::string words = fmt::format("{:.1f} % {}", share.value, share.words);
    const double width = share.value / 100 * width_;
    svg.rect({x, corner.y + kTitleHeight}, width, kBarHeight, share.style, words);
    x += width;
    svg.rect({corner.x, y - 10}, 12, 12, share.style);
    svg.text({corner.x + 20, y}, words, "");
    y += kRowHeight;
  }
  return kSharesHeight;
}

void TrafficPanel::draw_leaving_row(topo::Svg& svg, Point corner, const Leaving& leaving) const {
  const double most = static_cast<double>(std::max<std::int64_t>(answer_.most_leaving, 1));
  const auto wide = [&](std::int64_t bytes) { return static_cast<double>(bytes) / most * kRowBar; };
  svg.text({corner.x, corner.y + 12}, fmt::format("node {}", leaving.node), "");
  const double begin = corner.x + row_label();
  double x = begin;
  std::int64_t drawn = 0;
  for (std::size_t i = 0; i < std::min(leaving.to.size(), kMostSegments); ++i) {
    const auto& [bytes, node] = leaving.to[i];
    svg.rect({x, corner.y}, wide(bytes), kRowHeight - 5,
             fmt::format("part n{}", colour_of_[static_cast<std::size_t>(node)]),
             fmt::format("to node {}: {}", node, report::bytes_text(static_cast<double>(bytes))));
    x += wide(bytes);
    drawn += bytes;
  }
  if (leaving.bytes > drawn)
    svg.rect({x, corner.y}, wide(leaving.bytes - drawn), kRowHeight - 5, "part rest",
             fmt::format("to {} others", leaving.to.size() - kMostSegments));
  svg.text({begin + kRowBar + 10, corner.y + 12},
           leaving.to.empty()
               ? std::string("nothing")
               : fmt::format("{} to {} {}", report::bytes_text(static_cast<double>(leaving.bytes)),
                             leaving.to.size(), leaving.to.size() == 1 ? "node" : "nodes"),
           "soft");
}

double TrafficPanel::draw_leaving(topo::Svg& svg, Point corner) const {
  const int domain = answer_.placed.nodes_per_domain;
  std::string title = "What leaves each node, by the node that gets it";
  if (domain > 1) title = fmt::format("What leaves each node and its domain of {}", domain);
  svg.text({corner.x, corner.y + 12}, title, "head");
  double y = corner.y + kTitleHeight;
  const std::size_t rows = std::min(leaving_.size(), kMostRows);
  for (std::size_t i = 0; i < rows; ++i, y += kRowHeight)
    draw_leaving_row(svg, {corner.x, y}, leaving_[i]);
  if (leaving_.size() > rows) {
    svg.text({corner.x, y + 12},
             others_text(leaving_.size() - rows, leaving_.back().bytes, leaving_[rows].bytes),
             "soft");
    y += kRowHeight;
  }
  return y - corner.y;
}

void TrafficPanel::draw_matrix(topo::Svg& svg, Point corner) const {
  if (asked_.places < 2) return;
  const std::string name = place_name(asked_);
  svg.text({corner.x, corner.y + 12},
           fmt::format("Within node 0: MiB from a {} (row) to a {} (column)", name, name), "head");
  const double cell = matrix_cell();
  double most = 1;
  for (std::size_t a = 0; a < within_.size(); ++a)
    for (std::size_t b = 0; b < within_.size(); ++b) most = std::max(most, within_(a, b));
  const bool has_numbers = cell >= 36;
  const auto every = static_cast<std::size_t>(std::max(1.0, std::ceil(28 / cell)));
  const Point top{corner.x + kMatrixLabel, corner.y + 2 * kTitleHeight - 4};
  for (std::size_t a = 0; a < within_.size(); ++a) {
    const double middle = (static_cast<double>(a) + 0.5) * cell;
    if (a % every == 0) {
      svg.text({top.x + middle, top.y - 5}, std::to_string(a), "soft", topo::Anchor::Middle);
      svg.text({top.x - 7, top.y + middle + 4}, std::to_string(a), "soft", topo::Anchor::End);
    }
    for (std::size_t b = 0; b < within_.size(); ++b) {
      const Point at{top.x + static_cast<double>(b) * cell, top.y + static_cast<double>(a) * cell};
      const double mib = within_(a, b) / (1 << 20);
      if (mib > 0)
        svg.rect(at, cell, cell, "heat", fmt::format("{} to {}: {:.2f} MiB", a, b, mib),
                 0.08 + 0.5 * within_(a, b) / most);
      if (has_numbers) svg.rect(at, cell, cell, "cell");
      if (has_numbers && mib > 0)
        svg.text({at.x + cell / 2, at.y + cell / 2 + 4}, cell_text(mib), "", topo::Anchor::Middle);
    }
  }
  if (!has_numbers) svg.rect(top, cell * asked_.places, cell * asked_.places, "cell");
}

void TrafficPanel::draw(topo::Svg& svg, Point corner) const {
  Point at = corner;
  at.y += draw_shares(svg, at) + kSectionGap;
  at.y += draw_leaving(svg, at) + kSectionGap;
  draw_matrix(svg, at);
}

}  // namespace strake::plan
