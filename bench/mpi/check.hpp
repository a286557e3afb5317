/// \file  Whether a library moved the right bytes, by comparison with explicit loops over a case's
/// blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mpi/case.hpp"
#include "mpi/environment.hpp"

namespace bench {

/// Fills with bytes that differ by place and by `seed`.
void fill(std::byte* data, std::int64_t bytes, unsigned seed);

/// The explicit loops.
void pack_by_loop(const Case& c, const std::byte* buffer, std::byte* packed);
void unpack_by_loop(const Case& c, const std::byte* packed, std::byte* buffer);

/// Position of the first byte that differs, or -1.
std::int64_t first_difference(const std::byte* a, const std::byte* b, std::int64_t bytes);

/// MPI_Pack gives the loop's bytes; MPI_Unpack restores them and leaves the gaps alone. Empty when
/// so, else what is wrong. The type is committed.
std::string check_pack(const Case& c);

/// Sends a case once in each direction between two ranks, by `send(to)` and `receive(from)`, and
/// compares the received buffer, gaps and all. `put(bytes)` writes the buffer, `get()` returns its
/// bytes. True on all ranks, or on none.
template <typename Put, typename Get, typename Send, typename Receive>
bool check_messages(const Case& c, int rank, Put&& put, Get&& get, Send&& send, Receive&& receive) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(c.buffer_bytes));
  std::vector<std::byte> packed(bytes.size());
  const unsigned mine = 1 + static_cast<unsigned>(rank);
  int same = 1;
  for (const int sender : {0, 1}) {
    fill(bytes.data(), c.buffer_bytes, mine);
    put(bytes.data());
    if (rank == sender) {
      send(1 - rank);
      continue;
    }
    fill(bytes.data(), c.buffer_bytes, 3 - mine);
    pack_by_loop(c, bytes.data(), packed.data());
    fill(bytes.data(), c.buffer_bytes, mine);
    unpack_by_loop(c, packed.data(), bytes.data());
    receive(sender);
    same = get() == bytes ? 1 : 0;
  }
  return all_ranks(same == 1);
}

}  // namespace bench
