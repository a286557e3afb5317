#include "mpi/check.hpp"

#include <algorithm>
#include <cstring>

#include "support/buffer.hpp"

namespace bench {
std::int64_t first_difference(const std::byte* a, const std::byte* b, std::int64_t bytes) {
  if (std::memcmp(a, b, static_cast<std::size_t>(bytes)) == 0) return -1;
  std::int64_t at = 0;
  while (a[at] == b[at]) ++at;
  return at;
}

void fill(std::byte* data, std::int64_t bytes, unsigned seed) {
  std::uint64_t state = 0x9E3779B97F4A7C15u * (seed + 1);  // Weyl sequence, mixed by its high half
  std::int64_t at = 0;
  for (; at + 8 <= bytes; at += 8) {
    state += 0x9E3779B97F4A7C15u;
    const std::uint64_t word = state ^ (state >> 29);
    std::memcpy(data + at, &word, 8);
  }
  for (; at < bytes; ++at) data[at] = static_cast<std::byte>(at + seed);
}

void pack_by_loop(const Case& c, const std::byte* buffer, std::byte* packed) {
  for (const Block& block : c.blocks) {
    std::memcpy(packed, buffer + block.offset, static_cast<std::size_t>(block.bytes));
    packed += block.bytes;
  }
}

void unpack_by_loop(const Case& c, const std::byte* packed, std::byte* buffer) {
  for (const Block& block : c.blocks) {
    std::memcpy(buffer + block.offset, packed, static_cast<std::size_t>(block.bytes));
    packed += block.bytes;
  }
}

std::string check_pack(const Case& c) {
  std::int64_t payload = 0;
  for (const Block& block : c.blocks) payload += block.bytes;
  int size = 0;
  MPI_Pack_size(c.count, c.type.get(), MPI_COMM_WORLD, &size);
  if (size < payload)
    return "MPI_Pack_size is " + std::to_string(size) + ", the data " + std::to_string(payload);

  const Buffer buffer(c.buffer_bytes);
  const Buffer expected(std::max(c.buffer_bytes, payload));
  const Buffer packed(size);
  fill(buffer.data(), c.buffer_bytes, 1);
  pack_by_loop(c, buffer.data(), expected.data());
  int position = 0;
  MPI_Pack(buffer.data(), c.count, c.type.get(), packed.data(), size, &position, MPI_COMM_WORLD);
  if (position != payload)
    return "MPI_Pack ends at position " + std::to_string(position) + ", not at " +
           std::to_string(payload);
  std::int64_t wrong = first_difference(packed.data(), expected.data(), payload);
  if (wrong >= 0) return "packed byte " + std::to_string(wrong) + " is wrong";

  fill(buffer.data(), c.buffer_bytes, 2);
  fill(expected.data(), c.buffer_bytes, 2);
  unpack_by_loop(c, packed.data(), expected.data());
  position = 0;
  MPI_Unpack(packed.data(), size, &position, buffer.data(), c.count, c.type.get(), MPI_COMM_WORLD);
  if (position != payload)
    return "MPI_Unpack ends at position " + std::to_string(position) + ", not at " +
           std::to_string(payload);
  wrong = first_difference(buffer.data(), expected.data(), c.buffer_bytes);
  if (wrong >= 0)
    return "byte " + std::to_string(wrong) + " of the buffer is wrong after MPI_Unpack";
  return "";
}

}  // namespace bench
