/// \file  Two threads of a rank, one of which waits for what the other brings about.
#pragma once

#include <chrono>
#include <thread>

#include "described.hpp"

/// Pairs of ranks: one thread of the first waits for an answer that the second gives when it has
/// what another thread has sent.
inline void answered_in_another_thread(MPI_Comm comm) {
  check::section("Recv in a thread of the answer to another's Isend");
  constexpr std::uint64_t kTurns = 25;
  const Described type = describe::medium();
  for (std::uint64_t turn = 0; turn < kTurns; ++turn) {
    Image image(type, 1);
    if (check::rank() % 2 == 0 && check::rank() + 1 < check::size()) {
      const int peer = check::rank() + 1;
      image.fill(turn);
      std::thread other(
          [&] { CHECK_MPI(MPI_Recv(nullptr, 0, MPI_INT, peer, 9, comm, MPI_STATUS_IGNORE)); });
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      MPI_Request request = MPI_REQUEST_NULL;
      CHECK_MPI(MPI_Isend(image.data(), 1, type.type, peer, 5, comm, &request));
      other.join();
      CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else if (check::rank() % 2 == 1) {
      const int peer = check::rank() - 1;
      CHECK_MPI(MPI_Recv(image.data(), 1, type.type, peer, 5, comm, MPI_STATUS_IGNORE));
      CHECK(image.holds(turn));
      CHECK_MPI(MPI_Send(nullptr, 0, MPI_INT, peer, 9, comm));
    }
  }
}
