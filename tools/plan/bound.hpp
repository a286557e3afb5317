/// \file  A lower bound of the time of an exchange that sends each message by the links of its own
/// places and nodes: the link that takes longest with all bytes that pass it so. Bytes that are
/// forwarded by other nodes' NICs, or reach a place of their own node by a NIC, are not considered.
/// No forecast: launches, packing and messages come on top.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "placement/nodes.hpp"
#include "plan/machine_file.hpp"

namespace strake::plan {

struct Bound {
  double us = 0;
  std::string link;  ///< "X-bus from socket 0 of node 3"; empty: no bytes pass a link
  std::int64_t bytes = 0;
};

/// The bytes on each link of each node. Memory: nodes times links.
class LinkBytes {
 public:
  LinkBytes(const Machine& machine, int nodes);

  void add(const placement::NodePlace& sender, const placement::NodePlace& receiver,
           std::int64_t bytes);
  /// The first of equally slow links.
  [[nodiscard]] Bound slowest() const;

 private:
  std::int64_t& at(int node, std::size_t link);

  const Machine& machine_;
  int nodes_;
  std::vector<std::int64_t> within_;  ///< by node and link
  std::vector<std::int64_t> sent_;    ///< by node: to other domains
  std::vector<std::int64_t> got_;
};

}  // namespace strake::plan
