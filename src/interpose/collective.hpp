/// \file  Wrappers of the collective functions: a call whose buffers the MPI library reaches is
/// passed on, another one gets mirrors of them (interpose/staging.hpp).
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "interpose/boundary.hpp"
#include "interpose/passed.hpp"
#include "interpose/pending.hpp"
#include "interpose/staging.hpp"
#include "mpi/types.hpp"

namespace strake::interpose {

/// Before the MPI library makes the request of a call with mirrors: `*request` is null then.
[[nodiscard]] OwnedPending entry_of(std::unique_ptr<Staged> staged, MPI_Request* request);
/// After that, which returned `code`: what was received is copied back when the request of a
/// nonblocking call is complete, or each time that of a persistent one is. Returns the code of it
/// all.
int keep_staged(OwnedPending entry, const MPI_Request* request, int code, bool persistent);

/// Has the call's mirrors in the place of its buffers.
template <const CollectiveShape& shape, typename Arguments>
void put_mirrors(const Staged& staged, Arguments& arguments) {
  if constexpr (shape.sent.address != kNone) {
    if (staged.sent) std::get<shape.sent.address>(arguments) = staged.sent->mirror.address();
  }
  if (staged.received)
    std::get<shape.received.address>(arguments) = staged.received->mirror.address();
}

template <const CollectiveShape& shape, typename Arguments>
MPI_Comm comm_of(const Arguments& arguments) {
  if constexpr (shape.comm == kNone) {
    return MPI_COMM_WORLD;
  } else {
    return std::get<shape.comm>(arguments);
  }
}

/// How many blocks a buffer has. 0: not known.
[[nodiscard]] std::int64_t count_blocks(Blocks blocks, MPI_Comm comm);

/// The datatype whose size this thread asked for last.
struct LastSize {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::uint64_t generation = 0;
  std::int64_t bytes = 0;
};
inline thread_local LastSize t_last_size;
/// The general case of element_size().
[[nodiscard]] std::int64_t look_up_size(MPI_Datatype type);
/// [bytes] 0 where `type` is none.
inline std::int64_t element_size(MPI_Datatype type) {
  const LastSize& last = t_last_size;
  const bool same = last.type == type &&
                    last.generation == mpi::g_type_generation.load(std::memory_order_relaxed);
  return same ? last.bytes : look_up_size(type);
}

/// [bytes] Of all blocks of a buffer. 0 where that is not known.
template <BufferShape buffer, Blocks blocks, typename Arguments>
std::int64_t bytes_of_blocks(const Arguments& arguments, MPI_Comm comm) {
  const auto counts = std::get<buffer.count>(arguments);
  const auto type = std::get<buffer.type>(arguments);
  if constexpr (!std::is_pointer_v<std::remove_cvref_t<decltype(counts)>>) {
    const std::int64_t all = blocks == Blocks::One ? 1 : count_blocks(blocks, comm);
    return all * static_cast<std::int64_t>(counts) * element_size(type);
  } else {
    std::int64_t bytes = 0;
    // An array for one block: in place, where each rank has one of all blocks.
    const std::int64_t all = blocks == Blocks::One ? 0 : count_blocks(blocks, comm);
    for (std::int64_t i = 0; i < all; ++i) {
      if (counts[i] <= 0) continue;
      if constexpr (buffer.types_of_blocks) {
        bytes += static_cast<std::int64_t>(counts[i]) * element_size(type[i]);
      } else {
        bytes += static_cast<std::int64_t>(counts[i]) * element_size(type);
      }
    }
    return bytes;
  }
}

/// [bytes] What this rank is to send by a call with these arguments; where a root alone sends, what
/// it is to receive. 0 where that is not known.
template <const CollectiveShape& shape, typename Arguments>
std::int64_t bytes_asked(const Arguments& arguments) {
  constexpr bool kSends = shape.sent.address != kNone && shape.sent.used_by != UsedBy::Root;
  constexpr BufferShape kAsked = kSends ? shape.sent : shape.received;
  if constexpr (shape.root != kNone) {
    const int root = std::get<shape.root>(arguments);
    if (root == MPI_ROOT || root == MPI_PROC_NULL) return 0;
  }
  const MPI_Comm comm = comm_of<shape>(arguments);
  if (std::get<kAsked.address>(arguments) != MPI_IN_PLACE)
    return bytes_of_blocks<kAsked, kAsked.blocks>(arguments, comm);
  if constexpr (kSends) {
    return bytes_of_blocks<shape.received, kAsked.blocks>(arguments, comm);
  } else {
    return 0;  // a root's own block
  }
}

/// A call that is passed on for that reason.
template <const CollectiveShape& shape, Kind kind, typename Real, typename... Args>
int pass_collective(Reason reason, Function function, Real real, Args... args) {
  if constexpr (shape.comm == kNone) {
    return pass<kind>(real, args...);
  } else {
    const auto count = [&] {
      record({function, Transport::Library, reason, bytes_asked<shape>(std::tie(args...))});
    };
    return pass_counted<kind>(count, real, args...);
  }
}

/// The general case of the handlers below: `run(staged, arguments)` carries out a call with
/// mirrors, which are in its arguments.
template <const CollectiveShape& shape, Kind kind, typename Real, typename Run, typename... Args>
[[gnu::noinline]] int stage_or_pass(Reason reason, Function function, Real real, const Run& run,
                                    Args... args) {
  std::tuple<Args...> arguments(args...);
  const MPI_Comm comm = comm_of<shape>(arguments);
  std::unique_ptr<Staged> staged;
  const int code = guarded(comm, [&] {
    constexpr Uses kUses = kind == kPersistent ? Uses::Many : Uses::One;
    staged = stage(function, shape, std::array{Argument(args)...}, kUses);
    return MPI_SUCCESS;
  });
  if (code != MPI_SUCCESS) return code;
  if (staged == nullptr) return pass_collective<shape, kind>(reason, function, real, args...);
  put_mirrors<shape>(*staged, arguments);
  return receiving(
      comm, [&] { return real(args...); }, [&] { return run(std::move(staged), arguments); });
}

/// Whether a call may have buffers that the MPI library does not reach.
inline bool may_need_mirrors() noexcept {
  return device_is_out_of_reach() && t_depth == 0 && !g_disabled;
}

/// \{ The MPI library's call, counted for that reason where it is passed on.
template <const CollectiveShape& shape, typename Real, typename... Args>
int collective_as(Reason reason, Function function, Real real, Args... args) {
  constexpr Kind kKind = shape.comm == kNone ? kLocal : kCollective;
  if (!may_need_mirrors()) [[likely]]
    return pass_collective<shape, kKind>(reason, function, real, args...);
  const auto run = [&](std::unique_ptr<Staged> staged, std::tuple<Args...>& arguments) {
    Requests::get().hand_on();
    staged->begin();
    const int code = std::apply(real, arguments);
    if (code == MPI_SUCCESS) staged->end();
    return code;
  };
  return stage_or_pass<shape, kKind>(reason, function, real, run, args...);
}

template <const CollectiveShape& shape, typename Real, typename... Args>
int nonblocking_as(Reason reason, Function function, Real real, Args... args) {
  if (!may_need_mirrors()) [[likely]]
    return pass_collective<shape, kNonblocking>(reason, function, real, args...);
  const auto run = [&](std::unique_ptr<Staged> staged, std::tuple<Args...>& arguments) {
    MPI_Request* const request = std::get<sizeof...(args) - 1>(arguments);
    staged->begin();
    OwnedPending entry = entry_of(std::move(staged), request);
    const int code = std::apply(real, arguments);
    return keep_staged(std::move(entry), request, code, false);
  };
  return stage_or_pass<shape, kNonblocking>(reason, function, real, run, args...);
}

template <const CollectiveShape& shape, typename Real, typename... Args>
int persistent_as(Reason reason, Function function, Real real, Args... args) {
  if (!may_need_mirrors()) [[likely]]
    return pass_collective<shape, kPersistent>(reason, function, real, args...);
  const auto run = [&](std::unique_ptr<Staged> staged, std::tuple<Args...>& arguments) {
    MPI_Request* const request = std::get<sizeof...(args) - 1>(arguments);
    Requests::get().hand_on();
    OwnedPending entry = entry_of(std::move(staged), request);
    const int code = std::apply(real, arguments);
    return keep_staged(std::move(entry), request, code, true);
  };
  return stage_or_pass<shape, kPersistent>(reason, function, real, run, args...);
}

/// \}

/// \{ The whole wrappers: of a blocking collective and of MPI_Reduce_local, of a nonblocking one,
/// and of a call that makes a persistent one.
template <const CollectiveShape& shape, typename... Args>
int collective(Function function, Args... args) {
  return collective_as<shape>(Reason::Collective, function, args...);
}
template <const CollectiveShape& shape, typename... Args>
int nonblocking(Function function, Args... args) {
  return nonblocking_as<shape>(Reason::Collective, function, args...);
}
template <const CollectiveShape& shape, typename... Args>
int persistent(Function function, Args... args) {
  return persistent_as<shape>(Reason::Collective, function, args...);
}
/// \}

}  // namespace strake::interpose
