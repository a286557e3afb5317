// The functions behind include/strake/mpix.h: all ranks of a communicator commit a datatype
// together.
#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "exchange/transport/plans.hpp"
#include "exchange/transport/shared/shm_endpoint.hpp"
#include "interpose/boundary.hpp"
#include "mpi/communicators.hpp"
#include "mpi/real_mpi.hpp"
#include "mpi/types.hpp"
#include "settings/log.hpp"
#include "state/process_state.hpp"
#include "strake/layout.hpp"

namespace strake::interpose {
namespace {

using exchange::shared::ShmEndpoint;

struct Committed {
  MPI_Datatype type;
  MPI_Comm comm;
  Layout layout;

  [[nodiscard]] bool is(MPI_Datatype other, MPI_Comm on) const noexcept {
    return type == other && comm == on;
  }
};
struct AllCommitted {
  std::mutex mutex;
  std::vector<Committed> types;
};

/// Raises an error if `comm` is null or an intercommunicator, or `type` is null, alike on all
/// ranks. Returns the error's code, or MPI_SUCCESS.
int refused(const MPI_Datatype* type, MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return raise(comm, MPI_ERR_COMM);
  int between_groups = 0;
  const int code = real_mpi().MPI_Comm_test_inter(comm, &between_groups);
  if (code != MPI_SUCCESS) return code;
  if (between_groups != 0) return raise(comm, MPI_ERR_COMM);
  return type == nullptr ? raise(comm, MPI_ERR_ARG) : MPI_SUCCESS;
}

/// The greatest of each word over all ranks.
template <std::size_t kWords>
std::array<std::uint64_t, kWords> greatest(const std::array<std::uint64_t, kWords>& mine,
                                           MPI_Comm comm) {
  std::array<std::uint64_t, kWords> all{};
  mpi::check(real_mpi().MPI_Allreduce(mine.data(), all.data(), kWords, MPI_UINT64_T, MPI_MAX, comm),
             "MPI_Allreduce");
  return all;
}

/// One element's, if the type can be decoded.
mpi::ElementsPtr element_of(MPI_Datatype type) {
  mpi::TypeRecord* const record = mpi::find_type(type);
  constexpr std::int64_t kWorthwhile = 1 << 20;
  try {  // the other ranks wait
    if (record == nullptr || !record->ready(type, kWorthwhile, mpi::Use::Often) ||
        !record->decodable())
      return nullptr;
    return record->elements(1);
  } catch (const std::exception& error) {
    log::info("a datatype is committed, and no more: {}", error.what());
    return nullptr;
  }
}

/// Whether messages can go to all ranks by shared memory already; asks those that are not reached.
bool reaches_all(ShmEndpoint* endpoint, MPI_Comm comm) {
  const mpi::CommunicatorPtr known = mpi::communicator(comm);
  if (endpoint == nullptr || known == nullptr) return true;
  exchange::peers::Directory& directory = endpoint->directory();
  bool all = true;
  for (const int rank : known->world)
    all = (rank < 0 || directory.reaches(rank) || !directory.may_answer(rank)) && all;
  return all;
}

/// The ranks of the node that share memory find each other: each announces itself, then each
/// answers.
void announce_all(ShmEndpoint* endpoint, MPI_Comm comm) {
  for (int step = 0; step < 2; ++step) {
    mpi::check(real_mpi().MPI_Barrier(comm), "MPI_Barrier");
    if (endpoint != nullptr) endpoint->directory().take_announcements();
    mpi::check(real_mpi().MPI_Barrier(comm), "MPI_Barrier");
    (void)reaches_all(endpoint, comm);
  }
}

/// Lets go of what was committed under a handle: another type may have had it before.
void forget(MPI_Datatype type, MPI_Comm comm) {
  auto& [mutex, types] = ProcessState::part<AllCommitted>();
  const std::lock_guard lock(mutex);
  std::erase_if(types, [&](const Committed& one) {
    if (!one.is(type, comm)) return false;
    if (ShmEndpoint* const endpoint = ShmEndpoint::get()) endpoint->let_go(one.layout);
    return true;
  });
}

int commit_comm(MPI_Datatype* type, MPI_Comm comm) {
  if (const int code = refused(type, comm); code != MPI_SUCCESS) return code;
  const int committed = MPI_Type_commit(type);
  return receiving(
      comm, [&] { return committed; },
      [&] {
        Requests::get().hand_on();
        mpi::ElementsPtr element;
        if (committed == MPI_SUCCESS) {
          forget(*type, comm);
          element = element_of(*type);
        }
        const Hash128 hash = element != nullptr ? element->layout().hash() : Hash128{};
        ShmEndpoint* const endpoint = ShmEndpoint::get();
        const std::uint64_t failed = committed != MPI_SUCCESS ? 1 : 0;
        const std::uint64_t strangers = reaches_all(endpoint, comm) ? 0 : 1;
        // The least word is the greatest of the complements.
        const auto all =
            greatest<6>({hash.lo, ~hash.lo, hash.hi, ~hash.hi, failed, strangers}, comm);
        if (committed != MPI_SUCCESS) return committed;
        if (all[4] != 0 || all[0] != ~all[1] || all[2] != ~all[3]) return raise(comm, MPI_ERR_TYPE);
        const Layout layout = element != nullptr ? element->layout() : Layout();
        if (all[5] != 0) announce_all(endpoint, comm);
        if (endpoint != nullptr) endpoint->prepare(layout);
        if (element != nullptr && !element->dense()) {
          constexpr Place kHost = {MemoryKind::Host, -1};
          for (const MessageDirection direction :
               {MessageDirection::Send, MessageDirection::Receive})
            (void)exchange::plans_of(*element).plan(direction, kHost, kHost);
        }
        auto& [mutex, types] = ProcessState::part<AllCommitted>();
        const std::lock_guard lock(mutex);
        types.push_back({*type, comm, layout});
        return MPI_SUCCESS;
      });
}

int free_comm(MPI_Datatype* type, MPI_Comm comm) {
  if (const int code = refused(type, comm); code != MPI_SUCCESS) return code;
  return receiving(
      comm, [&] { return MPI_Type_free(type); },
      [&] {
        Requests::get().hand_on();
        bool found = false;
        {
          auto& [mutex, types] = ProcessState::part<AllCommitted>();
          const std::lock_guard lock(mutex);
          found = std::any_of(types.begin(), types.end(),
                              [&](const Committed& one) { return one.is(*type, comm); });
        }
        const auto unknown = greatest<1>({found ? 0U : 1U}, comm);
        if (unknown[0] != 0) return raise(comm, MPI_ERR_TYPE);
        forget(*type, comm);
        return MPI_Type_free(type);
      });
}

}  // namespace
}  // namespace strake::interpose

STRAKE_MPI int strake_type_commit_comm(MPI_Datatype* type, MPI_Comm comm) {
  return strake::interpose::commit_comm(type, comm);
}

STRAKE_MPI int strake_type_free_comm(MPI_Datatype* type, MPI_Comm comm) {
  return strake::interpose::free_comm(type, comm);
}

namespace {

/// For Fortran, whose handles are integers.
template <typename Function>
void for_fortran(Function function, MPI_Fint* type, const MPI_Fint* comm, MPI_Fint* ierror) {
  MPI_Datatype handle = PMPI_Type_f2c(*type);
  *ierror = function(&handle, PMPI_Comm_f2c(*comm));
  *type = PMPI_Type_c2f(handle);
}

}  // namespace

STRAKE_MPI void strake_type_commit_comm_fortran(MPI_Fint* type, const MPI_Fint* comm,
                                                MPI_Fint* ierror) {
  for_fortran(strake_type_commit_comm, type, comm, ierror);
}

STRAKE_MPI void strake_type_free_comm_fortran(MPI_Fint* type, const MPI_Fint* comm,
                                              MPI_Fint* ierror) {
  for_fortran(strake_type_free_comm, type, comm, ierror);
}
