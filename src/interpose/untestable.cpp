#include "interpose/untestable.hpp"

#include <atomic>
#include <mutex>
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

void remember_untestable(MPI_Request request) {
  const std::lock_guard lock(known().mutex);
  known().requests.insert(request);
  known().any.store(true, std::memory_order_release);
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
