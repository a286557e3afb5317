/// \file  This rank's part of one collective call: its buffers, the MPI call, the comparison.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>

#include "random_call.hpp"

namespace random_collectives {

class Operation {
 public:
  explicit Operation(const Call& call) : call_(call) {}
  virtual ~Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  /// Starts a round, and completes it if the call is blocking. A request that is none yet becomes
  /// one; a persistent one is started again.
  void begin(MPI_Request& request);
  /// After its completion: describes what is wrong, if anything is.
  std::string check();
  [[nodiscard]] const Call& call() const { return call_; }
  [[nodiscard]] int round() const { return round_; }

 protected:
  /// The buffers get what they hold before round `round`.
  virtual void prepare(int round) = 0;
  /// Calls MPI: its blocking, nonblocking or `_init` function.
  virtual void call_mpi(MPI_Request& request) = 0;
  virtual void free_types() {}
  virtual std::string compare(int round) = 0;

 private:
  const Call call_;
  int round_ = 0;  ///< begun so far
};

/// `draw` is this rank's own. The rank is a member of the communicator.
std::unique_ptr<Operation> make_operation(const Call& call, Comm& comm, Shapes& shapes, Draw draw,
                                          bool on_device);
std::unique_ptr<Operation> make_reduction(const Call& call, const Comm& comm, Shapes& shapes,
                                          Draw draw, bool on_device);

/// The memory of one buffer.
Memory draw_memory(Draw& draw, bool on_device);

/// The root argument, as this rank gives it.
int root_argument(const Call& call, const Comm& comm);

/// CALL_MPI(Alltoall, Ialltoall, arguments…): the function for the call's mode.
#if MPI_VERSION >= 4
#define CALL_MPI(NAME, INAME, ...)                                        \
  do {                                                                    \
    if (call().mode == Mode::kBlocking) {                                 \
      CHECK_MPI(MPI_##NAME(__VA_ARGS__));                                 \
    } else if (call().mode == Mode::kNonblocking) {                       \
      CHECK_MPI(MPI_##INAME(__VA_ARGS__, &request));                      \
    } else {                                                              \
      CHECK_MPI(MPI_##NAME##_init(__VA_ARGS__, MPI_INFO_NULL, &request)); \
    }                                                                     \
  } while (false)
#else
// A nonblocking one in place of a persistent one.
#define CALL_MPI(NAME, INAME, ...)                   \
  do {                                               \
    if (call().mode == Mode::kBlocking) {            \
      CHECK_MPI(MPI_##NAME(__VA_ARGS__));            \
    } else {                                         \
      CHECK_MPI(MPI_##INAME(__VA_ARGS__, &request)); \
    }                                                \
  } while (false)
#endif

}  // namespace random_collectives
