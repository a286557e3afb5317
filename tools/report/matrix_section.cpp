#include <algorithm>
#include <string>
#include <vector>

#include "report/matrix.hpp"
#include "report/one_size.hpp"
#include "report/plot.hpp"
#include "report/sections.hpp"
#include "report/units.hpp"

namespace strake::report {
namespace {

HeatMap map_of(const BandwidthMatrix& matrix, const std::string& title, double most) {
  HeatMap map;
  map.title = title;
  map.row_label = "from";
  map.column_label = "to";
  map.unit = "GB/s";
  map.names = matrix.places;
  map.most = most / 1e9;
  for (const auto& row : matrix.cells) {
    map.cells.emplace_back();
    for (const Bandwidth& cell : row) {
      if (cell.rate <= 0) {
        map.cells.back().push_back({});
        continue;
      }
      std::string tip = cell.name + ", " + bytes_text(static_cast<double>(cell.bytes)) + ": " +
                        rate_text(cell.rate);
      if (cell.limit > 0)
        tip += ", " + share_text(cell.rate, cell.limit) + " of the link's " + rate_text(cell.limit);
      map.cells.back().push_back(
          {cell.rate / 1e9, number_text(cell.rate / 1e9), share_text(cell.rate, cell.limit), tip});
    }
  }
  return map;
}

}  // namespace

std::string matrices(Profiles profiles) {
  double most = 0;
  std::vector<BandwidthMatrix> all;
  for (const Shown& shown : profiles) {
    all.push_back(matrix_of(shown.profile));
    use_one_size(all.back(), shown.profile);
    for (const auto& row : all.back().cells)
      for (const Bandwidth& cell : row) most = std::max(most, cell.rate);
  }
  std::string figures;
  for (std::size_t i = 0; i < profiles.size(); ++i)
    if (all[i].any())
      figures += figure(
          draw(map_of(all[i], "Bandwidth between memories [GB/s]" + whose(profiles, profiles[i]),
                      most)),
          "");
  return section("matrix", "Bandwidth matrix",
                 "One way, pairs of a kind at the largest size that all of them were measured at; "
                 "below it % of what the link allows, where that is known.",
                 figures.empty() ? "" : row_of(figures));
}

}  // namespace strake::report
