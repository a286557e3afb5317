#include "plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "placement/forecast.hpp"
#include "strake/error.hpp"

namespace strake::plan {
namespace {

using placement::Flow;
using placement::NodePlace;
using placement::Partition;

/// Cells along an axis: times the number of parts they fit into 64 bits.
constexpr std::int64_t kMostAlongAxis = std::int64_t{1} << 42;

/// Sums of bytes fit into 64 bits if all parts with their ghost cells do.
void require_bytes(const Question& asked, const placement::Position& counts) {
  constexpr double kMostBytes = 0x1p62;
  auto bytes = static_cast<double>(asked.cell_bytes);
  for (std::size_t axis = 0; axis < 3; ++axis)
    bytes *= static_cast<double>(asked.grid[axis]) + 2.0 * asked.radius * counts[axis];
  if (bytes > kMostBytes)
    throw InvalidArgument(
        fmt::format("a grid of {} x {} x {} cells of {} bytes in {} x {} x {} parts, radius {}: "
                    "{:.3g} bytes with ghost cells, more than 2^62",
                    asked.grid[0], asked.grid[1], asked.grid[2], asked.cell_bytes, counts[0],
                    counts[1], counts[2], asked.radius, bytes));
}

void require(const Question& asked) {
  require_places(asked.nodes, asked.places);
  if (asked.cell_bytes < 1)
    throw InvalidArgument(fmt::format("cells of {} bytes", asked.cell_bytes));
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (asked.grid[axis] < 1 || asked.grid[axis] > kMostAlongAxis)
      throw InvalidArgument(fmt::format("a grid of {} cells along {}: from 1 to {}",
                                        asked.grid[axis], "xyz"[axis], kMostAlongAxis));
  if (asked.radius < 0) throw InvalidArgument(fmt::format("a radius of {}", asked.radius));
  require_bytes(asked, {1, 1, 1});
}

/// Neighbours own what is in a part's ghost cells.
void require_room(const Partition& parts, int radius) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const int count = parts.counts()[axis];
    const std::int64_t shortest = parts.range(axis, count - 1).size();
    if (shortest < std::max(radius, 1))
      throw InvalidArgument(
          fmt::format("a radius of {}, but a part has {} cells along {}, of {} parts", radius,
                      shortest, "xyz"[axis], count));
  }
}

/// The nodes that the division takes as one: those of a domain, if all domains are whole.
int nodes_at_first(const Question& asked) {
  if (!asked.machine) return 1;
  const int domain = std::min(asked.machine->nodes_per_domain, asked.nodes);
  return asked.nodes % domain == 0 ? domain : 1;
}

void place(const Question& asked, Answer& answer) {
  Placed& placed = answer.placed;
  if (asked.machine) placed.nodes_per_domain = asked.machine->nodes_per_domain;
  const int count = asked.nodes * asked.places;
  if (asked.placement == Placement::NodeAware) {
    answer.nodes_first = nodes_at_first(asked);
    const placement::NodePartition made(asked.grid, asked.nodes / answer.nodes_first,
                                        asked.places * answer.nodes_first, asked.ties);
    placed.parts = made.parts();
    for (int part = 0; part < count; ++part) {
      const NodePlace at = made.place_of(part);
      placed.at.push_back(
          {at.node * answer.nodes_first + at.number / asked.places, at.number % asked.places});
    }
    answer.nodes = made.nodes();
    answer.of_node = made.places();
  } else {
    placed.parts = Partition(asked.grid, count, asked.ties);
    for (int part = 0; part < count; ++part)
      placed.at.push_back({part / asked.places, part % asked.places});
  }
  answer.counts = placed.parts.counts();
  require_bytes(asked, answer.counts);
  for (std::size_t axis = 0; axis < 3; ++axis)
    answer.largest[axis] = placed.parts.range(axis, 0).size();
}

/// The flows of all parts, summed up.
class Sums {
 public:
  Sums(const Question& asked, const Placed& placed)
      : placed_(placed),
        sent_(placed.at.size()),
        peers_(placed.at.size()),
        leaving_(static_cast<std::size_t>(asked.nodes)) {}

  void add(const Flow& flow, std::int64_t bytes) {
    const auto from = static_cast<std::size_t>(flow.from);
    const NodePlace& sender = placed_.at[from];
    const NodePlace& receiver = placed_.at[static_cast<std::size_t>(flow.to)];
    const bool is_near = placed_.is_near(sender.node, receiver.node);
    sent_[from] += bytes;
    if (flow.from != flow.to) peers_[from].insert(flow.to);
    shares_.add(flow, is_near);
    if (!is_near) leaving_[static_cast<std::size_t>(sender.node)] += bytes;
  }
  void tell(Answer& answer) const {
    answer.shares = shares_;
    answer.most_sent = std::ranges::max(sent_);
    answer.most_leaving = std::ranges::max(leaving_);
    for (const auto& peers : peers_)
      answer.most_messages = std::max(answer.most_messages, static_cast<int>(peers.size()));
  }

 private:
  const Placed& placed_;
  std::vector<std::int64_t> sent_;
  std::vector<std::set<int>> peers_;
  std::vector<std::int64_t> leaving_;
  placement::Shares shares_;
};

/// Where the arrays of the parts are.
std::vector<machine::PathEnd> ends_of(const Question& asked, const Placed& placed) {
  std::vector<machine::PathEnd> ends;
  for (const NodePlace& at : placed.at) {
    machine::PathEnd end;
    end.rank = static_cast<int>(ends.size());
    end.node = at.node;
    if (!asked.on_host) {
      end.memory = MemoryKind::Device;
      end.gpu = at.number;
    }
    ends.push_back(end);
  }
  return ends;
}

/// The bytes between the parts of the first node, by their numbers there.
placement::Square flows_of_first(const Question& asked, const Placed& placed) {
  placement::Square flows(static_cast<std::size_t>(asked.places));
  for_each_transfer(asked, placed, [&](const Flow& flow, std::int64_t bytes) {
    const NodePlace& from = placed.at[static_cast<std::size_t>(flow.from)];
    const NodePlace& to = placed.at[static_cast<std::size_t>(flow.to)];
    if (from.node != 0 || to.node != 0 || from == to) return;
    flows(static_cast<std::size_t>(from.number), static_cast<std::size_t>(to.number)) +=
        static_cast<double>(bytes);
  });
  return flows;
}

/// Puts the parts of each node where what they exchange there takes least, as in the first node:
/// all nodes that are divided alike exchange alike. [us]
void assign_places(const Question& asked, const placement::Square& bandwidths, Answer& answer) {
  const placement::Square bytes = flows_of_first(asked, answer.placed);
  constexpr double kPerUsAtOneGBs = 1e3;  // bytes
  placement::Square flows(bytes.size());
  for (std::size_t a = 0; a < bytes.size(); ++a)
    for (std::size_t b = 0; b < bytes.size(); ++b) flows(a, b) = bytes(a, b) / kPerUsAtOneGBs;
  if (asked.objective == Objective::Bottleneck) {
    const placement::Links links =
        asked.machine ? asked.machine->links : placement::Links(bandwidths);
    answer.assignment = placement::assign_by_bottleneck(bytes, links);
    answer.assignment_slowest_us = answer.assignment->cost;
    answer.assignment->cost = placement::cost_of(flows, bandwidths, answer.assignment->place_of);
  } else {
    answer.assignment = placement::assign(flows, bandwidths);
  }
  if (asked.places <= placement::kMostTried)
    answer.spread = placement::spread_of(flows, bandwidths);
  for (NodePlace& at : answer.placed.at)
    at.number = static_cast<int>(answer.assignment->place_of[static_cast<std::size_t>(at.number)]);
}

Bound bound_of(const Question& asked, const Placed& placed) {
  LinkBytes links(*asked.machine, asked.nodes);
  for_each_transfer(asked, placed, [&](const Flow& flow, std::int64_t bytes) {
    links.add(placed.at[static_cast<std::size_t>(flow.from)],
              placed.at[static_cast<std::size_t>(flow.to)], bytes);
  });
  return links.slowest();
}

/// The bounds of this placement, and of that by default with parts in order.
void bound_time(const Question& asked, Answer& answer) {
  answer.bound = bound_of(asked, answer.placed);
  Question plain = asked;
  plain.placement = Placement::Default;
  Answer placed;
  place(plain, placed);
  answer.default_bound = bound_of(plain, placed.placed);
}

/// The question with a machine that has the places of a node that are asked for, and no more.
Question with_own_machine(Question asked) {
  if (asked.machine && asked.places != asked.machine->places_per_node)
    asked.machine = std::make_shared<Machine>(with_places(*asked.machine, asked.places));
  return asked;
}

/// The MPI library of a profile's measurements; empty: it has none.
std::string library_of(const machine::Profile& profile) {
  for (const machine::Result& result : profile.results)
    if (!result.mpi.empty()) return result.mpi;
  return {};
}

}  // namespace

void require_places(int nodes, int places) {
  constexpr int kMostPlaces = 1 << 20;
  if (nodes < 1 || places < 1 || nodes > kMostPlaces / places)
    throw InvalidArgument(
        fmt::format("{} nodes of {} places: from 1 to {} in all", nodes, places, kMostPlaces));
}

void for_each_transfer(const Question& asked, const Placed& placed,
                       const std::function<void(const Flow&, std::int64_t)>& visit) {
  placement::for_each_flow(placed.parts, asked.radius, asked.periodic, [&](const Flow& flow) {
    if (flow.cells > 0) visit(flow, flow.cells * asked.cell_bytes);
  });
}

Answer answer(const Question& question, const machine::Profile* profile) {
  require(question);
  const Question asked = with_own_machine(question);
  Answer answer;
  place(asked, answer);
  const Placed& placed = answer.placed;
  require_room(placed.parts, asked.radius);
  if (asked.bandwidths)
    assign_places(asked, *asked.bandwidths, answer);
  else if (asked.machine)
    assign_places(asked, asked.machine->bandwidths, answer);
  if (asked.machine) bound_time(asked, answer);
  Sums sums(asked, placed);
  for_each_transfer(asked, placed,
                    [&](const Flow& flow, std::int64_t bytes) { sums.add(flow, bytes); });
  sums.tell(answer);
  if (profile == nullptr) return answer;
  const std::vector<machine::PlannedTransfer> transfers = placement::transfers_of(
      placed.parts, {asked.radius, asked.cell_bytes, asked.periodic}, ends_of(asked, placed));
  if (!transfers.empty())
    answer.prediction = machine::ExchangeModel(*profile, library_of(*profile)).predict(transfers);
  return answer;
}

}  // namespace strake::plan
