/// \file  How the bytes of one message travel, and the one function that chooses it.
/// Sources: dissertation 5.5 (device, one-shot, staged).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "exchange/choice/forced.hpp"
#include "machine/message.hpp"
#include "machine/transport.hpp"
#include "mpi/elements.hpp"

namespace strake::machine {
class Model;
}

namespace strake::exchange {

using machine::Message;
using machine::MessageDirection;
using machine::Transport;

/// Why a message was left to the MPI library, or took a way that is not the best.
enum class Reason : std::uint8_t {
  None,
  Contiguous,    ///< contiguous host memory: nothing to gain
  Empty,         ///< no bytes, or no peer
  UnknownType,   ///< a datatype that was never committed here: the MPI library says what is wrong
  BadArguments,  ///< the MPI library says what is wrong with them
  LibraryIsFaster,   ///< by this machine's profile
  NotDecodable,      ///< a datatype that could not be decoded
  GpuAware,          ///< contiguous device memory that the MPI library takes as it is
  Forced,            ///< STRAKE_METHOD
  OutOfMemory,       ///< a temporary buffer could not be had
  Collective,        ///< left to the MPI library
  External,          ///< external32, whose byte order is its own
  OneSided,          ///< left to the MPI library
  Combined,          ///< a nonblocking send and receive with one request
  NoKernels,         ///< memory of a device that the kernels were not compiled for
  FewUses,           ///< a datatype that was not used enough for its decoding to pay
  BuiltInRule,       ///< by a built-in rule: nothing was measured
  Trials,            ///< the MPI library was faster in this job's own trials
  CollectiveTrials,  ///< a collective call, for which that is so, or by which it was found out
  NoAgreement,       ///< a collective call of ranks that have not agreed on another way
};
inline constexpr int kReasons = 20;
/// Whether the message was left because the MPI library is faster, as far as is known.
[[nodiscard]] constexpr bool is_about_speed(Reason reason) noexcept {
  return reason == Reason::LibraryIsFaster || reason == Reason::BuiltInRule ||
         reason == Reason::Trials;
}

/// For people: "contiguous host memory".
[[nodiscard]] const char* name_of(Reason reason) noexcept;

struct Choice {
  Transport transport = Transport::Library;
  Reason reason = Reason::None;
  /// The message goes by memory that the receiver shares instead, where it can. A built-in rule
  /// says so, unless this machine's profile or this job's trials say otherwise.
  bool shares = true;
  /// The receiver is offered the message where it lies, if it can copy it from there. A built-in
  /// rule says so, unless this job's trials say otherwise.
  bool offers = true;
};

/// The choice where no time can change it: contiguous host memory, and a forced transport that can
/// be used.
[[nodiscard]] std::optional<Choice> settled_choice(const Message& message, const Forced* forced,
                                                   bool gpu_aware) noexcept;

/// The choice for device memory where nothing was measured. `one_shot_limit` as
/// STRAKE_ONE_SHOT_LIMIT.
[[nodiscard]] Choice built_in_device(const Message& message, bool gpu_aware,
                                     std::int64_t one_shot_limit) noexcept;

/// A choice by a built-in rule, and the rule in words: "the message is large".
struct HostRule {
  Choice choice;
  const char* why = "";
};
/// The choice for host memory where nothing was measured. `pipelines`: the MPI library packs the
/// next piece of a message while its receiver unpacks the last.
[[nodiscard]] HostRule built_in_host(const Message& message, bool pipelines) noexcept;
/// The choice for host memory by what was measured, and by the built-in rules for the rest.
/// `model`: of messages between any two ranks; `on_node`: between ranks of one node. Null: nothing
/// was measured.
[[nodiscard]] Choice choose_host(const Message& message, const machine::Model* model,
                                 const machine::Model* on_node, bool pipelines) noexcept;

/// A message of some elements of a datatype at `place`.
[[nodiscard]] Message message_of(const mpi::Elements& elements, MessageDirection direction,
                                 Place place, bool nonblocking) noexcept;

/// The transport for one message: by this machine's profile, and by built-in rules where it has
/// none or lacks a part. 100 to 240 ns (the first call looks for the profile, ~1 ms), in jobs of
/// several nodes 100 ns more in host memory. Never fails.
[[nodiscard]] Choice choose(const Message& message) noexcept;
/// The transport for a message of some elements of a datatype at `place`. `elements` keeps
/// choices: ~5 ns for what was asked before.
[[nodiscard]] Choice choose(mpi::Elements& elements, MessageDirection direction, Place place,
                            bool nonblocking) noexcept;

/// Why choose() made this choice of it, in words. Asks anew: 100 to 500 ns.
[[nodiscard]] std::string why_chosen(const Message& message, const Choice& choice);

/// "Open MPI 4.1.4": the name of the library in profiles.
[[nodiscard]] std::string mpi_library();

/// Whether the MPI library takes device pointers: its own word, unless STRAKE_GPU_AWARE says
/// otherwise or a job that tried did not survive it.
[[nodiscard]] bool mpi_is_gpu_aware() noexcept;

}  // namespace strake::exchange
