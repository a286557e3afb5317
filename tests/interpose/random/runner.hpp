/// \file  Runs a random program: this rank's actions, each compared with what the model says.
#pragma once

#include <mpi.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "generator.hpp"
#include "image.hpp"

namespace random_program {

class Runner {
 public:
  /// `alone` is how to run the program by itself, for messages.
  Runner(Generator& program, std::string alone, bool prints);
  /// The whole program. The first mismatch is printed, and ends the job.
  void run();

 private:
  /// An operation that this rank has begun.
  struct Begun {
    MPI_Request request = MPI_REQUEST_NULL;
    std::shared_ptr<BuiltType> type;
    std::unique_ptr<Image> image;
    bool is_complete = false;
    int code = MPI_SUCCESS;
    bool has_status = false;
    MPI_Status status{};
  };
  using Ids = std::vector<int>;

  /// \{ One action (runner.cpp).
  void run(const Action& action);
  void start(int id);
  void startall(const Action& action);
  void probe(const Action& action);
  void probe_nothing(const Action& action);
  void free_requests(const Ids& ids);
  void make_comms(const Action& action);
  void free_comm(const Action& action);
  /// \}
  /// \{ (runner_completions.cpp)
  void complete(const Action& action);
  void ask(const Action& action);
  void cancel_receive(const Action& action);
  /// \}
  /// \{ (runner_groups.cpp)
  void cancel_send(const Action& action);
  void pair(const Action& action);
  void cycle(const Action& action);
  void turn(Turn turn, int send, int receive);
  void race(const Action& action);
  /// \}

  /// Makes its buffer and datatype, or takes those of the persistent request that it starts again.
  Begun& prepare(int id);
  void call_send(const Operation& o, Begun& b);
  void call_receive(const Operation& o, Begun& b);
  /// Receives in the manner of `way` into an operation's buffer.
  void receive_by(Way way, int id, int peer, int tag);
  /// Keeps the outcome of a call that has completed an operation.
  void completed(int id, int code, const MPI_Status* status);
  void wait(int id);
  class Completing;
  /// The operations that are not complete yet, in the manner of `completion`.
  void complete_by(Completion completion, const Ids& ids, bool until_all, bool ignores_statuses);
  /// Compares a complete operation with the model; its buffer goes.
  void settle(int id);
  void settle_receive(const Operation& o, Begun& b);

  void check_status(const MPI_Status& status, const Message& message);
  /// The counts in elements of the receive's datatype, too.
  void check_status(const MPI_Status& status, const Message& message, const Shape& shape,
                    MPI_Datatype type);
  bool is_cancelled(const MPI_Status& status);
  void check_call(const char* call, int code);
  void check_equal(const char* what, long found, long expected);
  void check_buffer(const std::string& difference);
  [[noreturn]] void mismatch(const std::string& what);
  std::string describe(const Action& action) const;
  std::string describe(const Operation& o) const;

  Begun& begun(int id) { return begun_.at(id); }
  const Operation& op(int id) const { return program_.model().operation(id); }
  const Message& message(int id) const { return program_.model().message(id); }
  MPI_Comm comm(int number) const { return comms_[static_cast<std::size_t>(number)]; }
  bool takes_part(const Action& action) const;

  Generator& program_;
  std::string alone_;
  bool prints_;
  int rank_ = 0;
  std::map<int, Begun> begun_;
  std::map<int, MPI_Message> held_;  ///< by message
  std::vector<MPI_Comm> comms_;
  MPI_Comm control_ = MPI_COMM_NULL;  ///< for what a sender tells its receiver
  std::vector<std::byte> buffer_;     ///< of buffered sends
  Action action_;
};

}  // namespace random_program
