/// \file  Messages between the device memories of two ranks.
#pragma once

#include <mpi.h>

#include <cstddef>

#include "device_mpi/device.hpp"
#include "mpi/case.hpp"
#include "mpi/check.hpp"

namespace bench {

inline constexpr int kTag = 5;

struct Message {
  std::byte* address;
  int count;
  MPI_Datatype type;
};

inline void send(const Message& m, int to) {
  MPI_Send(m.address, m.count, m.type, to, kTag, MPI_COMM_WORLD);
}

inline void receive(const Message& m, int from) {
  MPI_Recv(m.address, m.count, m.type, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/// Rank 1 waits in its receive before rank 0 starts.
inline void round_trip(const Message& m, int rank) {
  if (rank == 0) send(m, 1);
  receive(m, 1 - rank);
  if (rank == 1) send(m, 0);
}

/// As check_messages() does it.
inline bool right(const Case& c, const Message& m, DeviceMemory& buffer, int rank) {
  return check_messages(
      c, rank, [&](const std::byte* from) { buffer.write(from); }, [&] { return buffer.read(); },
      [&](int to) { send(m, to); }, [&](int from) { receive(m, from); });
}

}  // namespace bench
