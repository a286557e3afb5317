#include "interpose/messages.hpp"

#include <mutex>
#include <new>
#include <unordered_map>

namespace strake::interpose {
namespace {

struct Messages {
  std::mutex mutex;
  std::unordered_map<MPI_Message, MPI_Comm> comms;
};

/// Never destroyed, since other threads may outlive main.
Messages& messages() {
  static auto& made = *new Messages;
  return made;
}

}  // namespace

void remember_message(MPI_Message message, MPI_Comm comm) noexcept {
  if (message == MPI_MESSAGE_NULL || message == MPI_MESSAGE_NO_PROC) return;
  try {
    const std::lock_guard lock(messages().mutex);
    messages().comms.insert_or_assign(message, comm);
  } catch (const std::bad_alloc&) {
    // Its errors are then raised on MPI_COMM_WORLD.
  }
}

MPI_Comm forget_message(const MPI_Message* message) {
  if (message == nullptr) return MPI_COMM_WORLD;
  const std::lock_guard lock(messages().mutex);
  const auto known = messages().comms.extract(*message);
  return known ? known.mapped() : MPI_COMM_WORLD;
}

}  // namespace strake::interpose
