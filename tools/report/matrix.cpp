#include "report/matrix.hpp"

#include <algorithm>
#include <optional>
#include <regex>
#include <utility>

#include "report/profiles.hpp"

namespace strake::report {
namespace {

struct Between {
  std::string from;
  std::string to;
  int rank = 0;  ///< which of several results for the same pair is shown: the highest
};

/// Which two memories a result is about, by its name.
std::optional<Between> between(const std::string& name) {
  static const std::regex nodes("copy/numa/([0-9]{1,4})-([0-9]{1,4})/(cached|flushed)");
  static const std::regex peers("gpu/(peer|no-peer)/([0-9]{1,4})-([0-9]{1,4})(/push)?");
  static const std::regex to_gpu(
      "gpu/copy/pinned(?:-(node[0-9]{1,4}))?-to-device(?:/(gpu[0-9]{1,4}))?");
  static const std::regex to_host(
      "gpu/copy/device-to-pinned(?:-(node[0-9]{1,4}))?(?:/(gpu[0-9]{1,4}))?");
  std::smatch part;
  const auto or_else = [&](std::size_t i, const char* other) {
    return part[i].matched ? part.str(i) : std::string(other);
  };
  // Caches hide what lies between memories.
  if (std::regex_match(name, part, nodes))
    return Between{"node" + part.str(1), "node" + part.str(2), part.str(3) == "flushed" ? 3 : 2};
  if (name == "copy/cpu/flushed") return Between{"node0", "node0", 1};
  if (name == "copy/cpu/cached") return Between{"node0", "node0", 0};
  if (std::regex_match(name, part, peers)) {
    const int rank = part.str(1) == "no-peer" ? 0 : part.str(4) == "/push" ? 1 : 2;
    return Between{"gpu" + part.str(2), "gpu" + part.str(3), rank};
  }
  if (name == "gpu/copy/device-local") return Between{"gpu0", "gpu0", 0};
  // Without a number it is pinned memory near the GPU, and the first of these.
  if (std::regex_match(name, part, to_gpu))
    return Between{or_else(1, "pinned"), or_else(2, "gpu0"), 0};
  if (std::regex_match(name, part, to_host))
    return Between{or_else(2, "gpu0"), or_else(1, "pinned"), 0};
  return std::nullopt;
}

/// node0 … node9 node10 … pinned, gpu0 …
std::pair<int, int> order_of(const std::string& place) {
  const std::size_t digits = place.find_first_of("0123456789");
  const int number = digits == std::string::npos ? 0 : std::stoi(place.substr(digits));
  return {place[0] == 'n' ? 0 : place[0] == 'p' ? 1 : 2, number};
}

}  // namespace

std::size_t BandwidthMatrix::place(const std::string& name) {
  const auto found = std::find(places.begin(), places.end(), name);
  if (found != places.end()) return static_cast<std::size_t>(found - places.begin());
  places.push_back(name);
  for (auto& row : cells) row.resize(places.size());
  cells.emplace_back(places.size());
  return places.size() - 1;
}

const Bandwidth* BandwidthMatrix::find(const std::string& from, const std::string& to) const {
  const auto row = std::find(places.begin(), places.end(), from);
  const auto column = std::find(places.begin(), places.end(), to);
  if (row == places.end() || column == places.end()) return nullptr;
  const Bandwidth& cell = cells[static_cast<std::size_t>(row - places.begin())]
                               [static_cast<std::size_t>(column - places.begin())];
  return cell.rate > 0 ? &cell : nullptr;
}

bool BandwidthMatrix::any() const noexcept {
  for (const auto& row : cells)
    for (const Bandwidth& cell : row)
      if (cell.rate > 0) return true;
  return false;
}

BandwidthMatrix matrix_of(const machine::Profile& profile, const std::vector<std::string>& places) {
  std::vector<std::string> all = places;
  for (const machine::Result& result : profile.results) {
    const auto pair = between(result.name);
    if (!pair) continue;
    for (const std::string& place : {pair->from, pair->to})
      if (std::find(all.begin(), all.end(), place) == all.end()) all.push_back(place);
  }
  std::stable_sort(all.begin(), all.end(), [](const std::string& a, const std::string& b) {
    return order_of(a) < order_of(b);
  });
  BandwidthMatrix matrix;
  for (const std::string& place : all) matrix.place(place);
  std::vector<std::vector<int>> ranks(all.size(), std::vector<int>(all.size(), -1));
  for (const machine::Result& result : profile.results) {
    const auto pair = between(result.name);
    if (!pair || result.bytes == 0 || result.median <= 0) continue;
    const std::size_t row = matrix.place(pair->from);
    const std::size_t column = matrix.place(pair->to);
    Bandwidth& cell = matrix.cells[row][column];
    int& rank = ranks[row][column];
    if (std::pair(pair->rank, result.bytes) <= std::pair(rank, cell.bytes)) continue;
    rank = pair->rank;
    cell = {static_cast<double>(result.bytes) / result.median, result.limit, result.bytes,
            result.name, doubtful(result)};
  }
  return matrix;
}

}  // namespace strake::report
