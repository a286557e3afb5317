/// \file  The benchmark's control of the stub library (stub.cpp) in its process.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bench {

/// The stub's own variable `bench_stub_control`, found by dlsym.
struct StubControl {
  std::int64_t calls = 0;  ///< of the stub's MPI functions
  /// Sends from and receives into the memory from `program_begin` to `program_end`: an interposer
  /// that packs gives other buffers to the library.
  std::int64_t program_messages = 0;
  const std::byte* program_begin = nullptr;
  const std::byte* program_end = nullptr;
  /// The size that every receive reports. (A receive of Strake has room for one byte more than its
  /// message on Open MPI.) [bytes]
  std::int64_t message_bytes = 0;
  /// Sends keep their bytes, and the receive of the same tag gets them: for checks. A receive is
  /// otherwise complete at once and leaves its buffer alone.
  bool loop_back = false;
  /// A send has a request of its own, not the one that all sends share.
  bool own_send_requests = false;
};

}  // namespace bench
