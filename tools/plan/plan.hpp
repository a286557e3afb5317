/// \file  A forecast of a job's exchange of ghost cells: where its parts go, what leaves a
/// node, and how long it takes by a profile. Needs no job, GPU or MPI library.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "machine/exchange_model.hpp"
#include "machine/profile.hpp"
#include "placement/assignment.hpp"
#include "placement/nodes.hpp"
#include "placement/traffic.hpp"
#include "plan/bound.hpp"
#include "plan/machine_file.hpp"

namespace strake::plan {

/// How parts are given to nodes.
enum class Placement : std::uint8_t {
  Default,    ///< parts by flat bisection, consecutive parts on a node
  NodeAware,  ///< the grid is divided among nodes first
};

/// The time that the assignment of a node's parts to its places keeps small.
enum class Objective : std::uint8_t {
  Sum,         ///< the sum over all transfers
  Bottleneck,  ///< that of the slowest link, which several pairs may share
};

struct Question {
  int nodes = 1;
  int places = 1;  ///< GPUs, or ranks, of a node
  Index3 grid{1, 1, 1};
  int radius = 1;
  std::int64_t cell_bytes = 8;  ///< of all fields together
  std::array<bool, 3> periodic{true, true, true};
  Placement placement = Placement::Default;
  placement::Ties ties = placement::Ties::First;
  bool on_host = false;  ///< fields are in host memory, not on GPUs
  /// Between the places of a node. [GB/s] Parts go where that costs least.
  std::optional<placement::Square> bandwidths{};
  Objective objective = Objective::Sum;
  /// Gives the bandwidths if there are none, a lower bound of the time, and domains of nodes.
  std::shared_ptr<const Machine> machine{};
};

/// Where all parts of a job are.
struct Placed {
  placement::Partition parts;
  std::vector<placement::NodePlace> at;  ///< by part
  int nodes_per_domain = 1;              ///< consecutive nodes that count as one
  /// Two nodes of a domain reach each other without the network.
  [[nodiscard]] bool is_near(int node, int other) const noexcept {
    return node / nodes_per_domain == other / nodes_per_domain;
  }
};

struct Answer {
  placement::Position counts{};  ///< of parts along each axis
  /// Nodes, if they are divided first, and parts of a node. Domains, where nodes form whole ones.
  std::optional<placement::Position> nodes;
  std::optional<placement::Position> of_node;
  int nodes_first = 1;            ///< nodes in each of `nodes`: 1, or those of a domain
  Index3 largest{};               ///< cells of the largest part
  placement::Shares shares;       ///< [cells]
  std::int64_t most_sent = 0;     ///< by a part, to itself too [bytes]
  std::int64_t most_leaving = 0;  ///< a node, and its domain [bytes]
  int most_messages = 0;          ///< of a part, to others
  /// The places of a node's parts, by their numbers there, and how much worse others are: with
  /// bandwidths, and up to 8 places.
  std::optional<placement::Assignment> assignment;
  std::optional<placement::Spread> spread;
  std::optional<double> assignment_slowest_us;    ///< of a node's links, by Objective::Bottleneck
  std::optional<machine::Prediction> prediction;  ///< if there is a profile
  /// If there is a machine: for this placement, and for that by default with parts in order.
  std::optional<Bound> bound, default_bound;
  Placed placed;
};

/// \param profile  of the machine; null: nothing is predicted
/// \throws InvalidArgument  bandwidths of another number of places, or one that is not above 0; a
/// number below 1, more than 2^20 places, more places of a node than the machine has, more than
/// 2^42 cells along an axis, more than 2^62 bytes of all parts with their ghost cells, or a radius
/// that is longer than the shortest part along an axis; the message has the values
[[nodiscard]] Answer answer(const Question& question, const machine::Profile* profile);

/// \throws InvalidArgument  no node or place, or more than 2^20 places in all
void require_places(int nodes, int places);

/// Calls `visit(flow, bytes)` for each flow of a placement that has cells.
void for_each_transfer(const Question& question, const Placed& placed,
                       const std::function<void(const placement::Flow&, std::int64_t)>& visit);

}  // namespace strake::plan
