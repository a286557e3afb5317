#include "report/html.hpp"

#include <fmt/format.h>

#include "report/units.hpp"

namespace strake::report {
namespace {

std::string content(std::string_view introduction, std::string_view body) {
  return fmt::format("<p>{}</p>\n{}", introduction,
                     body.empty() ? "<p class=\"none\">Nothing of this was measured.</p>\n" : body);
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

std::string cell(std::string_view text, std::string_view tip, std::string_view style) {
  std::string attributes;
  if (!style.empty()) attributes += fmt::format(" class=\"{}\"", style);
  if (!tip.empty()) attributes += fmt::format(" title=\"{}\"", escaped(tip));
  return fmt::format("<td{}>{}</td>", attributes, escaped(text));
}

std::string table(std::string_view style, const std::vector<std::string>& head,
                  std::string_view rows) {
  std::string names;
  for (const std::string& name : head) names += "<th>" + escaped(name) + "</th>";
  return fmt::format(
      "<div class=\"wide\"><table class=\"{}\"><thead><tr>{}</tr></thead><tbody>\n{}</tbody>"
      "</table></div>\n",
      style, names, rows);
}

std::string map_table(const std::set<std::int64_t>& blocks, const std::set<std::int64_t>& sizes,
                      const std::function<std::string(std::int64_t, std::int64_t)>& cell_of) {
  std::vector<std::string> head = {"block"};
  for (const std::int64_t bytes : sizes) head.push_back(short_bytes_text(bytes));
  std::string rows;
  for (const std::int64_t block : blocks) {
    rows += "<tr><th>" + bytes_text(static_cast<double>(block)) + "</th>";
    for (const std::int64_t bytes : sizes) {
      const std::string text = cell_of(block, bytes);
      rows += text.empty() ? "<td></td>" : text;
    }
    rows += "</tr>\n";
  }
  return table("map", head, rows);
}

std::string section(std::string_view id, std::string_view title, std::string_view introduction,
                    std::string_view body) {
  return fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n", id, title,
                     content(introduction, body));
}

std::string folded_section(std::string_view id, std::string_view title,
                           std::string_view introduction, std::string_view body) {
  return fmt::format("<details class=\"section\" id=\"{}\"><summary>{}</summary>\n{}</details>\n",
                     id, title, content(introduction, body));
}

std::string folded(std::string_view title, std::string_view body) {
  if (body.empty()) return {};
  return fmt::format("<details><summary>{}</summary>\n{}</details>\n", escaped(title), body);
}

std::string row_of(std::string_view figures, std::string_view style) {
  return figures.empty() ? std::string()
                         : fmt::format("<div class=\"{}\">\n{}</div>\n", style, figures);
}

}  // namespace strake::report
