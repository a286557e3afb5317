#include "machine/islands.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "machine/profile_state.hpp"
#include "settings/settings.hpp"

namespace strake::machine {
namespace {

using Pair = std::pair<int, int>;

/// A pair from the rest of a result's name, "0-1"; nothing: it is no such name.
std::optional<Pair> pair_of(std::string_view text) {
  const std::string copy(text);
  Pair made{};
  int end = 0;
  if (std::sscanf(copy.c_str(), "%d-%d%n", &made.first, &made.second, &end) != 2 ||
      end != static_cast<int>(copy.size()))
    return std::nullopt;
  return made;
}

/// The rate of each pair in the results called PREFIX + "I-J" + SUFFIX, each at its most bytes.
/// [bytes/s]
std::map<Pair, double> rates_of(const Profile& profile, std::string_view prefix,
                                std::string_view suffix) {
  std::map<Pair, double> rates;
  std::map<Pair, std::int64_t> bytes;
  for (const Result& result : profile.results) {
    std::string_view name = result.name;
    if (!name.starts_with(prefix) || !name.ends_with(suffix) || !(result.median > 0)) continue;
    if (name.size() < prefix.size() + suffix.size() || !result.doubtful.empty()) continue;
    name.remove_prefix(prefix.size());
    name.remove_suffix(suffix.size());
    const auto pair = pair_of(name);
    if (!pair || result.bytes <= bytes[*pair]) continue;
    bytes[*pair] = result.bytes;
    rates[*pair] = static_cast<double>(result.bytes) / result.median;
  }
  return rates;
}

/// \param with_itself  whether the rate from one to itself counts
std::vector<int> islands_by(const std::map<Pair, double>& rates, bool with_itself) {
  int count = 0;
  double best = 0;
  for (const auto& [pair, rate] : rates) {
    count = std::max({count, pair.first + 1, pair.second + 1});
    if (with_itself || pair.first != pair.second) best = std::max(best, rate);
  }
  std::vector<int> island_of(static_cast<std::size_t>(count));
  std::iota(island_of.begin(), island_of.end(), 0);
  constexpr double kAlike = 0.8;
  for (int a = 0; a < count; ++a) {
    for (int b = a + 1; b < count; ++b) {
      const auto there = rates.find({a, b});
      const auto back = rates.find({b, a});
      if (there == rates.end() || back == rates.end()) return {};
      if (std::min(there->second, back->second) < kAlike * best) continue;
      const int joined = island_of[static_cast<std::size_t>(a)];
      const int other = island_of[static_cast<std::size_t>(b)];
      std::ranges::replace(island_of, std::max(joined, other), std::min(joined, other));
    }
  }
  std::map<int, int> numbers;
  for (int& island : island_of)
    island = numbers.try_emplace(island, static_cast<int>(numbers.size())).first->second;
  return numbers.size() > 1 ? island_of : std::vector<int>();
}

/// Whether a list of the kernel's, "0-15,32-47", has any processor of `mine`, and all of them.
struct Overlap {
  bool any = false;
  bool all = true;
};
Overlap overlap_of(const std::string& list, const cpu_set_t& mine) {
  cpu_set_t listed;
  CPU_ZERO(&listed);
  const char* at = list.c_str();
  int first = 0;
  for (int read = 0; std::sscanf(at, "%d%n", &first, &read) == 1; ++at) {
    at += read;
    int last = first;
    if (*at == '-' && std::sscanf(at + 1, "%d%n", &last, &read) == 1) at += 1 + read;
    for (int cpu = first; cpu <= last && cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &listed);
    if (*at != ',') break;
  }
  cpu_set_t both;
  CPU_AND(&both, &listed, &mine);
  return {CPU_COUNT(&both) > 0, CPU_EQUAL(&both, &mine) != 0};
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
  std::map<Pair, double> hosts = rates_of(profile, "copy/numa/", "/flushed");
  if (hosts.empty()) hosts = rates_of(profile, "copy/numa/", "/cached");
  std::map<Pair, double> gpus = rates_of(profile, "gpu/peer/", "");
  gpus.merge(rates_of(profile, "gpu/no-peer/", ""));
  return {islands_by(hosts, true), islands_by(gpus, false)};
}

std::optional<int> own_numa_node() noexcept {
  try {
    cpu_set_t mine;
    if (sched_getaffinity(0, sizeof(mine), &mine) != 0) return std::nullopt;
    constexpr int kMost = 1024;
    for (int node = 0; node < kMost; ++node) {
      std::ifstream file(fmt::format("/sys/devices/system/node/node{}/cpulist", node));
      std::string list;
      if (!std::getline(file, list)) continue;
      const Overlap overlap = overlap_of(list, mine);
      if (overlap.any) return overlap.all ? std::optional(node) : std::nullopt;
    }
  } catch (const std::exception&) {
    // The kernel did not say.
  }
  return std::nullopt;
}

int own_island(int rank) noexcept {
  try {
    const auto pretended = static_cast<int>(settings::number(settings::Id::ranks_per_island));
    if (pretended > 0) return rank / pretended;
    if (access("/sys/devices/system/node/node1", F_OK) != 0) return 0;
    const std::vector<int>& islands = islands_here().of_numa_node;
    if (islands.empty()) return 0;
    const std::optional<int> node = own_numa_node();
    if (!node || *node >= static_cast<int>(islands.size())) return -1;
    return islands[static_cast<std::size_t>(*node)];
  } catch (const std::exception&) {
    return 0;
  }
}

int island_of_gpu(int device, int devices) noexcept {
  try {
    const std::vector<int>& islands = islands_here().of_gpu;
    return static_cast<int>(islands.size()) == devices && device >= 0 && device < devices
               ? islands[static_cast<std::size_t>(device)]
               : 0;
  } catch (const std::exception&) {
    return 0;
  }
}

}  // namespace strake::machine
