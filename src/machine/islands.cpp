#include "machine/islands.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "machine/profile_state.hpp"
#include "settings/settings.hpp"

namespace strake::machine {
namespace {

using Pair = std::pair<int, int>;
/// By bytes. [bytes/s]
using Rates = std::map<std::int64_t, double>;

/// A pair from the rest of a result's name, "0-1"; nothing: it is no such name.
std::optional<Pair> pair_of(std::string_view text) {
  constexpr int kMost = 9999;
  const std::string copy(text);
  Pair made{};
  int end = 0;
  if (std::sscanf(copy.c_str(), "%4d-%4d%n", &made.first, &made.second, &end) != 2 ||
      end != static_cast<int>(copy.size()) || std::min(made.first, made.second) < 0 ||
      std::max(made.first, made.second) > kMost)
    return std::nullopt;
  return made;
}

/// The rates of each pair in the results called PREFIX + "I-J" + SUFFIX.
std::map<Pair, Rates> rates_of(const Profile& profile, std::string_view prefix,
                               std::string_view suffix) {
  std::map<Pair, Rates> rates;
  for (const Result& result : profile.results) {
    std::string_view name = result.name;
    if (!name.starts_with(prefix) || !name.ends_with(suffix) || !(result.median > 0)) continue;
    if (name.size() < prefix.size() + suffix.size() || !result.doubtful.empty()) continue;
    name.remove_prefix(prefix.size());
    name.remove_suffix(suffix.size());
    const auto pair = pair_of(name);
    if (pair) rates[*pair][result.bytes] = static_cast<double>(result.bytes) / result.median;
  }
  return rates;
}

/// \param with_itself  whether the rate from one to itself counts
std::map<int, int> islands_by(const std::map<Pair, Rates>& rates, bool with_itself) {
  std::set<int> all;
  for (const auto& [pair, by_bytes] : rates) all.insert({pair.first, pair.second});
  std::vector<Pair> pairs;
  for (const int from : all)
    for (const int to : all)
      if (from != to || with_itself) pairs.emplace_back(from, to);
  if (pairs.empty() || !rates.contains(pairs.front())) return {};
  const auto has = [&](std::int64_t bytes) {
    return std::ranges::all_of(pairs, [&](const Pair& pair) {
      const auto found = rates.find(pair);
      return found != rates.end() && found->second.contains(bytes);
    });
  };
  std::int64_t size = -1;
  for (const auto& [bytes, rate] : rates.at(pairs.front()))
    if (has(bytes)) size = bytes;
  if (size < 0) return {};
  const auto rate = [&](int from, int to) { return rates.at({from, to}).at(size); };
  double best = 0;
  for (const auto& [from, to] : pairs) best = std::max(best, rate(from, to));

  std::map<int, int> island_of;
  for (const int one : all) island_of[one] = one;
  constexpr double kAlike = 0.8;
  for (const auto& [from, to] : pairs) {
    if (from >= to || std::min(rate(from, to), rate(to, from)) < kAlike * best) continue;
    const int kept = std::min(island_of[from], island_of[to]);
    const int joined = std::max(island_of[from], island_of[to]);
    for (auto& [one, island] : island_of) island = island == joined ? kept : island;
  }
  std::map<int, int> numbers;
  for (auto& [one, island] : island_of)
    island = numbers.try_emplace(island, static_cast<int>(numbers.size())).first->second;
  return numbers.size() > 1 ? island_of : std::map<int, int>();
}

/// A set of processors, as large as any kernel has.
struct Processors {
  static constexpr std::size_t kMost = 1 << 14;
  std::array<cpu_set_t, kMost / CPU_SETSIZE> sets{};
};

/// Whether a list of the kernel's, "0-15,32-47", has any of these.
bool has_any(const std::string& list, const Processors& mine) {
  const char* at = list.c_str();
  int first = 0;
  for (int read = 0; std::sscanf(at, "%d%n", &first, &read) == 1; ++at) {
    at += read;
    int last = first;
    if (*at == '-' && std::sscanf(at + 1, "%d%n", &last, &read) == 1) at += 1 + read;
    for (int cpu = std::max(first, 0); cpu <= last; ++cpu)
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), sizeof(mine.sets), mine.sets.data()) != 0)
        return true;
    if (*at != ',') break;
  }
  return false;
}

/// Whether this machine has several NUMA nodes with processors.
bool has_several_nodes() {
  std::ifstream file("/sys/devices/system/node/has_cpu");
  std::string list;
  return std::getline(file, list) && list.find_first_of("-,") != std::string::npos;
}

/// The device's number among all of its node; negative: not known.
int number_on_node(int device, int devices, int all) {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) return devices == all ? device : -1;
  std::istringstream list(visible);
  int number = 0;
  char comma = ',';
  for (int i = 0; comma == ',' && list >> number; ++i, list >> comma)
    if (i == device) return number;
  return -1;
}

const Islands& islands_here() {
  static const Islands here = [] {
    const Profile* const profile = this_machine();
    return profile == nullptr ? Islands() : islands_of(*profile);
  }();
  return here;
}

}  // namespace

Islands islands_of(const Profile& profile) {
  std::map<Pair, Rates> hosts = rates_of(profile, "copy/numa/", "/flushed");
  if (hosts.empty()) hosts = rates_of(profile, "copy/numa/", "/cached");
  std::map<Pair, Rates> gpus = rates_of(profile, "gpu/peer/", "");
  gpus.merge(rates_of(profile, "gpu/no-peer/", ""));
  return {islands_by(hosts, true), islands_by(gpus, false)};
}

std::vector<int> own_numa_nodes(const std::string& sysfs) {
  Processors mine;
  std::vector<int> found;
  if (sched_getaffinity(0, sizeof(mine.sets), mine.sets.data()) != 0) return found;
  constexpr int kMost = 1024;
  for (int node = 0; node < kMost; ++node) {
    std::ifstream file(fmt::format("{}/devices/system/node/node{}/cpulist", sysfs, node));
    std::string list;
    if (std::getline(file, list) && has_any(list, mine)) found.push_back(node);
  }
  return found;
}

int own_island(int rank) noexcept {
  try {
    const auto pretended = static_cast<int>(settings::number(settings::Id::ranks_per_island));
    if (pretended > 0) return rank / pretended;
    if (!has_several_nodes()) return 0;
    const std::map<int, int>& islands = islands_here().of_numa_node;
    std::set<int> mine;
    if (islands.empty()) return 0;
    for (const int number : own_numa_nodes()) {
      const auto found = islands.find(number);
      mine.insert(found == islands.end() ? -1 : found->second);
    }
    return mine.size() == 1 ? *mine.begin() : -1;
  } catch (const std::exception&) {
    return 0;
  }
}

int island_of_gpu(int device, int devices) noexcept {
  try {
    constexpr int kFirst = 1 << 16;  // beyond the islands of host memory
    const std::map<int, int>& islands = islands_here().of_gpu;
    const auto found =
        islands.find(number_on_node(device, devices, static_cast<int>(islands.size())));
    return found == islands.end() ? 0 : kFirst + found->second;
  } catch (const std::exception&) {
    return 0;
  }
}

}  // namespace strake::machine
