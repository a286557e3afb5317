#include "interpose/messages.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <unordered_map>

#include "state/process_state.hpp"

namespace strake::interpose {
namespace {

struct Messages {
  std::mutex mutex;
  std::unordered_map<MPI_Message, Origin> origins;
};

Messages& messages() { return ProcessState::part<Messages>(); }

}  // namespace

void remember_message(MPI_Message message, MPI_Comm comm, bool header) noexcept {
  if (message == MPI_MESSAGE_NULL || message == MPI_MESSAGE_NO_PROC) return;
  try {
    const std::lock_guard lock(messages().mutex);
    messages().origins.insert_or_assign(message, Origin{comm, mpi::communicator(comm), header});
  } catch (const std::bad_alloc&) {
    // Its errors are then raised on MPI_COMM_WORLD.
  }
}

bool holds_headers(std::uint64_t comm) noexcept {
  const std::lock_guard lock(messages().mutex);
  return std::ranges::any_of(messages().origins, [comm](const auto& message) {
    const Origin& origin = message.second;
    return origin.header && origin.communicator != nullptr && origin.communicator->name == comm;
  });
}

Origin forget_message(const MPI_Message* message) {
  if (message == nullptr) return {};
  const std::lock_guard lock(messages().mutex);
  const auto known = messages().origins.extract(*message);
  return known ? known.mapped() : Origin{};
}

}  // namespace strake::interpose
