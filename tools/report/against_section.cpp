// Strake against the MPI library: messages that Strake packs beside the same messages in the
// library's own datatypes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "report/html.hpp"
#include "report/sections.hpp"
#include "report/units.hpp"

namespace strake::report {
namespace {

using machine::Result;

struct Pair {
  const Result* packed = nullptr;
  const Result* library = nullptr;
};
/// By block length and size.
using Grid = std::map<std::int64_t, std::map<std::int64_t, Pair>>;
/// Library, "node" or "net", kind of layout, and class of pitch of boxes.
using Key = std::tuple<std::string, std::string, std::string, PitchClass>;

std::map<Key, Grid> grids_of(const machine::Profile& profile) {
  std::map<Key, Grid> grids;
  for (const Result& result : profile.results) {
    if (!result.name.starts_with("mpi/") || result.median <= 0 || result.block <= 0) continue;
    for (const std::string by : {"/pack/", "/system/"}) {
      const std::size_t at = result.name.find(by);
      if (at == std::string::npos) continue;
      const std::string layout = result.name.substr(at + by.size());
      const auto pitch = layout == "box" ? pitch_class(result) : PitchClass::Other;
      Grid& grid = grids[{result.mpi, result.name.substr(4, at - 4), layout, pitch}];
      Pair& pair = grid[result.block][result.bytes];
      (by == "/pack/" ? pair.packed : pair.library) = &result;
    }
  }
  for (auto& [key, grid] : grids) {
    for (auto& [block, line] : grid)
      std::erase_if(line, [](const auto& entry) {
        return entry.second.packed == nullptr || entry.second.library == nullptr;
      });
    std::erase_if(grid, [](const auto& entry) { return entry.second.empty(); });
  }
  std::erase_if(grids, [](const auto& entry) { return entry.second.empty(); });
  return grids;
}

double speedup(const Pair& pair) { return pair.library->median / pair.packed->median; }
bool is_doubtful(const Pair& pair) { return doubtful(*pair.packed) || doubtful(*pair.library); }

struct Mean {
  double logarithms = 0;
  int count = 0;
  int faster = 0;
  int doubts = 0;
  void add(const Pair& pair) {
    logarithms += std::log(speedup(pair));
    ++count;
    if (speedup(pair) > 1) ++faster;
    if (is_doubtful(pair)) ++doubts;
  }
  [[nodiscard]] double value() const { return std::exp(logarithms / count); }
};

// Times that differ less are called equal.
constexpr double kClear = 1.05;

std::string speedup_cell(const Pair& pair) {
  const double ratio = speedup(pair);
  return cell(fmt::format("{:.{}f}{}", ratio, ratio < 9.95 ? 1 : 0, is_doubtful(pair) ? "?" : ""),
              fmt::format("{}: packed by Strake {} ({}), the library's datatype {} ({})",
                          shape_text(*pair.packed), time_text(pair.packed->median),
                          spread_text(*pair.packed), time_text(pair.library->median),
                          spread_text(*pair.library)),
              ratio > kClear       ? "better"
              : ratio < 1 / kClear ? "worse"
                                   : "equal");
}

std::string table_of(const Grid& grid) {
  std::set<std::int64_t> blocks;
  std::set<std::int64_t> sizes;
  for (const auto& [block, line] : grid) {
    blocks.insert(block);
    for (const auto& [bytes, pair] : line) sizes.insert(bytes);
  }
  return map_table(blocks, sizes, [&](std::int64_t block, std::int64_t bytes) {
    const auto& line = grid.at(block);
    const auto found = line.find(bytes);
    return found == line.end() ? std::string() : speedup_cell(found->second);
  });
}

/// The block lengths that are drawn: those nearest to an element, a cache line and a row.
std::set<std::int64_t> drawn_blocks(const Grid& grid) {
  std::set<std::int64_t> blocks;
  for (const double wanted : {8, 64, 1024}) {
    const auto distance = [&](const auto& entry) {
      return std::abs(std::log(static_cast<double>(entry.first) / wanted));
    };
    blocks.insert(std::min_element(grid.begin(), grid.end(), [&](const auto& a, const auto& b) {
                    return distance(a) < distance(b);
                  })->first);
  }
  return blocks;
}

std::string figures_of(const Shown& shown, std::size_t profile, const Key& key, const Grid& grid,
                       Charts& charts) {
  const auto& [library, way, layout, pitch] = key;
  std::map<std::int64_t, const Result*> contiguous;
  for (const Result& result : shown.profile.results)
    if (result.name == "mpi/" + way + "/host" && result.mpi == library && result.block == 0)
      contiguous[result.bytes] = &result;
  std::string figures;
  for (const std::int64_t block : drawn_blocks(grid)) {
    Chart chart;
    chart.title = "Blocks of " + bytes_text(static_cast<double>(block));
    chart.group = "against " + library + way + layout + std::to_string(static_cast<int>(pitch));
    chart.profile = profile;
    Line strake{"packed by Strake", 0, false, {}, {}};
    Line own{"datatypes of " + library, 1, false, {}, {}};
    Line dense{"contiguous bytes", 7, true, {}, {}};
    const auto& line = grid.at(block);
    for (const auto& [bytes, pair] : line) {
      strake.points.push_back(pair.packed);
      own.points.push_back(pair.library);
    }
    for (const auto& [bytes, result] : contiguous)
      if (bytes >= line.begin()->first && bytes <= line.rbegin()->first)
        dense.points.push_back(result);
    chart.lines = {dense, own, strake};
    figures += charts.figure(std::move(chart));
  }
  return row_of(figures);
}

/// "Packed by Strake, 143 of 245 of these messages are faster …"
std::string verdict(const std::string& library, const Grid& grid) {
  Mean all;
  std::string by_block;
  for (const auto& [block, line] : grid) {
    Mean mean;
    for (const auto& [bytes, pair] : line) {
      all.add(pair);
      mean.add(pair);
    }
    by_block += fmt::format("{}{}: {}", by_block.empty() ? "" : ", ",
                            bytes_text(static_cast<double>(block)), number_text(mean.value()));
  }
  return fmt::format(
      "<p><b>Packed by Strake, {} of {} messages are faster than by {}. Geometric mean: {} times "
      "as "
      "fast.</b> By block length: {}. Doubtful: {} of {}. Strake leaves to the library what the "
      "library does "
      "faster.</p>\n",
      all.faster, all.count, escaped(library), number_text(all.value()), by_block, all.doubts,
      all.count);
}

std::string title_of(const Key& key) {
  const auto& [library, way, layout, pitch] = key;
  return fmt::format("{}, {}, {}", library, way == "node" ? "within a node" : "between nodes",
                     layout == "box" ? name_of(pitch) : layout);
}

}  // namespace

std::string against_library(Profiles profiles, Charts& charts) {
  std::string body;
  std::string rest;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    std::set<std::string> begun;  // libraries: each begins with its first comparison
    for (const auto& [key, grid] : grids_of(profiles[i].profile)) {
      const std::string& library = std::get<0>(key);
      const bool first = std::get<2>(key) == "box" && std::get<3>(key) == PitchClass::Near &&
                         std::get<1>(key) == "node" && begun.insert(library).second;
      const std::string title = title_of(key) + whose(profiles, profiles[i]);
      const std::string part = verdict(library, grid) +
                               figures_of(profiles[i], i, key, grid, charts) +
                               "<p>How many times as fast, by block length and size of the "
                               "message:</p>\n" +
                               table_of(grid);
      if (first)
        body += "<h3>" + escaped(title) + "</h3>\n" + part;
      else
        rest += folded(title, part);
    }
  }
  if (body.empty() && rest.empty())
    body =
        "<p class=\"none\">Nothing of this was measured. <code>mpirun -n 2 strake measure</code> "
        "measures it.</p>\n";
  return section("against", "Strake against the MPI library",
                 "Half a round trip of strided messages in host memory, both sides: packed by "
                 "Strake, and in the MPI library's own datatypes. Bands: 10 % to 90 % of the "
                 "samples. Hollow points and question marks: doubtful.",
                 body + rest);
}

}  // namespace strake::report
