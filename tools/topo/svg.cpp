#include "topo/svg.hpp"

#include <fmt/format.h>

#include "report/html.hpp"

namespace strake::topo {
namespace {

using report::escaped;

std::string tip_element(std::string_view tip) {
  return tip.empty() ? std::string() : fmt::format("<title>{}</title>", escaped(tip));
}

const char* name_of(Anchor anchor) {
  return anchor == Anchor::Start ? "start" : anchor == Anchor::Middle ? "middle" : "end";
}

}  // namespace

double text_width(std::string_view words, double size) {
  std::size_t letters = 0;
  for (const char c : words) letters += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
  return 0.62 * size * static_cast<double>(letters);  // DejaVu Sans, the widest of the usual ones
}

Svg::Svg(double width, double height, std::string_view label)
    : width_(width), height_(height), label_(label) {}

void Svg::rect(Point corner, double width, double height, std::string_view style,
               std::string_view tip, double opacity) {
  const std::string seen =
      opacity < 1 ? fmt::format(" fill-opacity=\"{:.3f}\"", opacity) : std::string();
  body_ += fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
      "class=\"{}\"{}>{}</rect>\n",
      corner.x, corner.y, width, height, style, seen, tip_element(tip));
}

void Svg::line(Point from, Point to, std::string_view style, std::string_view tip) {
  body_ += fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\">{}</line>\n",
      from.x, from.y, to.x, to.y, style, tip_element(tip));
}

void Svg::polyline(std::span<const Point> points, std::string_view style) {
  std::string list;
  for (const Point& point : points) list += fmt::format("{:.1f},{:.1f} ", point.x, point.y);
  if (!list.empty()) list.pop_back();
  body_ += fmt::format("<polyline points=\"{}\" class=\"{}\"/>\n", list, style);
}

void Svg::text(Point at, std::string_view words, std::string_view style, Anchor anchor) {
  body_ +=
      fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\" text-anchor=\"{}\">{}</text>\n",
                  at.x, at.y, style, name_of(anchor), escaped(words));
}

std::string Svg::str(std::string_view style_sheet) const {
  const std::string style =
      style_sheet.empty() ? std::string() : fmt::format("<style>{}</style>\n", style_sheet);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" width=\"{:.0f}\" "
      "height=\"{:.0f}\" role=\"img\" aria-label=\"{}\">\n{}{}</svg>\n",
      width_, height_, width_, height_, escaped(label_), style, body_);
}

}  // namespace strake::topo
