#include "report/svg.hpp"

#include <fmt/format.h>

namespace strake::report {
namespace {

std::string tip_element(std::string_view tip) {
  return tip.empty() ? std::string() : fmt::format("<title>{}</title>", escaped(tip));
}

const char* name_of(Anchor anchor) {
  return anchor == Anchor::Start ? "start" : anchor == Anchor::Middle ? "middle" : "end";
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t')
          out += "\xEF\xBF\xBD";  // U+FFFD
        else
          out += c;
    }
  }
  return out;
}

double text_width(std::string_view words, double size) {
  std::size_t letters = 0;
  for (const char c : words) letters += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
  return 0.56 * size * static_cast<double>(letters);  // the mean of digits and lower case in Arial
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

void Svg::mark(Point at, int shape, std::string_view style, std::string_view tip) {
  const std::string where =
      fmt::format("transform=\"translate({:.1f} {:.1f})\" class=\"{}\"", at.x, at.y, style);
  // Sizes give the shapes about the same area.
  const char* paths[kShapes] = {"",
                                "M-3.2-3.2H3.2V3.2H-3.2Z",
                                "M0-4.3L4 3.2H-4Z",
                                "M0-4.6L4.6 0L0 4.6L-4.6 0Z",
                                "M0 4.3L4-3.2H-4Z",
                                "M-1.3-4H1.3V-1.3H4V1.3H1.3V4H-1.3V1.3H-4V-1.3H-1.3Z"};
  if (shape % kShapes == 0)
    body_ += fmt::format("<circle r=\"3.5\" {}>{}</circle>\n", where, tip_element(tip));
  else
    body_ += fmt::format("<path d=\"{}\" {}>{}</path>\n", paths[shape % kShapes], where,
                         tip_element(tip));
}

void Svg::text(Point at, std::string_view words, std::string_view style, Anchor anchor) {
  body_ +=
      fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\" text-anchor=\"{}\">{}</text>\n",
                  at.x, at.y, style, name_of(anchor), escaped(words));
}

void Svg::fitted_text(Point at, std::string_view words, std::string_view style, double width,
                      double size, Anchor anchor) {
  const double wide = text_width(words, size);
  if (wide <= width) return text(at, words, style, anchor);
  body_ += fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\" style=\"font-size:{:.1f}px\" "
      "text-anchor=\"{}\">{}</text>\n",
      at.x, at.y, style, size * width / wide, name_of(anchor), escaped(words));
}

void Svg::upright_text(Point at, std::string_view words, std::string_view style) {
  body_ += fmt::format(
      "<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\" class=\"{}\" "
      "text-anchor=\"middle\">{}</text>\n",
      at.x, at.y, style, escaped(words));
}

std::string Svg::str(std::string_view style_sheet) const {
  const std::string style =
      style_sheet.empty() ? std::string() : fmt::format("<style>{}</style>\n", style_sheet);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" width=\"{:.0f}\" "
      "height=\"{:.0f}\" role=\"img\" aria-label=\"{}\">\n{}{}</svg>\n",
      width_, height_, width_, height_, escaped(label_), style, body_);
}

}  // namespace strake::report
