#include <nlohmann/json.hpp>

#include "topo/show.hpp"

namespace strake::topo {
namespace {

using nlohmann::ordered_json;

/// A number, or null where it is not known.
ordered_json known(double value) { return value > 0 ? ordered_json(value) : ordered_json(); }

ordered_json gpu_json(const Gpu& gpu) {
  ordered_json json;
  json["index"] = gpu.index;
  json["name"] = gpu.name;
  json["uuid"] = gpu.uuid;
  json["pci"] = gpu.pci;
  json["node"] = gpu.node < 0 ? ordered_json() : ordered_json(gpu.node);
  json["memory_bytes"] = gpu.memory_bytes;
  json["pcie"] = {
      {"generation", gpu.pcie_generation},
      {"width", gpu.pcie_width},
      {"bytes_per_second", known(machine::pcie_rate(gpu.pcie_generation, gpu.pcie_width))}};
  json["nvlink"] = {{"links", gpu.nvlinks},
                    {"bytes_per_second_per_link", known(1e6 * gpu.nvlink_mbps)},
                    {"nvswitch", gpu.switched}};
  return json;
}

ordered_json link_json(const Topology& machine, const Link& link) {
  ordered_json json;
  json["from"] = machine.gpus[static_cast<std::size_t>(link.from)].index;
  json["to"] = machine.gpus[static_cast<std::size_t>(link.to)].index;
  json["kind"] = link.kind == LinkKind::NvLink ? "nvlink" : "pcie";
  json["name"] = name_of(link);
  if (link.kind == LinkKind::NvLink) {
    json["links"] = link.nvlinks;
    json["nvswitch"] = link.switched;
  }
  json["bytes_per_second"] = known(link.bytes_per_second);
  return json;
}

ordered_json measured_json(const View& view) {
  ordered_json json;
  json["profile"] = view.source.empty() ? ordered_json() : ordered_json(view.source);
  json["other_machine"] = view.other_machine;
  json["places"] = view.measured.places;
  auto rates = ordered_json::array();
  auto sizes = ordered_json::array();
  for (const auto& cells : view.measured.cells) {
    rates.push_back(ordered_json::array());
    sizes.push_back(ordered_json::array());
    for (const report::Bandwidth& cell : cells) {
      rates.back().push_back(known(cell.rate));
      sizes.back().push_back(cell.rate > 0 ? ordered_json(cell.bytes) : ordered_json());
    }
  }
  json["bytes_per_second"] = std::move(rates);
  json["bytes"] = std::move(sizes);
  return json;
}

}  // namespace

ordered_json to_json(const View& view) {
  const Topology& machine = view.machine;
  ordered_json json;
  json["host"] = machine.host;
  for (const char* list : {"sockets", "nodes", "caches", "gpus", "links", "nics"})
    json[list] = ordered_json::array();
  for (const Socket& socket : machine.sockets)
    json["sockets"].push_back({{"index", socket.index},
                               {"model", socket.model},
                               {"cores", socket.cores},
                               {"threads", socket.threads}});
  for (const NumaNode& node : machine.nodes)
    json["nodes"].push_back({{"index", node.index},
                             {"socket", node.socket},
                             {"memory_bytes", node.memory_bytes},
                             {"cores", node.cores},
                             {"threads", node.threads},
                             {"distances", node.distances}});
  for (const Cache& cache : machine.caches)
    json["caches"].push_back({{"level", cache.level},
                              {"kind", cache.kind},
                              {"bytes", cache.bytes},
                              {"count", cache.count},
                              {"line_bytes", cache.line_bytes},
                              {"threads", cache.threads}});
  for (const Gpu& gpu : machine.gpus) json["gpus"].push_back(gpu_json(gpu));
  for (const Link& link : machine.links) json["links"].push_back(link_json(machine, link));
  for (const Nic& nic : machine.nics)
    json["nics"].push_back({{"name", nic.name},
                            {"kind", nic.kind},
                            {"node", nic.node < 0 ? ordered_json() : ordered_json(nic.node)},
                            {"bytes_per_second", known(1e6 * static_cast<double>(nic.mbps) / 8)}});
  json["measured"] = measured_json(view);
  json["notes"] = machine.notes;
  return json;
}

}  // namespace strake::topo
