#include "interpose/untestable.hpp"

#include <atomic>
#include <mutex>
#include <new>
#include <unordered_set>

namespace strake::interpose {
namespace {

struct Known {
  std::atomic<bool> any{false};
  std::mutex mutex;
  std::unordered_set<MPI_Request> requests;
};
/// Never destroyed, since other threads may outlive main.
Known& known() {
  static auto& made = *new Known;
  return made;
}

}  // namespace

void remember_untestable([[maybe_unused]] MPI_Request request) noexcept {
#ifndef OPEN_MPI
  try {
    const std::lock_guard lock(known().mutex);
    known().requests.insert(request);
    known().any.store(true, std::memory_order_release);
  } catch (const std::bad_alloc&) {
    // A Testall may then fail that would not have.
  }
#endif
}

void forget_untestable(MPI_Request request) {
  if (!known().any.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(known().mutex);
  known().requests.erase(request);
}

bool is_untestable(MPI_Request request) {
  if (!known().any.load(std::memory_order_acquire)) return false;
  const std::lock_guard lock(known().mutex);
  return known().requests.count(request) != 0;
}

}  // namespace strake::interpose
