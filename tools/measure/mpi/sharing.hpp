/// \file  The memory that the measured ranks of a node share, as the ranks of a job do under the
/// interposer, and messages through it. The transport and the transfers are the interposer's own
/// code (exchange/transport/shared, exchange/message/transfer.hpp), called in the order in which
/// its MPI_Send and MPI_Recv call them. The interposer itself can't be loaded here: it would change
/// what all other cases measure, and it serves jobs of `strake run` alone.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "exchange/message/transfer.hpp"
#include "job.hpp"
#include "mpi/peers.hpp"

namespace strake::measure {

class Sharing {
 public:
  /// Connects the pair of Path::Node. Collective over the job.
  explicit Sharing(Job& job);
  /// Before MPI ends.
  ~Sharing();
  Sharing(const Sharing&) = delete;
  Sharing& operator=(const Sharing&) = delete;

  /// Whether the pair can exchange messages of so many bytes, the same on all ranks. Never with
  /// STRAKE_SHARE=0, without a private directory, or if several threads may be in MPI: then jobs
  /// share no memory either.
  [[nodiscard]] bool carries(std::int64_t bytes) const noexcept;

 private:
  bool works_ = false;
};

/// \{ A blocking message between the ranks of the pair, from or into host memory.
/// \throws Error  it could not go through shared memory: both ends throw. MpiError
void send_shared(const exchange::Typed& typed, const mpi::Envelope& to);
void receive_shared(const exchange::Typed& typed, const mpi::Envelope& from);
/// \}

}  // namespace strake::measure
