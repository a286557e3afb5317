/// \file  The control block of a rank. Its first segment, which the other ranks of its node map,
/// begins with it; there they say what of its memory they have mapped.
#pragma once

#include <array>
#include <atomic>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "memory/sharing/arenas.hpp"
#include "memory/sharing/descriptor_socket.hpp"
#include "memory/sharing/device_memory.hpp"

namespace strake::exchange::peers {

inline constexpr std::uint32_t kVersion = 9;
inline constexpr std::uint64_t kMagic = 0x656b617274736731;  // "1gstrake"

/// \{ The numbers of a rank's regions, which other ranks may map: allocations of host memory and
/// slices of the shared heap, from 0 on; allocations of its devices; and segments.
inline constexpr std::int32_t kFirstDeviceRegion = sharing::Arenas::kRegions;
inline constexpr std::int32_t kFirstSegment = kFirstDeviceRegion + sharing::DeviceExports::kMost;
inline constexpr std::int32_t kMostSegments = 32;
inline constexpr std::int32_t kRegions = kFirstSegment + kMostSegments;
/// \}
[[nodiscard]] constexpr bool is_device_region(std::int32_t number) noexcept {
  return number >= kFirstDeviceRegion && number < kFirstSegment;
}

/// The first segment begins with this.
struct Identity {
  std::uint64_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::int32_t rank = 0;  ///< in MPI_COMM_WORLD
  std::uint64_t nonce = 0;
  std::int64_t bytes = 0;  ///< of the segment
  std::int32_t ranks = 0;  ///< of MPI_COMM_WORLD
  std::int32_t unused = 0;
};

/// Where the parts of a first segment begin. After the Identity come a byte for each rank of
/// MPI_COMM_WORLD, which that rank sets once it has mapped the segment; where ranks answer
/// announcements, kRegions words for each rank, the generations of the regions that it has mapped;
/// and the payload. [bytes]
struct ControlParts {
  std::int64_t readers = sizeof(Identity);
  std::int64_t mapped;
  std::int64_t payload;

  constexpr ControlParts(std::int32_t ranks, bool answers) noexcept
      : mapped(rounded(readers + ranks)),
        payload(answers ? rounded(mapped + ranks * kRegions * std::int64_t{sizeof(std::uint32_t)})
                        : mapped) {}

  [[nodiscard]] static constexpr std::int64_t rounded(std::int64_t at) noexcept {
    constexpr std::int64_t kPage = 4096;
    return (at + kPage - 1) / kPage * kPage;
  }
};
using MappedWord = std::atomic<std::uint32_t>;
using ReaderByte = std::atomic<std::uint8_t>;
static_assert(sizeof(ReaderByte) == 1);

/// The name of a rank's socket in its directory. `job` separates several launches under one
/// `strake run`, and the two cores of a process.
[[nodiscard]] inline sharing::SocketName socket_name(std::uint64_t job,
                                                     std::int32_t rank) noexcept {
  sharing::SocketName name;
  std::snprintf(name.text, sizeof(name.text), "%016" PRIx64 "-%" PRId32, job, rank);
  return name;
}

/// A datagram that announces a rank's first segment, or one of its regions, to another rank; or
/// that regions are freed. It comes with their descriptors (that of the first segment, where memory
/// of a device has none).
struct Announcement {
  Identity from;
  std::uint64_t job = 0;
  std::int32_t region = kFirst;
  std::uint32_t generation = 0;
  std::int64_t region_bytes = 0;
  ExportedMemory device_memory{};  ///< of a region of a device
  /// The generations of freed regions of devices, from kFirstDeviceRegion on; 0: it is none.
  std::array<std::uint32_t, sharing::DeviceExports::kMost> freed{};

  static constexpr std::int32_t kFirst = -1;  ///< the first segment itself
  static constexpr std::int32_t kFreed = -2;  ///< `freed` are not there any more
};
static_assert(sizeof(Announcement) < sharing::DescriptorSocket::kLongestMessage);

}  // namespace strake::exchange::peers
