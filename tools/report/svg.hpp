/// \file  A drawing in Scalable Vector Graphics. Elements have classes; the style sheet of the page
/// or of the file says how these look.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace strake::report {

/// `text` with XML's five reserved characters as entities, and characters that XML does not allow
/// (control characters) as U+FFFD.
[[nodiscard]] std::string escaped(std::string_view text);

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
  /// One of kShapes marks.
  void mark(Point at, int shape, std::string_view style, std::string_view tip = {});
  void text(Point at, std::string_view words, std::string_view style,
            Anchor anchor = Anchor::Start);
  /// The letters are smaller than `size` if the text would be wider than `width`.
  void fitted_text(Point at, std::string_view words, std::string_view style, double width,
                   double size, Anchor anchor = Anchor::Start);
  /// Reads from bottom to top.
  void upright_text(Point at, std::string_view words, std::string_view style);

  /// The element. `style_sheet`: for files of their own, with what they are.
  [[nodiscard]] std::string str(std::string_view style_sheet = {}) const;

  static constexpr int kShapes = 6;

 private:
  double width_;
  double height_;
  std::string label_;
  std::string body_;
};

/// About how wide words are at `size` pixels in a sans-serif font. (Nothing measures text here.)
[[nodiscard]] double text_width(std::string_view words, double size = 12);

}  // namespace strake::report
