/// \file  The state of MPI in this process: whether there is an MPI_COMM_WORLD, and whether several
/// threads may call MPI at a time.
#pragma once

#include <atomic>
#include <mutex>

namespace strake::mpi {

/// Whether there is an MPI_COMM_WORLD: not in a program that uses only sessions, nor after
/// MPI_Finalize.
[[nodiscard]] bool in_world() noexcept;
/// Call it after MPI_Finalize.
void leave_world() noexcept;

/// MPI_THREAD_MULTIPLE: another thread may be in a blocking call, so no work may be left to "the
/// next call".
inline constinit std::atomic<bool> g_multiple{false};

/// Locks only where several threads may be in MPI at a time. ~1 ns where not.
class Lock {
 public:
  explicit Lock(std::mutex& mutex) : mutex_(g_multiple ? &mutex : nullptr) {
    if (mutex_ != nullptr) mutex_->lock();
  }
  ~Lock() {
    if (mutex_ != nullptr) mutex_->unlock();
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  std::mutex* mutex_;
};

}  // namespace strake::mpi
