#include "interpose/untestable.hpp"

#include <atomic>
#include <mutex>
#include <new>
#include <unordered_map>

#include "mpi/quirks.hpp"
#include "state/process_state.hpp"

namespace strake::interpose {
namespace {

struct Known {
  std::atomic<bool> any{false};
  std::mutex mutex;
  std::unordered_map<MPI_Request, Untestable> requests;
};
Known& known() { return ProcessState::part<Known>(); }

}  // namespace

void remember_untestable(MPI_Request request, Untestable how) noexcept {
  if (!mpi::quirks::kTestallRepeatsBadly) return;
  try {
    const std::lock_guard lock(known().mutex);
    known().requests.insert_or_assign(request, how);
    known().any.store(true, std::memory_order_release);
  } catch (const std::bad_alloc&) {
    // Not remembered: an MPI_Testall with this request may then fail.
  }
}

void forget_untestable(MPI_Request request) {
  if (!known().any.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(known().mutex);
  known().requests.erase(request);
}

Untestable untestable(MPI_Request request) {
  if (!known().any.load(std::memory_order_acquire)) return Untestable::No;
  const std::lock_guard lock(known().mutex);
  const auto found = known().requests.find(request);
  return found != known().requests.end() ? found->second : Untestable::No;
}

}  // namespace strake::interpose
