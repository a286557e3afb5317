/// \file  A class of machine from a file: the links of a node, and what leaves it. Several files
/// ship with the program.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "placement/assignment.hpp"
#include "placement/links.hpp"

namespace strake::plan {

struct Machine {
  std::string name;
  std::string title;            ///< what it is, in words
  std::string places = "GPUs";  ///< GPUs or cores
  int places_per_node = 1;
  int nodes_per_domain = 1;         ///< nodes whose GPUs reach each other without the network
  placement::Square bandwidths{1};  ///< between the places of a node [GB/s]
  placement::Links links{1};        ///< of a node, with those that several pairs share
  /// By place: the link of all that it sends within its domain, and of all that it gets. They are
  /// among `links`, too. Empty: bytes share no such link.
  std::vector<std::size_t> out, in;
  placement::Link leaving;           ///< the NICs of a node together, one way
  std::vector<std::string> sources;  ///< "link: where its number is from"
};

/// The names and the texts of the machines that ship with the program, in order of their names.
[[nodiscard]] const std::vector<std::pair<std::string_view, std::string_view>>& shipped_machines();

/// \throws Error  the text breaks the format; the message has `origin`, and what is wrong there
[[nodiscard]] Machine machine_of(std::string_view text, const std::string& origin);

/// A machine that ships with the program, or a file if the name has a `/` or ends with `.json`.
/// \throws Error  as machine_of(); no such machine: the message lists those that there are
[[nodiscard]] Machine find_machine(const std::string& name);

/// A line for each machine that ships with the program.
[[nodiscard]] std::string machines_text();

/// The first `places` places of each node, which a job uses. \throws InvalidArgument  more than the
/// machine has
[[nodiscard]] Machine with_places(const Machine& machine, int places);

}  // namespace strake::plan
