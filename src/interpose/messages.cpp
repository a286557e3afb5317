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
  std::unordered_map<MPI_Message, Receive> receives;
};

Messages& messages() { return ProcessState::part<Messages>(); }

}  // namespace

void remember_message(MPI_Message message, MPI_Comm comm, bool header) noexcept {
  if (message == MPI_MESSAGE_NULL || message == MPI_MESSAGE_NO_PROC) return;
  try {
    const std::lock_guard lock(messages().mutex);
    messages().receives.insert_or_assign(message, Receive(comm, mpi::communicator(comm), header));
  } catch (const std::bad_alloc&) {
    // Errors of the receive are then raised on MPI_COMM_WORLD.
  }
}

bool holds_headers(std::uint64_t comm) noexcept {
  const std::lock_guard lock(messages().mutex);
  return std::ranges::any_of(messages().receives, [comm](const auto& message) {
    const Receive& receive = message.second;
    return receive.matched_header() && receive.communicator()->name == comm;
  });
}

Receive forget_message(const MPI_Message* message) {
  const bool nobody = message != nullptr && *message == MPI_MESSAGE_NO_PROC;
  const Receive unknown(MPI_COMM_WORLD, nobody ? MPI_PROC_NULL : MPI_ANY_SOURCE);
  if (message == nullptr || nobody) return unknown;
  const std::lock_guard lock(messages().mutex);
  const auto known = messages().receives.extract(*message);
  return known ? known.mapped() : unknown;
}

}  // namespace strake::interpose
