/// \file  How the bytes of one message travel, and the one function that chooses it.
/// Sources: dissertation 5.5 (device, one-shot, staged).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "strake/layout.hpp"
#include "strake/memory.hpp"

namespace strake::exchange {

enum class Method : std::uint8_t {
  System,   ///< leave it to the MPI library
  Pack,     ///< pack in host memory, send the packed bytes
  Device,   ///< pack in device memory, hand that to a GPU-aware MPI
  OneShot,  ///< pack straight into mapped host memory
  Staged,   ///< pack in device memory, copy to pinned host memory, piece by piece
};
inline constexpr int kMethods = 5;

/// Why a message was left to the system, or took a way that is not the best.
enum class Reason : std::uint8_t {
  None,
  Contiguous,   ///< contiguous host memory: nothing to gain
  Empty,        ///< no bytes, or no peer
  UnknownType,  ///< a datatype that was never committed here (the system reports what is wrong with
                ///< it)
  BadArguments,    ///< the system reports what is wrong with them
  SystemIsFaster,  ///< blocks so long, or a message so short, that the system's own way wins
  NotDecodable,    ///< a datatype that could not be decoded
  GpuAware,        ///< contiguous device memory that the MPI library takes as it is
  Forced,          ///< STRAKE_METHOD
  OutOfMemory,     ///< a temporary buffer could not be had
  Collective,      ///< collectives are the system's
  External,        ///< external32, whose byte order is its own
  OneSided,        ///< one-sided operations are the system's
  Combined,        ///< a nonblocking send and receive with one request are the system's
  NoKernels,       ///< memory of a device that the kernels were not compiled for
};
inline constexpr int kReasons = 15;

/// "system", "pack", …
[[nodiscard]] const char* name_of(Method method) noexcept;
/// For people: "contiguous host memory".
[[nodiscard]] const char* name_of(Reason reason) noexcept;

enum class Direction : std::uint8_t { Send, Receive };

/// How a layout's blocks follow each other in memory: those of the box that has most of them, where
/// there are several (a struct of one subarray a field).
enum class Spread : std::uint8_t {
  Near,
  Sparse,  ///< each half a cache line or more from the next: a copy moves much more than it takes
  Far,     ///< each a kilobyte or more from the next: page walks set the time of any copy
  Transpose,  ///< far, but an outer dimension comes back to fill the lines between
};
[[nodiscard]] Spread spread_of(const Layout& layout) noexcept;
/// Bytes from block to block of that box's innermost dimension; 0 where there is none, or the
/// blocks are listed.
[[nodiscard]] std::int64_t pitch_of(const Layout& layout) noexcept;

/// [bytes] In host memory, longer blocks on the average are left to the library, whose copies of
/// such rows are as good: packing them in an H200's host took 1.0 to 2.4 times the library's time,
/// but for a few KiB to 64 KiB of 1 KiB rows (0.85).
inline constexpr std::int64_t kPackMaxMeanBlock = 512;

/// One message to be placed: everything a choice may depend on.
struct Transfer {
  Direction direction = Direction::Send;
  bool dense = false;  ///< the bytes lie side by side
  Place place;
  std::int64_t bytes = 0;
  std::int64_t blocks = 1;
  Spread spread = Spread::Near;
  bool nonblocking = false;  ///< needs an operation and a request of its own
  std::int64_t pitch = 0;    ///< as pitch_of()

  [[nodiscard]] std::int64_t mean_block() const noexcept {
    return blocks > 0 ? bytes / blocks : bytes;
  }
};

struct Choice {
  Method method = Method::System;
  Reason reason = Reason::None;
};

/// What STRAKE_METHOD forces; nothing for auto.
[[nodiscard]] std::optional<Method> forced_method() noexcept;
/// The choice where no time can change it: contiguous host memory, and a forced method that can be
/// used.
[[nodiscard]] std::optional<Choice> settled_choice(const Transfer& transfer,
                                                   std::optional<Method> forced,
                                                   bool gpu_aware) noexcept;

/// The choice for device memory where nothing was measured. `one_shot_limit` as
/// STRAKE_ONE_SHOT_LIMIT.
[[nodiscard]] Choice built_in_device(const Transfer& transfer, bool gpu_aware,
                                     std::int64_t one_shot_limit) noexcept;

/// The method for one message: by this machine's profile, and by built-in rules where it has none
/// or lacks a part. ~10 ns for what was asked before, ~250 ns else (the first call looks for the
/// profile, ~1 ms). Never fails.
[[nodiscard]] Choice choose(const Transfer& transfer) noexcept;
/// The same without a look at earlier choices.
[[nodiscard]] Choice choose_anew(const Transfer& transfer) noexcept;

/// "Open MPI 4.1.4": the name of the library in profiles.
[[nodiscard]] std::string mpi_library();

/// Whether this machine's profile has results of that library: else host memory goes by built-in
/// rules.
[[nodiscard]] bool library_is_measured() noexcept;

/// Whether the MPI library takes device pointers: its own word, unless STRAKE_GPU_AWARE says
/// otherwise or a job that tried did not survive it.
[[nodiscard]] bool mpi_is_gpu_aware() noexcept;

}  // namespace strake::exchange
