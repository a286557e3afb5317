#include "model.hpp"

#include <algorithm>

namespace random_program {

int Model::add_comm(Comm comm) {
  const std::size_t size = comm.members.size();
  comms.push_back(std::move(comm));
  waiting_.push_back({std::vector<std::vector<int>>(size), std::vector<std::vector<int>>(size)});
  return static_cast<int>(comms.size()) - 1;
}

bool Model::matches(const Operation& receive, int source, int tag) {
  return (receive.peer == kWildcard || receive.peer == source) &&
         (receive.tag == kWildcard || receive.tag == tag);
}

void Model::match(Operation& receive, Message& message) {
  receive.message = message.id;
  message.receive = receive.id;
  message.is_receiving = true;
}

int Model::add(Operation& operation) {
  operation.id = operations_made_++;
  operations_[operation.id] = operation;
  return operation.id;
}

int Model::add_message(const Operation& send, std::int64_t bytes) {
  Message message;
  message.id = messages_made_++;
  message.comm = send.comm;
  message.source = comms[index(send.comm)].rank_of(send.rank);
  message.destination = send.peer;
  message.tag = send.tag;
  message.bytes = bytes;
  message.send = send.id;
  message.is_ready = is_ready(send.call);
  messages_[message.id] = message;
  operations_[send.id].message = message.id;
  return message.id;
}

int Model::send(Operation operation) {
  const int id = add(operation);
  Message& sent = message(add_message(operation, operation.shape.bytes()));
  Waiting& waiting = waiting_[index(operation.comm)];
  const int receive = receive_for(sent.comm, sent.destination, sent.source, sent.tag);
  if (receive == kNone) {
    waiting.messages[index(sent.destination)].push_back(sent.id);
  } else {
    std::vector<int>& all = waiting.receives[index(sent.destination)];
    all.erase(std::find(all.begin(), all.end(), receive));
    match(this->operation(receive), sent);
  }
  return id;
}

int Model::receive(Operation operation) {
  const int id = add(operation);
  const int here = comms[index(operation.comm)].rank_of(operation.rank);
  const int found = message_for(operation.comm, here, operation.peer, operation.tag);
  if (found == kNone) {
    waiting_[index(operation.comm)].receives[index(here)].push_back(id);
  } else {
    hold(found);
    match(this->operation(id), message(found));
  }
  return id;
}

int Model::receive_held(Operation operation, int held) {
  const int id = add(operation);
  match(this->operation(id), message(held));
  return id;
}

int Model::add_apart(Operation operation, std::int64_t bytes) {
  const int id = add(operation);
  if (operation.sends) message(add_message(operation, bytes)).is_receiving = true;
  return id;
}

void Model::hold(int held) {
  const Message& m = message(held);
  std::vector<int>& all = waiting_[index(m.comm)].messages[index(m.destination)];
  all.erase(std::find(all.begin(), all.end(), held));
}

void Model::cancel(int receive) {
  const Operation& o = operation(receive);
  std::vector<int>& all =
      waiting_[index(o.comm)].receives[index(comms[index(o.comm)].rank_of(o.rank))];
  all.erase(std::find(all.begin(), all.end(), receive));
}

int Model::message_for(int comm, int destination, int peer, int tag) const {
  for (const int id : messages_at(comm, destination)) {
    const Message& m = message(id);
    if ((peer == kWildcard || peer == m.source) && (tag == kWildcard || tag == m.tag)) return id;
  }
  return kNone;
}

int Model::receive_for(int comm, int destination, int source, int tag) const {
  for (const int id : receives_at(comm, destination)) {
    if (matches(operation(id), source, tag)) return id;
  }
  return kNone;
}

bool Model::is_waiting(int message) const {
  const auto found = messages_.find(message);
  return found != messages_.end() && !found->second.is_receiving;
}

bool Model::is_truncated(const Operation& receive) const {
  return receive.message != kNone && message(receive.message).bytes > receive.shape.bytes();
}

void Model::forget(const std::vector<int>& kept) {
  const auto is_over = [&](int id) { return id != kNone && operation(id).is_settled; };
  std::vector<int> gone;
  for (auto it = messages_.begin(); it != messages_.end();) {
    const Message& m = it->second;
    const bool raced = comms[index(m.comm)].senders == Senders::kRace;  // no receive is known
    if (is_over(m.send) && (raced || is_over(m.receive))) {
      gone.push_back(m.send);
      if (!raced) gone.push_back(m.receive);
      it = messages_.erase(it);
    } else {
      ++it;
    }
  }
  for (auto& [id, o] : operations_) {
    if (o.is_settled && o.message == kNone) gone.push_back(id);
  }
  for (const int id : gone) {
    if (std::find(kept.begin(), kept.end(), id) == kept.end()) {
      operations_.erase(id);
    } else {
      operation(id).message = kNone;
    }
  }
}

}  // namespace random_program
