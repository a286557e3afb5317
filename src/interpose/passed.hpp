/// \file  Wrappers of the functions that are always passed on. They count the call for the summary.
/// Those that may block first post the sends that are not posted yet.
#pragma once

#include <tuple>

#include "interpose/boundary.hpp"
#include "interpose/counters.hpp"
#include "interpose/requests.hpp"
#include "interpose/untestable.hpp"
#include "mpi/communicators.hpp"

namespace strake::interpose {

struct Kind {
  exchange::Reason reason;  ///< under which the call is counted; None: it moves no data
  /// Whether the call may wait for another rank, which may itself wait for a send from here
  /// (decision 4).
  bool may_block;
  /// The kind of request that the call returns by its last argument.
  Untestable untestable = Untestable::No;
  /// Whether the call makes a communicator, its last argument, of its first one.
  bool makes_communicator = false;
  friend constexpr bool operator==(const Kind&, const Kind&) = default;
};
inline constexpr Kind kLocal{exchange::Reason::None, false};
inline constexpr Kind kBlocking{exchange::Reason::None, true};
inline constexpr Kind kCommunicator{exchange::Reason::None, true, Untestable::No, true};
inline constexpr Kind kCollective{exchange::Reason::Collective, true};
inline constexpr Kind kNonblocking{exchange::Reason::Collective, false};
/// The standard lets a put wait for the lock, or for the target's post.
inline constexpr Kind kOneSided{exchange::Reason::OneSided, true};
inline constexpr Kind kExternal{exchange::Reason::External, false};
inline constexpr Kind kPartitioned{exchange::Reason::None, false, Untestable::Beside};
inline constexpr Kind kPersistent{exchange::Reason::Collective, true, Untestable::Beside};
inline constexpr Kind kPersistentBarrier{exchange::Reason::None, true, Untestable::Beside};
inline constexpr Kind kFile{exchange::Reason::None, false, Untestable::Again};

/// All ranks of `parent` that are in `made` have made it.
void communicator_made(MPI_Comm parent, MPI_Comm made) noexcept;

/// The whole wrapper of such a function; `count()` counts the call. A few ns while nothing is in
/// flight.
template <Kind kind, typename Count, typename Real, typename... Args>
int pass_counted(const Count& count, Real real, Args... args) {
  if (t_depth == 0 && !g_disabled) {
    count();
    if constexpr (kind.may_block) Requests::get().hand_on();
  }
  const int code = real(args...);
  if constexpr (kind.may_block) {
    if (t_depth == 0) after_call();
  }
  if constexpr (kind.makes_communicator) {
    const auto all = std::tie(args...);
    if (code == MPI_SUCCESS)
      communicator_made(std::get<0>(all), *std::get<sizeof...(args) - 1>(all));
  }
  if constexpr (kind.untestable != Untestable::No) {
    if (code == MPI_SUCCESS)
      remember_untestable(*std::get<sizeof...(args) - 1>(std::tie(args...)), kind.untestable);
  }
  return code;
}

/// One whose bytes are not known.
template <Kind kind, typename Real, typename... Args>
int pass(Real real, Args... args) {
  const auto count = [] {
    if constexpr (kind.reason != exchange::Reason::None) record_passed(kind.reason);
  };
  return pass_counted<kind>(count, real, args...);
}

}  // namespace strake::interpose
