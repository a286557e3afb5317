/// \file  Messages between the device memories of two ranks.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device_mpi/device.hpp"
#include "mpi/case.hpp"
#include "mpi/check.hpp"
#include "support/buffer.hpp"

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

/// Sends once in each direction and compares the received buffer, gaps and all. True on all ranks,
/// or on none.
inline bool right(const Case& c, const Message& m, DeviceMemory& buffer, std::int64_t payload,
                  int rank) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(c.buffer_bytes));
  std::vector<std::byte> packed(static_cast<std::size_t>(payload));
  const unsigned mine = 1 + static_cast<unsigned>(rank);
  int same = 1;
  for (const int sender : {0, 1}) {
    fill(bytes.data(), c.buffer_bytes, mine);
    buffer.write(bytes.data());
    if (rank == sender) {
      send(m, 1 - rank);
      continue;
    }
    fill(bytes.data(), c.buffer_bytes, 3 - mine);
    pack_by_loop(c, bytes.data(), packed.data());
    fill(bytes.data(), c.buffer_bytes, mine);
    unpack_by_loop(c, packed.data(), bytes.data());
    receive(m, sender);
    same = buffer.read() == bytes ? 1 : 0;
  }
  int all = 0;
  MPI_Allreduce(&same, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all == 1;
}

}  // namespace bench
