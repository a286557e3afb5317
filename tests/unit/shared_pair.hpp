/// \file  Two ranks that share memory, in one process and without MPI.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "exchange/peers/directory.hpp"
#include "exchange/transport/shared/peer_segments.hpp"
#include "exchange/transport/shared/send_segment.hpp"
#include "memory/sharing/descriptor_socket.hpp"
#include "memory/sharing/directories.hpp"
#include "memory/sharing/shared_memory.hpp"

namespace strake::exchange::shared {

using sharing::DescriptorSocket;
using Sent = DescriptorSocket::Sent;

inline constexpr std::uint64_t kJob = 77;
inline constexpr std::uint64_t kWorld = 1;
inline constexpr std::int64_t kMemory = std::int64_t{1} << 20;

/// A directory of this test's own.
inline sharing::SharedDirectory own_directory() {
  return sharing::directory_of(sharing::new_number());
}

/// One of two ranks.
inline peers::Directory::Options rank_of_two(std::int32_t rank) {
  return {.rank = rank,
          .ranks = 2,
          .job = kJob,
          .payload_bytes = Parts(2).payload(kMemory),
          .answers = true};
}

/// Ranks 0, which sends, and 1.
struct Pair {
  sharing::SharedDirectory directory = own_directory();
  /// The socket of a process that is neither.
  DescriptorSocket stranger{directory, "stranger"};
  peers::Directory zero{directory, rank_of_two(0)};
  peers::Directory one{directory, rank_of_two(1)};
  SendSegment send_segment{zero};
  PeerSegments peer_segments;

  explicit Pair(std::size_t layouts = 256) : peer_segments(one, layouts) {}

  void connect() {
    ASSERT_EQ(send(announcement()), Sent::Yes);
    EXPECT_FALSE(zero.is_read_by(1));
    one.take_announcements();
    EXPECT_TRUE(zero.is_read_by(1));
    EXPECT_FALSE(zero.is_read_by(0));
  }
  /// As rank 0 announces itself to rank 1.
  [[nodiscard]] peers::Announcement announcement() const { return {zero.identity(), kJob}; }
  /// Lease for a message whose header message is sent right after.
  std::optional<Lease> lease(const Destination& to, std::int64_t bytes) {
    const auto made = send_segment.lease(to, bytes);
    if (made) send_segment.go_live(*made);
    return made;
  }
  Sent send(const peers::Announcement& made, int descriptor = -1) const {
    return stranger.send(peers::socket_name(kJob, 1).text, std::as_bytes(std::span(&made, 1)),
                         std::array{descriptor < 0 ? zero.own().descriptor() : descriptor});
  }
  /// Rank 0's descriptors, mapped once more.
  [[nodiscard]] sharing::SharedMemory map_segment() const {
    return sharing::SharedMemory::map(zero.own().descriptor(), zero.own().bytes());
  }
  [[nodiscard]] static Descriptor& descriptor_in(const sharing::SharedMemory& segment,
                                                 std::size_t number) {
    return reinterpret_cast<DescriptorTable*>(segment.data() + Parts(2).table)->descriptors[number];
  }
};

inline Destination to_one(int tag = 5, std::uint64_t comm = kWorld) { return {1, tag, comm}; }

inline Destination from_zero() { return {0, 5, kWorld}; }

inline std::vector<std::byte> bytes_of(int seed, std::int64_t count) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

/// Packs in pieces, as a send does.
inline void pack(const Lease& lease, const std::vector<std::byte>& bytes,
                 std::size_t piece = 1000) {
  for (std::size_t begin = 0; begin < bytes.size(); begin += piece) {
    const std::size_t count = std::min(piece, bytes.size() - begin);
    std::memcpy(lease.data() + begin, bytes.data() + begin, count);
    lease.packed(static_cast<std::int64_t>(begin + count));
  }
}

inline std::vector<std::byte> take(const Delivery& delivery) {
  std::vector<std::byte> taken(static_cast<std::size_t>(delivery.bytes()));
  delivery.for_each_piece(delivery.bytes(), [&](ByteRange piece, const std::byte* packed) {
    std::memcpy(taken.data() + piece.begin, packed + piece.begin,
                static_cast<std::size_t>(piece.size()));
  });
  delivery.done();
  return taken;
}

}  // namespace strake::exchange::shared
