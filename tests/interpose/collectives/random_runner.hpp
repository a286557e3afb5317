/// \file  Runs the steps of random collectives. A step is a blocking call, or several calls that
/// are under way at the same time. Each is drawn from the seed and its own number alone.
#pragma once

#include <mpi.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "random_operation.hpp"
#include "random_traffic.hpp"

namespace random_collectives {

class Runner {
 public:
  /// `alone` is how to run it by itself, but for the steps.
  Runner(const Options& options, std::string alone);
  /// All steps; notes what must be the same in every run.
  void run();

 private:
  /// A step, as all ranks draw it.
  struct Step {
    int number = 0;
    std::vector<Call> calls;
    std::vector<Call> blocking;  ///< while those are under way
    std::size_t begun_before_traffic = 0;
  };
  [[nodiscard]] Step draw(int number) const;
  void run(const Step& step);
  void run_blocking(const Call& call, std::uint64_t number);
  /// One start of each call that has this many; then the completion of all.
  void run_round(const Step& step, int round);
  void probe(int step);
  /// \{ (random_completions.cpp)
  void wait_for_all(const Step& step, int round);
  void test_each(std::vector<int> indices);
  void complete_some(int manner);
  /// \}
  void completed(int index, const MPI_Status& status);
  [[nodiscard]] std::unique_ptr<Operation> make(const Call& call, std::uint64_t number);
  [[nodiscard]] bool takes_part(const Call& call) const;
  Comm& comm_of(const Call& call) { return comms_[static_cast<std::size_t>(call.comm)]; }
  /// Names the present call for the watchdog and for failures.
  void enter(const std::string& what);
  void require(const std::string& difference);

  Options options_;
  std::string alone_;
  Shapes shapes_;
  std::vector<Comm> comms_;
  Traffic traffic_;
  int step_ = 0;
  std::vector<std::unique_ptr<Operation>> operations_;  ///< of the step
  std::vector<MPI_Request> persistent_;                 ///< of each operation, where there is one
  /// \{ State of the round: the requests of the operations that began, then those of messages.
  std::vector<MPI_Request> requests_;
  std::vector<std::size_t> of_request_;  ///< the operation's index
  std::vector<bool> is_complete_;
  int receive_ = kNone;  ///< the request of MPI_Irecv
  /// \}
  std::array<char, 1024> now_{};
};

}  // namespace random_collectives
