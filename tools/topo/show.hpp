/// \file  Shows the topology of a machine and its measured bandwidths: as text, JSON, or a drawing.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "machine/topology.hpp"
#include "report/matrix.hpp"

namespace strake::topo {

using machine::Cache;
using machine::Gpu;
using machine::Link;
using machine::LinkKind;
using machine::Nic;
using machine::NumaNode;
using machine::Socket;
using machine::Topology;

/// The machine, the measured bandwidths, and the profile that they are from.
struct View {
  Topology machine;
  report::BandwidthMatrix measured;  ///< rows and columns: every node and GPU, and more
  std::string source;                ///< "host, date" of the profile; empty: there is none
  bool other_machine = false;        ///< its key is not this machine's
};

[[nodiscard]] std::string to_text(const View& view);
[[nodiscard]] nlohmann::ordered_json to_json(const View& view);
/// A whole SVG file.
[[nodiscard]] std::string to_svg(const View& view);

/// "the profile of HOST, DATE"; says so where it is another machine's. Empty: there is none
[[nodiscard]] std::string source_text(const View& view);

/// "400 Gb/s"; "?" if the rate is not known
[[nodiscard]] std::string nic_rate_text(const Nic& nic);
/// "8 InfiniBand ports of 400 Gb/s, 1 Ethernet port of 10 Gb/s"; empty if there are none
[[nodiscard]] std::string nics_text(const std::vector<Nic>& nics);

/// "PCIe 5 x16", or empty
[[nodiscard]] std::string pcie_text(const Gpu& gpu);

}  // namespace strake::topo
