/// \file  The panels of a picture of one placement, and its looks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plan/show.hpp"
#include "topo/svg.hpp"

namespace strake::plan {

inline constexpr int kNodeColours = 8;

/// A style sheet for light and dark pages. Nodes have the classes n0 to n7.
[[nodiscard]] const char* picture_style() noexcept;
/// The page behind everything, for programs that ignore the style of the whole drawing.
void draw_page(topo::Svg& svg, double width, double height);
/// "GPU", or "core".
[[nodiscard]] std::string place_name(const Question& asked);
/// "6144 x 4096 x 2048 cells, radius 3, 32 bytes a cell: what people ask for"
[[nodiscard]] std::string question_text(const Question& asked);

/// The parts of the grid, slice by slice, coloured by node.
class PartsPanel {
 public:
  PartsPanel(const Question& asked, const Answer& answer, const std::vector<int>& colour_of,
             double width);
  [[nodiscard]] double height() const noexcept;
  void draw(topo::Svg& svg, topo::Point corner) const;

 private:
  struct Cell {
    double width = 0;
    double height = 0;
  };
  enum class Label : std::uint8_t { None, Number, NodeAndNumber, Words };
  void fit(double width, int slices);
  [[nodiscard]] bool is_too_thin() const noexcept;
  [[nodiscard]] Label label_with_room() const;
  void draw_slice(topo::Svg& svg, topo::Point corner, int slice) const;
  void label(topo::Svg& svg, topo::Point corner, const placement::NodePlace& at) const;
  [[nodiscard]] int part_at(int slice, int column, int row) const;
  [[nodiscard]] const placement::NodePlace& place_at(int slice, int column, int row) const;

  const Question& asked_;
  const Answer& answer_;
  const std::vector<int>& colour_of_;  ///< by node
  std::size_t across_ = 0;             ///< the axis drawn from left to right
  std::size_t down_ = 1;
  std::size_t through_ = 2;  ///< the axis with a slice for each position
  int shown_ = 1;            ///< slices
  int per_row_ = 1;
  Cell cell_;
  Label label_ = Label::None;  ///< of all parts
};

/// Shares, what leaves each node, and what the first node's places send each other.
class TrafficPanel {
 public:
  TrafficPanel(const Question& asked, const Answer& answer, const std::vector<int>& colour_of,
               double width);
  [[nodiscard]] double height() const noexcept;
  void draw(topo::Svg& svg, topo::Point corner) const;

 private:
  struct Leaving {
    int node = 0;
    std::int64_t bytes = 0;
    std::vector<std::pair<std::int64_t, int>> to;  ///< bytes and nodes, the most first
  };
  void collect();
  double draw_shares(topo::Svg& svg, topo::Point corner) const;
  double draw_leaving(topo::Svg& svg, topo::Point corner) const;
  void draw_leaving_row(topo::Svg& svg, topo::Point corner, const Leaving& leaving) const;
  void draw_matrix(topo::Svg& svg, topo::Point corner) const;
  [[nodiscard]] double matrix_cell() const noexcept;
  /// The width of the longest "node N" and the gap after it.
  [[nodiscard]] double row_label() const;

  const Question& asked_;
  const Answer& answer_;
  const std::vector<int>& colour_of_;
  double width_;
  std::vector<Leaving> leaving_;  ///< by node if few, else the most first
  placement::Square within_;      ///< bytes between the places of the first node
};

}  // namespace strake::plan
