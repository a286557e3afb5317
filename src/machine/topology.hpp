/// \file  The parts of a machine and the links between them, as plain values; hwloc, NVML and
/// sysfs fill them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/pcie.hpp"

namespace strake::machine {

struct Socket {
  int index = 0;  ///< as hwloc counts them
  std::string model;
  int cores = 0;
  int threads = 0;
};

struct NumaNode {
  int index = 0;   ///< the operating system's number, as numactl takes it
  int socket = 0;  ///< index of its socket; the first where it spans several
  std::int64_t memory_bytes = 0;
  int cores = 0;
  std::string threads;         ///< "0-15,32-47"
  std::vector<int> distances;  ///< to each node, in the order of Topology::nodes; 10: itself
};

/// Caches of one kind, all alike.
struct Cache {
  int level = 0;
  std::string kind;  ///< "data", "instruction", "unified"
  std::int64_t bytes = 0;
  int count = 0;
  int line_bytes = 0;
  int threads = 0;  ///< that share one
};

struct Gpu {
  int index = 0;  ///< NVML's, in PCI order
  std::string name;
  std::string uuid;
  std::string pci;  ///< "0000:18:00.0"
  int node = -1;    ///< NUMA node (its number); -1: not known
  std::int64_t memory_bytes = 0;
  int pcie_generation = 0;  ///< the most that GPU and slot can do; 0: not known
  int pcie_width = 0;
  int nvlinks = 0;        ///< active
  int nvlink_mbps = 0;    ///< of one NVLink, one way [10^6 bytes/s]; 0: not known
  bool switched = false;  ///< its NVLinks end in NVSwitches
};

enum class LinkKind : std::uint8_t { NvLink, Pcie };

/// The best way between two GPUs.
struct Link {
  int from = 0;  ///< positions in Topology::gpus, from < to
  int to = 0;
  LinkKind kind = LinkKind::Pcie;
  int nvlinks = 0;        ///< NVLinks that the pair can use at once
  bool switched = false;  ///< through NVSwitches
  std::string path;       ///< PCIe, as nvidia-smi says it: PIX, PXB, PHB, NODE, SYS; "?": not known
  double bytes_per_second = 0;  ///< what it allows one way; 0: not known
};

/// One port of a network adapter that is up.
struct Nic {
  std::string name;       ///< "mlx5_0:1", device and port; "eth0"
  std::int64_t mbps = 0;  ///< nominal, one way [10^6 bits/s]; 0: not known
  int node = -1;          ///< NUMA node (its number); -1: not known
  std::string kind;       ///< "InfiniBand", "Ethernet"
};

struct Topology {
  std::string host;
  std::vector<Socket> sockets;
  std::vector<NumaNode> nodes;
  std::vector<Cache> caches;
  std::vector<Gpu> gpus;
  std::vector<Link> links;
  std::vector<Nic> nics;
  std::vector<std::string> notes;  ///< what could not be found, and why
};

/// "NV18", "NV4", "PIX", …
[[nodiscard]] std::string name_of(const Link& link);
/// The link of two GPUs, in either order; null if there is none.
[[nodiscard]] const Link* link_between(const Topology& topology, int a, int b) noexcept;

/// Adds GPUs and the links between them, by NVML. Without a driver, or if it fails, adds a note.
void read_nvml(Topology& topology);

}  // namespace strake::machine
