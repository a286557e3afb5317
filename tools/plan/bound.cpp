#include "plan/bound.hpp"

#include <fmt/format.h>

namespace strake::plan {

LinkBytes::LinkBytes(const Machine& machine, int nodes)
    : machine_(machine),
      nodes_(nodes),
      within_(static_cast<std::size_t>(nodes) * machine.links.all().size()),
      sent_(static_cast<std::size_t>(nodes)),
      got_(static_cast<std::size_t>(nodes)) {}

std::int64_t& LinkBytes::at(int node, std::size_t link) {
  return within_[static_cast<std::size_t>(node) * machine_.links.all().size() + link];
}

void LinkBytes::add(const placement::NodePlace& sender, const placement::NodePlace& receiver,
                    std::int64_t bytes) {
  const auto from = static_cast<std::size_t>(sender.number);
  const auto to = static_cast<std::size_t>(receiver.number);
  if (sender.node == receiver.node) {
    if (from == to) return;
    for (const std::size_t link : machine_.links.taken(from, to)) at(sender.node, link) += bytes;
  } else if (sender.node / machine_.nodes_per_domain == receiver.node / machine_.nodes_per_domain) {
    at(sender.node, machine_.out[from]) += bytes;
    at(receiver.node, machine_.in[to]) += bytes;
  } else {
    sent_[static_cast<std::size_t>(sender.node)] += bytes;
    got_[static_cast<std::size_t>(receiver.node)] += bytes;
  }
}

Bound LinkBytes::slowest() const {
  Bound found;
  const auto try_link = [&found](const placement::Link& link, std::int64_t bytes, int node,
                                 const char* way) {
    const double us = link.us_for(static_cast<double>(bytes));
    if (us > found.us) found = {us, fmt::format("{} of node {}{}", link.name, node, way), bytes};
  };
  const auto& links = machine_.links.all();
  for (int node = 0; node < nodes_; ++node) {
    const auto n = static_cast<std::size_t>(node);
    try_link(machine_.leaving, sent_[n], node, ", sending");
    try_link(machine_.leaving, got_[n], node, ", receiving");
    for (std::size_t link = 0; link < links.size(); ++link)
      try_link(links[link], within_[n * links.size() + link], node, "");
  }
  return found;
}

}  // namespace strake::plan
