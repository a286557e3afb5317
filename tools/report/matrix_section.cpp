#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "report/html.hpp"
#include "report/matrix.hpp"
#include "report/one_size.hpp"
#include "report/sections.hpp"
#include "report/units.hpp"

namespace strake::report {
namespace {

std::string table_of(const BandwidthMatrix& matrix) {
  double most = 0;
  for (const auto& row : matrix.cells)
    for (const Bandwidth& of : row) most = std::max(most, of.rate);
  std::vector<std::string> head = {"from \\ to"};
  head.insert(head.end(), matrix.places.begin(), matrix.places.end());
  std::string rows;
  for (std::size_t i = 0; i < matrix.places.size(); ++i) {
    rows += "<tr><th>" + escaped(matrix.places[i]) + "</th>";
    for (const Bandwidth& of : matrix.cells[i]) {
      if (of.rate <= 0) {
        rows += "<td></td>";
        continue;
      }
      std::string tip = fmt::format("{}, {}: {}", of.name,
                                    bytes_text(static_cast<double>(of.bytes)), rate_text(of.rate));
      if (of.limit > 0)
        tip += fmt::format(", {} of the link's {}", share_text(of.rate, of.limit),
                           rate_text(of.limit));
      // Faint enough that the number on it can be read.
      rows += fmt::format("<td class=\"heat\" style=\"--heat: {:.0f}%\" title=\"{}\">{}</td>",
                          5 + 45 * of.rate / most, escaped(tip),
                          number_text(of.rate / 1e9) + (of.doubtful ? "?" : ""));
    }
    rows += "</tr>\n";
  }
  return table("map", head, rows);
}

}  // namespace

std::string matrices(Profiles profiles) {
  std::string body;
  for (const Shown& shown : profiles) {
    BandwidthMatrix matrix = matrix_of(shown.profile);
    use_one_size(matrix, shown.profile);
    if (!matrix.any()) continue;
    body +=
        fmt::format("<figure><figcaption>Copies of {}{}</figcaption>\n{}</figure>\n",
                    escaped(sizes_text(matrix)), escaped(whose(profiles, shown)), table_of(matrix));
  }
  return folded_section("matrix", "Bandwidth between memories",
                        "GB/s one way; pairs of a kind at the largest size that all of them were "
                        "measured at. Blank: not measured. Question marks: doubtful.",
                        body);
}

}  // namespace strake::report
