#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "command/wrap.hpp"
#include "report/one_size.hpp"
#include "report/units.hpp"
#include "settings/counted.hpp"
#include "text_table.hpp"
#include "topo/show.hpp"

namespace strake::topo {
namespace {

using report::bytes_text;
using report::rate_text;

using Row = TextTable::Row;

/// A title, the rows, the first of them the headings, and an empty line. Nothing where there are no
/// rows but the headings.
std::string table(const std::string& title, std::vector<Row> rows) {
  TextTable made{std::vector<TextTable::Column>(rows[0].size())};
  for (Row& row : rows) made.add(std::move(row));
  if (!made.has_entries()) return {};
  return title + "\n" + made.text_within(command::kColumns) + "\n";
}

std::string sockets(const Topology& machine) {
  std::vector<Row> rows = {{"socket", "cores", "threads", "model"}};
  for (const Socket& socket : machine.sockets)
    rows.push_back({std::to_string(socket.index), std::to_string(socket.cores),
                    std::to_string(socket.threads), socket.model});
  return table("Sockets", std::move(rows));
}

std::string nodes(const Topology& machine) {
  std::vector<Row> rows = {{"node", "socket", "memory", "cores", "threads", "distances"}};
  for (const NumaNode& node : machine.nodes)
    rows.push_back({std::to_string(node.index), std::to_string(node.socket),
                    bytes_text(static_cast<double>(node.memory_bytes)), std::to_string(node.cores),
                    node.threads, fmt::format("{}", fmt::join(node.distances, " "))});
  return table("NUMA nodes (distance 10: a node to itself)", std::move(rows));
}

std::string caches(const Topology& machine) {
  std::vector<Row> rows = {{"cache", "kind", "size", "number", "shared by", "line"}};
  for (const Cache& cache : machine.caches)
    rows.push_back({fmt::format("L{}", cache.level), cache.kind,
                    bytes_text(static_cast<double>(cache.bytes)), std::to_string(cache.count),
                    counted(cache.threads, "thread"),
                    cache.line_bytes > 0 ? bytes_text(cache.line_bytes) : ""});
  return table("Caches", std::move(rows));
}

std::string gpus(const Topology& machine) {
  std::vector<Row> rows = {{"GPU", "name", "memory", "PCI", "node", "to the host", "NVLink"}};
  for (const Gpu& gpu : machine.gpus) {
    const double rate = machine::pcie_rate(gpu.pcie_generation, gpu.pcie_width);
    std::string nvlink = "-";
    if (gpu.nvlinks > 0) {
      nvlink = std::to_string(gpu.nvlinks);
      if (gpu.nvlink_mbps > 0) nvlink += " x " + rate_text(1e6 * gpu.nvlink_mbps);
      if (gpu.switched) nvlink += ", NVSwitch";
    }
    rows.push_back({std::to_string(gpu.index), gpu.name,
                    bytes_text(static_cast<double>(gpu.memory_bytes)), gpu.pci,
                    gpu.node < 0 ? "?" : std::to_string(gpu.node),
                    pcie_text(gpu) + (rate > 0 ? ", " + rate_text(rate) : ""), nvlink});
  }
  return table("GPUs (rates: what a link allows one way)", std::move(rows));
}

std::string links(const Topology& machine) {
  if (machine.gpus.size() < 2) return {};
  std::vector<Row> rows(1, Row{""});
  for (const Gpu& gpu : machine.gpus) rows[0].push_back(fmt::format("gpu{}", gpu.index));
  for (std::size_t from = 0; from < machine.gpus.size(); ++from) {
    rows.push_back({fmt::format("gpu{}", machine.gpus[from].index)});
    for (std::size_t to = 0; to < machine.gpus.size(); ++to) {
      const Link* link = link_between(machine, static_cast<int>(from), static_cast<int>(to));
      std::string cell = "-";
      if (link != nullptr) {
        cell = name_of(*link);
        if (link->bytes_per_second > 0) cell += " " + rate_text(link->bytes_per_second);
      }
      rows.back().push_back(cell);
    }
  }
  return table(
      "Links between GPUs (what each allows one way)\n"
      "  NVn: n NVLinks; over PCIe through PIX: one switch, PXB: several, PHB: a host\n"
      "  bridge, NODE: bridges of one NUMA node, SYS: between sockets",
      std::move(rows));
}

std::string nics(const Topology& machine) {
  std::vector<Row> rows = {{"NIC", "kind", "rate", "node"}};
  for (const Nic& nic : machine.nics)
    rows.push_back(
        {nic.name, nic.kind, nic_rate_text(nic), nic.node < 0 ? "?" : std::to_string(nic.node)});
  return table("NICs that are up (rates: nominal, one way)", std::move(rows));
}

std::string measured(const View& view) {
  if (!view.measured.any()) return {};
  std::vector<Row> rows(1, Row{"from \\ to"});
  for (const std::string& place : view.measured.places) rows[0].push_back(place);
  for (std::size_t from = 0; from < view.measured.places.size(); ++from) {
    rows.push_back({view.measured.places[from]});
    for (const report::Bandwidth& cell : view.measured.cells[from])
      rows.back().push_back(cell.rate > 0 ? report::number_text(cell.rate / 1e9) : "");
  }
  std::string title = "Measured bandwidth [GB/s] (blank: not measured)";
  if (const std::string source = source_text(view); !source.empty()) title += "\n  from " + source;
  return table(title + "\n  copies of " + report::sizes_text(view.measured), std::move(rows));
}

}  // namespace

std::string source_text(const View& view) {
  if (view.other_machine)
    return "the profile of another machine" + (view.source.empty() ? "" : ": " + view.source);
  return view.source.empty() ? "" : "the profile of " + view.source;
}

std::string nic_rate_text(const Nic& nic) {
  if (nic.mbps <= 0) return "?";
  const double mbps = static_cast<double>(nic.mbps);
  return nic.mbps < 1000 ? fmt::format("{} Mb/s", nic.mbps) : fmt::format("{:g} Gb/s", mbps / 1e3);
}

std::string nics_text(const std::vector<Nic>& nics) {
  std::vector<std::pair<const Nic*, int>> kinds;  // the first of each kind and rate, and how many
  for (const Nic& nic : nics) {
    auto found = kinds.begin();
    while (found != kinds.end() &&
           (found->first->kind != nic.kind || found->first->mbps != nic.mbps))
      ++found;
    if (found == kinds.end()) found = kinds.insert(kinds.end(), {&nic, 0});
    ++found->second;
  }
  std::string text;
  for (const auto& [nic, count] : kinds)
    text += (text.empty() ? "" : ", ") + counted(count, nic->kind + " port") + " of " +
            (nic->mbps > 0 ? nic_rate_text(*nic) : "unknown rate");
  return text;
}

std::string pcie_text(const Gpu& gpu) {
  if (gpu.pcie_generation <= 0 || gpu.pcie_width <= 0) return {};
  return fmt::format("PCIe {} x{}", gpu.pcie_generation, gpu.pcie_width);
}

std::string to_text(const View& view) {
  const Topology& machine = view.machine;
  std::string text = machine.host.empty() ? "" : fmt::format("Host {}\n\n", machine.host);
  text += sockets(machine) + nodes(machine) + caches(machine) + gpus(machine) + links(machine) +
          nics(machine) + measured(view);
  for (const std::string& note : machine.notes)
    text += command::wrapped(fmt::format("Note: {}.", note), 6, 0) + "\n";
  if (text.size() > 1 && text.ends_with("\n\n")) text.pop_back();
  return text;
}

}  // namespace strake::topo
