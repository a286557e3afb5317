// Strake against the MPI library: messages that Strake packs beside the same messages in the
// library's own datatypes.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>

#include "report/html.hpp"
#include "report/sections.hpp"
#include "report/units.hpp"

namespace strake::report {
namespace {

using machine::Result;

/// A message that Strake packed, and the same message in the library's datatypes.
struct Pair {
  const Result* packed = nullptr;
  const Result* library = nullptr;
};
/// By block length and size.
using Grid = std::map<std::int64_t, std::map<std::int64_t, Pair>>;

/// The messages that one comparison is about.
struct Key {
  std::string mpi;
  std::string path;                      ///< "node" or "net"
  std::string layout;                    ///< "box", "indexed", "transpose"
  PitchClass pitch = PitchClass::Other;  ///< of boxes
  std::string by;                        ///< "shared" or "pack"
  auto operator<=>(const Key&) const = default;
};

/// The comparison that a result belongs to, from its name, "mpi/node/pack/box"; `by` is "system"
/// for the library's datatypes.
std::optional<Key> key_of(const Result& result) {
  static const std::regex name("mpi/(node|net)/(shared|pack|system)/([a-z]+)");
  std::smatch part;
  if (result.median <= 0 || result.block <= 0 || !std::regex_match(result.name, part, name))
    return std::nullopt;
  return Key{result.mpi, part.str(1), part.str(3),
             part.str(3) == "box" ? pitch_class(result) : PitchClass::Other, part.str(2)};
}

/// Results of packed messages, each with the library's result for the same message.
std::map<Key, Grid> grids_of(const machine::Profile& profile) {
  std::map<Key, Grid> library;
  for (const Result& result : profile.results)
    if (const auto key = key_of(result); key && key->by == "system")
      library[*key][result.block][result.bytes].library = &result;
  std::map<Key, Grid> grids;
  for (const Result& result : profile.results) {
    const auto key = key_of(result);
    if (!key || key->by == "system") continue;
    Key partners = *key;
    partners.by = "system";
    const Result* partner = library[partners][result.block][result.bytes].library;
    if (partner != nullptr) grids[*key][result.block][result.bytes] = {&result, partner};
  }
  return grids;
}

double speedup(const Pair& pair) { return pair.library->median / pair.packed->median; }
bool is_doubtful(const Pair& pair) { return doubtful(*pair.packed) || doubtful(*pair.library); }

/// The comparisons that can be relied on: doubtful ones are counted, and in no mean.
struct Mean {
  double logarithms = 0;
  int count = 0;
  int faster = 0;
  int doubts = 0;
  std::string doubt;  ///< why the first doubtful result is doubtful, as the profile says it
  void add(const Pair& pair) {
    if (is_doubtful(pair)) {
      ++doubts;
      for (const Result* result : {pair.packed, pair.library})
        if (doubt.empty()) doubt = result->doubtful;
      return;
    }
    logarithms += std::log(speedup(pair));
    ++count;
    if (speedup(pair) > 1) ++faster;
  }
  [[nodiscard]] int all() const { return count + doubts; }
  [[nodiscard]] double value() const { return std::exp(logarithms / count); }
};

Mean mean_of(const Grid& grid) {
  Mean mean;
  for (const auto& [block, line] : grid)
    for (const auto& [bytes, pair] : line) mean.add(pair);
  return mean;
}

// Times that differ less are called equal.
constexpr double kClear = 1.05;

std::string speedup_cell(const Pair& pair) {
  const double ratio = speedup(pair);
  return cell(fmt::format("{:.{}f}{}", ratio, ratio < 9.95 ? 1 : 0, is_doubtful(pair) ? "?" : ""),
              fmt::format("{}: packed by Strake {} ({}), the library's datatype {} ({})",
                          shape_text(*pair.packed), time_text(pair.packed->median),
                          spread_text(*pair.packed), time_text(pair.library->median),
                          spread_text(*pair.library)),
              is_doubtful(pair)    ? "doubtful"
              : ratio > kClear     ? "better"
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

/// The block lengths that are drawn: those nearest to an element, a cache line and a row, of those
/// measured at enough sizes for a curve.
std::set<std::int64_t> drawn_blocks(const Grid& grid) {
  std::set<std::int64_t> blocks;
  for (const double wanted : {8, 64, 1024}) {
    const auto distance = [wanted](std::int64_t block) {
      return std::abs(std::log(static_cast<double>(block) / wanted));
    };
    std::optional<std::int64_t> nearest;
    for (const auto& [block, line] : grid)
      if (line.size() >= Charts::kLeastPoints && (!nearest || distance(block) < distance(*nearest)))
        nearest = block;
    if (nearest) blocks.insert(*nearest);
  }
  return blocks;
}

const char* words_of(const Key& key) {
  return key.by == "shared"   ? "packed by Strake into shared memory"
         : key.path == "node" ? "packed by Strake, sent by MPI"
                              : "packed by Strake";
}

std::string figures_of(const Shown& shown, std::size_t profile, const Key& key, const Grid& grid,
                       Charts& charts) {
  std::map<std::int64_t, const Result*> contiguous;
  for (const Result& result : shown.profile.results)
    if (result.name == "mpi/" + key.path + "/host" && result.mpi == key.mpi && result.block == 0)
      contiguous[result.bytes] = &result;
  std::string figures;
  for (const std::int64_t block : drawn_blocks(grid)) {
    Chart chart;
    chart.title = "Blocks of " + bytes_text(static_cast<double>(block));
    chart.group = fmt::format("against {} {} {} {} {}", key.mpi, key.path, key.layout,
                              static_cast<int>(key.pitch), key.by);
    chart.profile = profile;
    Line strake{words_of(key), 0, false, {}, {}};
    Line own{"datatypes of " + key.mpi, 1, false, {}, {}};
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
  if (figures.empty())
    return fmt::format(
        "<p class=\"none\">No plot: no block length was measured at {} sizes or more.</p>\n",
        Charts::kLeastPoints);
  return row_of(figures);
}

/// A sentence about which messages of jobs take this way. Empty: all between nodes do.
std::string way_text(const Key& key, bool shared_measured) {
  if (key.by == "shared")
    return "Messages to ranks of the same node take this way where it is the faster one.";
  if (key.path == "net") return {};
  return shared_measured
             ? "Messages to ranks of the same node take this way where the two share no memory, or "
               "where it is faster than that."
             : "These messages were sent by MPI. Ranks of a node share memory instead, and this "
               "profile has no times of that way (<code>shared</code>).";
}

/// "Packed by Strake, 143 of 245 of these messages are faster …". A claim stands in bold where at
/// least half of the comparisons can be relied on.
std::string verdict(const Key& key, const Grid& grid, bool shared_measured) {
  const Mean all = mean_of(grid);
  const std::string why = all.doubt.empty() ? "their samples spread too far" : all.doubt;
  std::string text;
  if (all.count == 0) {
    text = fmt::format("All {} comparisons are doubtful: {}. Nothing follows from them.", all.all(),
                       escaped(why));
  } else {
    std::string words = words_of(key);
    words[0] = 'P';
    const bool claim = all.count >= all.doubts;
    text = fmt::format(
        "{}{}: {} of {} messages are faster than by {}. Geometric mean: {} times as fast.{}",
        claim ? "<b>" : "", words, all.faster, all.count, escaped(key.mpi),
        number_text(all.value()), claim ? "</b>" : "");
    std::string by_block;
    for (const auto& [block, line] : grid) {
      const Mean mean = mean_of({{block, line}});
      if (mean.count > 0)
        by_block += fmt::format("{}{}: {}", by_block.empty() ? "" : ", ",
                                bytes_text(static_cast<double>(block)), number_text(mean.value()));
    }
    text += fmt::format(" By block length: {}.", by_block);
    if (all.doubts > 0)
      text += fmt::format(" Not counted: {} of {} comparisons, which are doubtful ({}).",
                          all.doubts, all.all(), escaped(why));
  }
  const std::string way = way_text(key, shared_measured);
  return "<p>" + text + (way.empty() ? "" : " " + way) + "</p>\n";
}

std::string title_of(const Key& key) {
  std::string title = key.mpi + (key.path == "node" ? ", within a node" : ", between nodes");
  if (key.path == "node") title += key.by == "shared" ? ", by shared memory" : ", sent by MPI";
  return title + ", " + (key.layout == "box" ? name_of(key.pitch) : key.layout);
}

std::string part_of(const Shown& shown, std::size_t profile, const Key& key, const Grid& grid,
                    bool shared_measured, Charts& charts) {
  const std::string numbers = figures_of(shown, profile, key, grid, charts) +
                              "<p>How many times as fast, by block length and size of the "
                              "message:</p>\n" +
                              table_of(grid);
  return verdict(key, grid, shared_measured) +
         (mean_of(grid).count == 0 ? folded("The doubtful numbers", numbers) : numbers);
}

}  // namespace

std::string against_library(Profiles profiles, Charts& charts) {
  std::string body;
  std::string rest;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const auto grids = grids_of(profiles[i].profile);
    for (const auto& [key, grid] : grids) {
      Key by_shared = key;
      by_shared.by = "shared";
      const bool shared_measured = grids.contains(by_shared);
      // Each library begins with the way that its jobs take.
      const bool first = key.layout == "box" && key.pitch == PitchClass::Near &&
                         key.path == "node" && (key.by == "shared" || !shared_measured);
      const std::string title = title_of(key) + whose(profiles, profiles[i]);
      const std::string part = part_of(profiles[i], i, key, grid, shared_measured, charts);
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
                 "samples, cut at the plot's edge. Hollow points and question marks: doubtful, "
                 "and in no mean.",
                 body + rest);
}

}  // namespace strake::report
