#include "topo/machine_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "report/units.hpp"
#include "settings/counted.hpp"
#include "strake/error.hpp"

namespace strake::topo {
namespace {

using FileJson = nlohmann::ordered_json;

/// Places with one memory: a GPU, or the cores of a NUMA node.
struct Group {
  std::string memory;  ///< as in View::measured
  int places = 1;
};

/// From a place of one group to a place of another, or of its own.
struct Rates {
  std::vector<std::vector<double>> gbs;  ///< [GB/s]
  std::string source;
};

/// GB/s to a MB/s: no measurement is more exact.
double gbs_of(double bytes_per_second) { return std::round(bytes_per_second / 1e6) / 1e3; }

/// Reads "0-15,32-47".
std::set<int> threads_of(const std::string& list) {
  std::set<int> threads;
  std::istringstream text(list);
  for (int first = 0; text >> first; text.ignore(1)) {
    int last = first;
    if (text.peek() == '-') text.ignore(1) >> last;
    for (int thread = first; thread <= last; ++thread) threads.insert(thread);
  }
  return threads;
}

/// NUMA nodes with cores of their own. hwloc gives a node of memory alone, whose number is higher,
/// the cores near it: the cores of another node.
std::vector<Group> core_groups(const Topology& machine) {
  std::vector<NumaNode> nodes = machine.nodes;
  std::ranges::sort(nodes, {}, &NumaNode::index);
  std::vector<Group> groups;
  std::set<int> taken;
  for (const NumaNode& node : nodes) {
    const std::set<int> threads = threads_of(node.threads);
    const auto is_taken = [&taken](int thread) { return taken.contains(thread); };
    if (node.cores == 0 || std::ranges::any_of(threads, is_taken)) continue;
    taken.insert(threads.begin(), threads.end());
    groups.push_back({fmt::format("node{}", node.index), node.cores});
  }
  return groups;
}

std::vector<Group> groups_of(const Topology& machine) {
  std::vector<Group> groups;
  for (const Gpu& gpu : machine.gpus) groups.push_back({fmt::format("gpu{}", gpu.index), 1});
  return machine.gpus.empty() ? core_groups(machine) : groups;
}

/// Rates from the profile; none if it lacks a pair.
std::optional<Rates> measured_rates(const View& view, const std::vector<Group>& groups) {
  Rates rates;
  std::set<std::int64_t> sizes;
  int doubtful = 0;
  for (const Group& from : groups) {
    rates.gbs.emplace_back();
    for (const Group& to : groups) {
      const bool is_place = &from == &to && from.places == 1;  // sends itself nothing
      const report::Bandwidth* cell = view.measured.find(from.memory, to.memory);
      if (!is_place && cell == nullptr) return std::nullopt;
      rates.gbs.back().push_back(is_place ? 0 : gbs_of(cell->rate));
      if (is_place) continue;
      sizes.insert(cell->bytes);
      doubtful += cell->doubtful ? 1 : 0;
    }
  }
  rates.source = fmt::format(
      "Measured: copies of {}{}, one at a time; {}",
      sizes.size() == 1 ? report::bytes_text(static_cast<double>(*sizes.begin())) : "several sizes",
      view.machine.gpus.empty() ? " by one core" : "", source_text(view));
  if (doubtful > 0) rates.source += "; " + counted(doubtful, "result") + " in doubt";
  return rates;
}

Rates nominal_rates(const Topology& machine) {
  const std::size_t gpus = machine.gpus.size();
  Rates rates;
  rates.gbs.assign(gpus, std::vector<double>(gpus));
  for (const Link& link : machine.links) {
    const auto from = static_cast<std::size_t>(link.from);
    const auto to = static_cast<std::size_t>(link.to);
    if (link.bytes_per_second <= 0)
      throw Error(
          fmt::format("the rate of the link from GPU {} to GPU {} is not known: `strake "
                      "measure` measures it",
                      machine.gpus[from].index, machine.gpus[to].index));
    rates.gbs[from][to] = rates.gbs[to][from] = gbs_of(link.bytes_per_second);
  }
  rates.source = "Nominal, by NVML, not measured: what the links allow one way";
  return rates;
}

Rates rates_between(const View& view, const std::vector<Group>& groups) {
  if (groups.empty())
    throw Error(fmt::format("a machine file needs GPUs or cores, and neither is known: {}",
                            fmt::join(view.machine.notes, "; ")));
  if (groups.size() == 1 && groups[0].places == 1) return {{{0}}, "There is one place a node"};
  if (auto rates = measured_rates(view, groups)) return *rates;
  if (!view.machine.gpus.empty()) return nominal_rates(view.machine);
  throw Error(
      "a machine file needs the bandwidths of and between the memories of this machine's NUMA "
      "nodes, "
      "and no profile has all of them: measure them (strake measure --filter '^copy/')");
}

/// Two rates and the cores of each NUMA node, or a matrix where more rates differ.
FileJson between_json(const Rates& rates, const std::vector<Group>& groups) {
  std::set<double> within;
  std::set<double> across;
  auto blocks = FileJson::array();
  for (std::size_t from = 0; from < groups.size(); ++from) {
    blocks.push_back(groups[from].places);
    for (std::size_t to = 0; to < groups.size(); ++to)
      (from == to ? within : across).insert(rates.gbs[from][to]);
  }
  const bool is_blocks =
      std::ranges::any_of(groups, [](const Group& group) { return group.places > 1; });
  if (is_blocks && within.size() == 1 && across.size() <= 1) {
    FileJson json = {{"blocks", blocks}, {"within", *within.begin()}};
    if (!across.empty()) json["across"] = *across.begin();
    return json;
  }
  auto matrix = FileJson::array();
  for (std::size_t from = 0; from < groups.size(); ++from) {
    std::vector<double> row;
    for (std::size_t to = 0; to < groups.size(); ++to)
      row.insert(row.end(), static_cast<std::size_t>(groups[to].places), rates.gbs[from][to]);
    for (int place = 0; place < groups[from].places; ++place) matrix.push_back(row);
  }
  return matrix;
}

bool all_links(const Topology& machine, bool (*is_so)(const Link&)) {
  return !machine.links.empty() && std::ranges::all_of(machine.links, is_so);
}

bool is_by_switches(const Link& link) { return link.kind == LinkKind::NvLink && link.switched; }

/// Adds the link that all transfers of a GPU share: its NVLinks to the switches, or its slot. Other
/// GPUs have a link for each pair.
void add_gpu_links(FileJson& file, const Topology& machine) {
  const bool by_switches = all_links(machine, is_by_switches);
  const bool by_slots =
      all_links(machine, [](const Link& link) { return link.kind == LinkKind::Pcie; });
  double rate = 0;  // of the fastest, so that no bound is too high
  for (const Gpu& gpu : machine.gpus)
    rate = std::max(rate, by_switches ? 1e6 * gpu.nvlinks * gpu.nvlink_mbps
                                      : machine::pcie_rate(gpu.pcie_generation, gpu.pcie_width));
  if ((by_switches || by_slots) && rate > 0)
    file["port"] = {
        {"name", by_switches ? "NVLink" : "PCIe"},
        {"gbs", gbs_of(rate)},
        {"source",
         std::string("Nominal, by NVML, not measured: all that a GPU sends to the others, "
                     "or gets, shares its ") +
             (by_switches ? "NVLinks to the NVSwitches" : "slot")}};
  else if (machine.gpus.size() > 1)
    file["pairs_are_links"] = true;
}

FileJson leaving_json(const Topology& machine, std::optional<double> nic_gbs) {
  if (nic_gbs)
    return {{"name", fmt::format("NICs of {} GB/s", *nic_gbs)},
            {"gbs", *nic_gbs},
            {"latency_us", 0},
            {"source", "--nic-gbs of strake topo. Latency: not known, so none is added"}};
  std::vector<Nic> used;
  for (const char* kind : {"InfiniBand", "Ethernet"})
    if (used.empty())
      std::ranges::copy_if(machine.nics, std::back_inserter(used),
                           [kind](const Nic& nic) { return nic.kind == kind && nic.mbps > 0; });
  if (used.empty())
    throw Error(fmt::format(
        "a machine file needs what the NICs of a node carry, and {}: give it by --nic-gbs GBS",
        machine.nics.empty() ? "none is up here" : "the rates of those here are not known"));
  std::int64_t mbps = 0;
  std::vector<std::string> names;
  for (const Nic& nic : used) {
    mbps += nic.mbps;
    names.push_back(nic.name);
  }
  constexpr double kMbpsOfGBs = 8000;
  return {{"name", nics_text(used)},
          {"gbs", static_cast<double>(mbps) / kMbpsOfGBs},
          {"latency_us", 0},
          {"source", fmt::format("Nominal, by /sys/class, not measured: {}. Latency: not known, so "
                                 "none is added",
                                 fmt::join(names, ", "))}};
}

/// "2 Xeon Platinum 8380", by model in the order of the machine.
std::string models_text(const std::vector<std::string>& models) {
  std::vector<std::string> texts;
  std::set<std::string> seen;
  for (const std::string& model : models)
    if (!model.empty() && seen.insert(model).second)
      texts.push_back(fmt::format("{} {}", std::ranges::count(models, model), model));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string title_of(const Topology& machine, int places) {
  std::vector<std::string> models;
  for (const Gpu& gpu : machine.gpus) models.push_back(gpu.name);
  if (!models.empty())
    return (models_text(models).empty() ? counted(places, "GPU") : models_text(models)) +
           (all_links(machine, is_by_switches) ? " behind NVSwitches" : "");
  for (const Socket& socket : machine.sockets) models.push_back(socket.model);
  const std::string text = models_text(models);
  return counted(places, "core") + (text.empty() ? "" : " of " + text);
}

/// JSON with a line for each row of the matrix.
std::string file_text(const FileJson& file) {
  std::vector<std::string> members;
  for (const auto& [key, value] : file.items()) {
    std::string text;
    if (key == "between_gbs" && value.is_array()) {
      std::vector<std::string> rows;
      for (const FileJson& row : value)
        rows.push_back(fmt::format("    [{}]", fmt::join(row.get<std::vector<double>>(), ", ")));
      text = fmt::format("[\n{}\n  ]", fmt::join(rows, ",\n"));
    } else {
      for (const char letter : value.dump(2)) text += letter == '\n' ? "\n  " : std::string{letter};
    }
    members.push_back(fmt::format("  {}: {}", FileJson(key).dump(), text));
  }
  return fmt::format("{{\n{}\n}}\n", fmt::join(members, ",\n"));
}

}  // namespace

std::string to_machine_file(const View& view, std::optional<double> nic_gbs) {
  const Topology& machine = view.machine;
  const std::vector<Group> groups = groups_of(machine);
  const Rates rates = rates_between(view, groups);
  const FileJson leaving = leaving_json(machine, nic_gbs);
  int places = 0;
  for (const Group& group : groups) places += group.places;
  FileJson file;
  file["name"] = machine.host.empty() ? "here" : machine.host;
  file["title"] =
      fmt::format("{}, {}", title_of(machine, places), leaving["name"].get<std::string>());
  file["places"] = machine.gpus.empty() ? "cores" : "GPUs";
  file["places_per_node"] = places;
  file["nodes_per_domain"] = 1;
  file["between_gbs"] = between_json(rates, groups);
  file["between_source"] = rates.source;
  if (!machine.gpus.empty()) add_gpu_links(file, machine);
  file["shared"] = FileJson::array();
  file["leaving"] = leaving;
  return file_text(file);
}

}  // namespace strake::topo
