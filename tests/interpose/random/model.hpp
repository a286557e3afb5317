/// \file  The MPI standard's rules for a program's messages: which receive gets which. On one
/// communicator, from one source, the result does not depend on timing: a message takes the first
/// receive that was called, a receive the first message that was sent, whichever comes later.
#pragma once

#include <map>
#include <vector>

#include "program.hpp"

namespace random_program {

class Model {
 public:
  std::vector<Comm> comms;

  int add_comm(Comm comm);
  Operation& operation(int id) { return operations_.at(id); }
  const Operation& operation(int id) const { return operations_.at(id); }
  Message& message(int id) { return messages_.at(id); }
  const Message& message(int id) const { return messages_.at(id); }

  /// \{ Called now; the operation gets its number, and its message if there is one for it.
  int send(Operation operation);
  int receive(Operation operation);
  /// The message is `held` already.
  int receive_held(Operation operation, int held);
  /// In a race: who gets what is not known.
  int add_apart(Operation operation, std::int64_t bytes);
  /// \}
  /// A held message is matched, and received by receive_held().
  void hold(int message);
  void cancel(int receive);

  /// The first message that such a receive, called now, would get; or kNone.
  [[nodiscard]] int message_for(int comm, int destination, int peer, int tag) const;
  /// The receive that such a message, sent now, would get; or kNone.
  [[nodiscard]] int receive_for(int comm, int destination, int source, int tag) const;
  /// \{ Not matched yet.
  [[nodiscard]] const std::vector<int>& messages_at(int comm, int destination) const {
    return waiting_[index(comm)].messages[index(destination)];
  }
  [[nodiscard]] const std::vector<int>& receives_at(int comm, int destination) const {
    return waiting_[index(comm)].receives[index(destination)];
  }
  /// \}
  /// Whether the message is known, and its receive has not been called.
  [[nodiscard]] bool is_waiting(int message) const;
  [[nodiscard]] bool is_truncated(const Operation& receive) const;
  /// Forgets operations that are settled, with their messages; those in `kept` are not.
  void forget(const std::vector<int>& kept);

 private:
  struct Waiting {
    std::vector<std::vector<int>> messages, receives;  ///< by destination
  };
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  static bool matches(const Operation& receive, int source, int tag);
  void match(Operation& receive, Message& message);
  int add(Operation& operation);
  int add_message(const Operation& send, std::int64_t bytes);

  std::map<int, Operation> operations_;
  std::map<int, Message> messages_;
  std::vector<Waiting> waiting_;  ///< by communicator
  int operations_made_ = 0, messages_made_ = 0;
};

}  // namespace random_program
