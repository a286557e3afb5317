#include "report/one_size.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "report/profiles.hpp"
#include "report/units.hpp"

namespace strake::report {
namespace {

/// "node-gpu", for both ways between any node and any GPU. `a` comes before `b` in the matrix.
std::string kind_of(const std::string& a, const std::string& b) {
  if (a == b && a.starts_with("gpu")) return "within a gpu";  // its own memory is no link
  const auto letters = [](const std::string& place) {
    return place.substr(0, place.find_first_of("0123456789"));
  };
  return letters(a) + "-" + letters(b);
}

/// The cells that were measured, by kind; kinds in the order of the matrix.
template <typename Matrix, typename Cell>
std::vector<std::pair<std::string, std::vector<Cell*>>> by_kind(Matrix& matrix) {
  std::vector<std::pair<std::string, std::vector<Cell*>>> kinds;
  for (std::size_t from = 0; from < matrix.places.size(); ++from) {
    for (std::size_t to = 0; to < matrix.places.size(); ++to) {
      Cell& cell = matrix.cells[from][to];
      if (cell.rate <= 0) continue;
      const std::string kind =
          kind_of(matrix.places[std::min(from, to)], matrix.places[std::max(from, to)]);
      auto found = std::find_if(kinds.begin(), kinds.end(),
                                [&](const auto& known) { return known.first == kind; });
      if (found == kinds.end()) found = kinds.insert(kinds.end(), {kind, {}});
      found->second.push_back(&cell);
    }
  }
  return kinds;
}

}  // namespace

void use_one_size(BandwidthMatrix& matrix, const machine::Profile& profile) {
  std::map<std::string, std::map<std::int64_t, const machine::Result*>> measured;
  for (const machine::Result& result : profile.results)
    if (result.bytes > 0 && result.median > 0) measured[result.name].emplace(result.bytes, &result);
  for (const auto& [kind, cells] : by_kind<BandwidthMatrix, Bandwidth>(matrix)) {
    std::int64_t size = 0;
    for (const auto& [bytes, result] : measured[cells[0]->name])
      if (std::all_of(cells.begin(), cells.end(),
                      [bytes = bytes, &measured](const Bandwidth* cell) {
                        return measured[cell->name].contains(bytes);
                      }))
        size = bytes;
    if (size == 0) continue;
    for (Bandwidth* cell : cells) {
      const machine::Result& result = *measured[cell->name][size];
      cell->rate = static_cast<double>(size) / result.median;
      cell->limit = result.limit;
      cell->bytes = size;
      cell->doubtful = doubtful(result);
    }
  }
}

std::string sizes_text(const BandwidthMatrix& matrix) {
  std::string text;
  for (const auto& [kind, cells] : by_kind<const BandwidthMatrix, const Bandwidth>(matrix)) {
    const bool one = std::all_of(cells.begin(), cells.end(), [first = cells[0]](const auto* cell) {
      return cell->bytes == first->bytes;
    });
    text += (text.empty() ? "" : ", ") +
            (one ? bytes_text(static_cast<double>(cells[0]->bytes)) : "several sizes") + " " + kind;
  }
  return text;
}

}  // namespace strake::report
