/// \file  The communicator of Strake's own messages, which no call of the program meets, and the
/// numbers by which the ranks of a communicator know it there. All ranks of a job agree on both,
/// where the program calls MPI collectively anyhow: in MPI_Init, and in the blocking calls that
/// make communicators (decision 28).
#pragma once

#include <mpi.h>

#include <cstdint>

namespace strake::mpi {

/// Settings that may differ between the ranks of a job, which have to act alike.
struct Wishes {
  bool off = false;        ///< collective calls are the MPI library's
  bool forced = false;     ///< they are Strake's, whatever is faster
  bool untried = false;    ///< no call is timed
  bool relayed = false;    ///< they are forced, and go by relays where there are any
  bool kept = false;       ///< ranks are never reordered
  bool reordered = false;  ///< ranks are reordered, however little less leaves their nodes
};
/// In MPI_Init, of all ranks of MPI_COMM_WORLD: makes the communicator, unless some rank wants that
/// `off`. Returns the number of MPI_COMM_WORLD; 0: it was not made.
[[nodiscard]] std::int32_t open_own_world(const Wishes& wishes) noexcept;
/// The wishes that any rank has, once open_own_world() was called; before, that all is off, and
/// that ranks are kept.
[[nodiscard]] const Wishes& common_wishes() noexcept;
/// Before MPI ends.
void close_own_world() noexcept;
/// The communicator; its ranks are those of MPI_COMM_WORLD, and its errors are returned.
/// MPI_COMM_NULL: there is none.
[[nodiscard]] MPI_Comm own_world() noexcept;

/// Returns a number for `made`, alike on all of its ranks; no two communicators that share a rank
/// have the same. 0: some rank is not `willing`, or no number is left. Collective over `made`.
[[nodiscard]] std::int32_t agree_on_number(MPI_Comm made, bool willing) noexcept;
/// The first tag of own_world() that single messages have. Lower tags are numbers of communicators;
/// there are as many tags of each kind.
[[nodiscard]] std::int32_t first_single_tag() noexcept;

}  // namespace strake::mpi
