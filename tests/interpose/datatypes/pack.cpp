/// \file  MPI_Pack, MPI_Unpack, MPI_Pack_size and external32; positions; MPI_PACKED messages.
#include <thread>
#include <utility>

#include "described.hpp"

namespace {

std::vector<Described> types() {
  std::vector<Described> all;
  const Described byte = describe::byte(), integer = describe::integer(), real = describe::real();
  all.push_back(describe::small());
  all.push_back(describe::medium());
  all.push_back(describe::large());
  all.push_back(describe::commit(describe::vector(10, 8, 13, byte)));
  all.push_back(describe::commit(describe::hvector(9, 2, -32, integer)));
  all.push_back(describe::commit(describe::indexed({3, 0, 1, 2}, {10, 5, 0, 4}, real)));
  all.push_back(describe::commit(describe::subarray(50, 60, 33, 7, 5, 9, real)));
  all.push_back(
      describe::commit(describe::structure({3, 2, 5}, {0, 16, 40}, {&integer, &real, &byte})));
  // A transpose: packed order is not memory order.
  all.push_back(
      describe::commit(describe::hvector(12, 1, 8, describe::vector(10, 1, 12, describe::real()))));
  return all;
}

bool same(const std::vector<std::byte>& bytes, std::size_t at, std::uint64_t seed, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    if (bytes[at + i] != pattern(seed, i)) return false;
  return true;
}

/// Several packs one after the other in a buffer, from an odd position on; then unpacked in the
/// same way.
void several_in_one_buffer() {
  check::section("several packs in one buffer");
  const std::vector<Described> all = types();
  int total = 3;
  for (const Described& type : all) {
    int bytes = 0;
    CHECK_MPI(MPI_Pack_size(2, type.type, MPI_COMM_WORLD, &bytes));
    CHECK(bytes >= 2 * type.size());
    total += 2 * type.size();
  }
  test_memory::Buffer<std::byte> packed(static_cast<std::size_t>(total) + 5, Image::kPoison);
  const int size = static_cast<int>(packed.count());
  int position = 3;
  for (std::size_t t = 0; t < all.size(); ++t) {
    Image out(all[t], 2);
    out.fill(t);
    CHECK_MPI(MPI_Pack(out.data(), 2, all[t].type, packed.data(), size, &position, MPI_COMM_WORLD));
  }
  CHECK_EQ(position, total);
  const std::vector<std::byte>& bytes = packed.get();
  std::size_t at = 3;
  for (std::size_t t = 0; t < all.size(); ++t) {
    const auto length = static_cast<std::size_t>(2 * all[t].size());
    CHECK(same(bytes, at, t, length));
    at += length;
  }
  for (const std::size_t outside : {std::size_t{0}, std::size_t{2}, at, at + 4})
    CHECK(bytes[outside] == Image::kPoison);

  position = 3;
  for (std::size_t t = 0; t < all.size(); ++t) {
    Image in(all[t], 2);
    CHECK_MPI(
        MPI_Unpack(packed.data(), size, &position, in.data(), 2, all[t].type, MPI_COMM_WORLD));
    CHECK(in.holds(t));
  }
  CHECK_EQ(position, total);
}

/// Bytes that one type packed are unpacked by another, a piece at a time.
void piecewise() {
  check::section("piecewise unpack");
  const Described type = describe::medium();  // 1536 integers
  Image out(type, 1);
  out.fill(9);
  test_memory::Buffer<std::byte> packed(static_cast<std::size_t>(type.size()));
  int position = 0;
  CHECK_MPI(
      MPI_Pack(out.data(), 1, type.type, packed.data(), type.size(), &position, MPI_COMM_WORLD));
  const Described piece = describe::commit(describe::vector(6, 1, 3, describe::integer()));
  position = 0;
  for (int i = 0; i < 1536 / 6; ++i) {
    Image in(piece, 1);
    CHECK_MPI(MPI_Unpack(packed.data(), type.size(), &position, in.data(), 1, piece.type,
                         MPI_COMM_WORLD));
    CHECK(in.holds(9, 24, static_cast<std::size_t>(24 * i)));
  }
  CHECK_EQ(position, type.size());
}

/// Equal calls again and again, as Strake remembers what was asked often: other bytes from and to
/// the same and other places, blocks of every length up to a cache line, side by side from offset 0
/// and 5 on, and apart.
void again() {
  constexpr int kTurns = 16;
  std::vector<Described> all = types();
  all.push_back(describe::integer());
  all.push_back(describe::real());
  for (int n = 1; n <= 64; ++n) {
    all.push_back(describe::commit(describe::hindexed({n}, {0}, describe::byte())));
    all.push_back(describe::commit(describe::hindexed({n}, {5}, describe::byte())));
    all.push_back(describe::commit(describe::vector(2, n, n + 3, describe::byte())));
  }
  for (int turn = 0; turn < kTurns; ++turn) {
    for (std::size_t t = 0; t < all.size(); ++t) {
      const Described& type = all[t];
      const std::uint64_t seed = static_cast<std::uint64_t>(turn) * all.size() + t;
      const auto length = static_cast<std::size_t>(type.size());
      const int before = turn % 3;
      std::vector<std::byte> packed(length + 4, Image::kPoison);
      const int size = before + type.size();
      Image out(type, 1), in(type, 1);
      out.fill(seed);
      int position = before;
      CHECK_MPI(MPI_Pack(out.data(), 1, type.type, packed.data(), size, &position, MPI_COMM_WORLD));
      CHECK_EQ(position, size);
      CHECK(out.holds(seed));
      const auto at = static_cast<std::size_t>(before);
      CHECK(same(packed, at, seed, length));
      for (std::size_t i = 0; i < packed.size(); ++i) {
        if (i < at || i >= at + length) CHECK(packed[i] == Image::kPoison);
      }
      position = before;
      CHECK_MPI(
          MPI_Unpack(packed.data(), size, &position, in.data(), 1, type.type, MPI_COMM_WORLD));
      CHECK_EQ(position, size);
      CHECK(in.holds(seed));
    }
  }
}

void nothing() {
  check::section("packs of nothing");
  const Described type = describe::medium();
  std::byte buffer[4] = {};
  int position = 2;
  CHECK_MPI(MPI_Pack(buffer, 0, type.type, buffer, 4, &position, MPI_COMM_WORLD));
  CHECK_EQ(position, 2);
  CHECK_MPI(MPI_Unpack(buffer, 4, &position, buffer, 0, type.type, MPI_COMM_WORLD));
  CHECK_EQ(position, 2);
  const Described empty = describe::commit(describe::vector(0, 3, 4, describe::integer()));
  CHECK_MPI(MPI_Pack(buffer, 5, empty.type, buffer, 4, &position, MPI_COMM_WORLD));
  CHECK_EQ(position, 2);
}

/// external32 has its own byte order and sizes. Always in host memory, since Strake passes it
/// on.
void external32() {
  check::section("external32");
  const Described type = describe::commit(describe::vector(4, 2, 3, describe::integer()));
  Image out(type, 1), in(type, 1);
  out.fill(5);
  MPI_Aint bytes = 0, position = 0;
  CHECK_MPI(MPI_Pack_external_size("external32", 1, type.type, &bytes));
  check::note("external size %ld", static_cast<long>(bytes));
  std::vector<std::byte> packed(static_cast<std::size_t>(bytes));
  CHECK_MPI(
      MPI_Pack_external("external32", out.data(), 1, type.type, packed.data(), bytes, &position));
  check::note("external position %ld", static_cast<long>(position));
  for (std::size_t i = 0; i < 32; i += 4)  // big-endian integers
    for (std::size_t b = 0; b < 4; ++b) CHECK(packed[i + b] == pattern(5, i + 3 - b));
  position = 0;
  CHECK_MPI(
      MPI_Unpack_external("external32", packed.data(), bytes, &position, in.data(), 1, type.type));
  CHECK(in.holds(5));
}

/// Packed here, sent as MPI_PACKED, received into a type; and sent by a type, received as
/// MPI_PACKED.
void packed_messages() {
  check::section("MPI_PACKED messages");
  const int next = (check::rank() + 1) % check::size();
  const int previous = (check::rank() + check::size() - 1) % check::size();
  for (const Described& type : {describe::medium(), describe::large()}) {
    Image out(type, 1), in(type, 1);
    out.fill(6);
    test_memory::Buffer<std::byte> packed(static_cast<std::size_t>(type.size()));
    int position = 0;
    CHECK_MPI(
        MPI_Pack(out.data(), 1, type.type, packed.data(), type.size(), &position, MPI_COMM_WORLD));
    CHECK_MPI(MPI_Sendrecv(packed.data(), position, MPI_PACKED, next, 1, in.data(), 1, type.type,
                           previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(in.holds(6));
    packed.fill(std::byte{0});
    in.poison();
    MPI_Status status{};
    CHECK_MPI(MPI_Sendrecv(out.data(), 1, type.type, next, 1, packed.data(), type.size(),
                           MPI_PACKED, previous, 1, MPI_COMM_WORLD, &status));
    int count = 0;
    CHECK_MPI(MPI_Get_count(&status, MPI_PACKED, &count));
    CHECK_EQ(count, type.size());
    position = 0;
    CHECK_MPI(
        MPI_Unpack(packed.data(), type.size(), &position, in.data(), 1, type.type, MPI_COMM_WORLD));
    CHECK(in.holds(6));
  }
}

}  // namespace

int main(int argc, char** argv) {
  int level = -1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  check::started(argc, argv);
  several_in_one_buffer();
  piecewise();
  nothing();
  const bool device = std::exchange(test_memory::on_device(), false);
  external32();
  check::section("packs again");
  again();
  check::section("packs again, in another thread");
  if (level >= MPI_THREAD_SERIALIZED) std::thread(again).join();
  test_memory::on_device() = device;
  packed_messages();
  return check::finish();
}
