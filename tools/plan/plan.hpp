/// \file  A forecast of a job's exchange of ghost cells: where its parts go, what leaves a
/// node, and how long it takes by a profile. Needs no job, GPU or MPI library.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "machine/exchange_model.hpp"
#include "machine/profile.hpp"
#include "placement/assignment.hpp"
#include "placement/nodes.hpp"
#include "placement/traffic.hpp"

namespace strake::plan {

/// How parts are given to nodes.
enum class Placement : std::uint8_t {
  Default,    ///< parts by flat bisection, consecutive parts on a node
  NodeAware,  ///< the grid is divided among nodes first
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
};

struct Answer {
  placement::Position counts{};                ///< of parts along each axis
  std::optional<placement::Position> nodes;    ///< of nodes, if they are divided first
  std::optional<placement::Position> of_node;  ///< of parts of a node
  Index3 largest{};                            ///< cells of the largest part
  placement::Shares shares;                    ///< [cells]
  std::int64_t most_sent = 0;                  ///< by a part, to itself too [bytes]
  std::int64_t most_leaving = 0;               ///< a node [bytes]
  int most_messages = 0;                       ///< of a part, to others
  /// The places of a node's parts, by their numbers there, and how much worse others are: with
  /// bandwidths, and up to 8 places.
  std::optional<placement::Assignment> assignment;
  std::optional<placement::Spread> spread;
  std::optional<machine::Prediction> prediction;  ///< if there is a profile
};

/// \param profile  of the machine; null: nothing is predicted
/// \throws InvalidArgument  bandwidths of another number of places, or one that is not above 0; a
/// number below 1, more than 2^20 places, or a radius that is longer
/// than the shortest part along an axis; the message has the values
[[nodiscard]] Answer answer(const Question& question, const machine::Profile* profile);

}  // namespace strake::plan
