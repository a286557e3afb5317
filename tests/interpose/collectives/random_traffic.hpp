/// \file  Messages between two ranks while collectives are under way on the same communicators:
/// received and probed for with MPI_ANY_SOURCE and MPI_ANY_TAG, they are all that is ever found.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "random_comms.hpp"

namespace random_collectives {

/// The messages of one step: each member of a communicator sends one, and receives one.
struct Shuffle {
  enum class Way { kNothing, kIrecv, kRecv, kProbe, kIprobe, kMprobe, kImprobe };
  Way way = Way::kNothing;
  int comm = 0;
  int shift = 0;  ///< to the rank so much further
  int bytes = 0;
};

class Traffic {
 public:
  Traffic(std::uint64_t seed, int steps, const std::vector<Comm>& comms)
      : seed_(seed), steps_(steps), comms_(comms) {}

  [[nodiscard]] Shuffle draw(int step) const;
  /// Whether this rank takes part.
  [[nodiscard]] bool is_mine(const Shuffle& shuffle) const;
  /// Sends, and receives unless by MPI_Irecv: one or two requests more, the receive's last.
  void begin(int step, std::vector<MPI_Request>& requests);
  /// Describes what is wrong with the received message, if anything is.
  [[nodiscard]] std::string check(int step, const MPI_Status& status) const;
  /// MPI_Iprobe on a communicator finds nothing, or a message of this step or a later one.
  [[nodiscard]] std::string probe(int step, int comm) const;
  /// After its completion, before the next step: no rank sends on the communicator earlier.
  void end(int step);

 private:
  [[nodiscard]] std::uint64_t message(int step, int source) const;
  void receive(Shuffle::Way way, MPI_Comm comm);

  std::uint64_t seed_;
  int steps_;
  const std::vector<Comm>& comms_;
  std::vector<std::byte> sent_, received_;
  MPI_Status status_{};  ///< of a receive that is complete when begin() returns

 public:
  [[nodiscard]] const MPI_Status& status() const { return status_; }
};

}  // namespace random_collectives
