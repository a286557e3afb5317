/// \file  A drawing in Scalable Vector Graphics. Elements have classes; the style sheet of the page
/// or of the file says how these look.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace strake::topo {

struct Point {
  double x = 0;
  double y = 0;
};

enum class Anchor { Start, Middle, End };

class Svg {
 public:
  /// `label` says in words what is drawn.
  Svg(double width, double height, std::string_view label);

  /// `tip` is shown when the pointer rests there; empty: none.
  void rect(Point corner, double width, double height, std::string_view style,
            std::string_view tip = {}, double opacity = 1);
  void line(Point from, Point to, std::string_view style, std::string_view tip = {});
  void polyline(std::span<const Point> points, std::string_view style);
  void text(Point at, std::string_view words, std::string_view style,
            Anchor anchor = Anchor::Start);

  /// A whole file.
  [[nodiscard]] std::string str(std::string_view style_sheet) const;

 private:
  double width_;
  double height_;
  std::string label_;
  std::string body_;
};

/// About how wide words are at `size` pixels in a sans-serif font. (Nothing measures text here.)
[[nodiscard]] double text_width(std::string_view words, double size = 12);

}  // namespace strake::topo
