// Where entries of messages come from, and the entries of a call's requests.
#include <algorithm>
#include <memory>
#include <utility>

#include "interpose/pending.hpp"

namespace strake::interpose {

constinit PendingPool PendingPool::s_pool;

OwnedPending PendingPool::make(Function function, exchange::Reason reason, const Receive& receive) {
  Owned made(make_of_recycled(function, reason));
  if (!made) made.reset(new Pending);
  made->function = function;
  made->reason = reason;
  made->receive = receive;
  return made;
}

void PendingPool::recycle(Pending* pending) noexcept {
  pending->transfer.reset();
  pending->receive.end();
  pending->plain = false;
  pending->placeholder.reset();
  pending->ended.reset();
  pending->work.reset();
  pending->beside = false;
  pending->kind = RequestEntry::Kind::Message;
  pending->active = true;
  pending->may_be_gone = false;
  const mpi::Lock lock(mutex_);
  pending->next = free_;
  free_ = pending;
}

RequestList::RequestList(int count, const MPI_Request* requests)
    : count_(RequestTable::empty() || requests == nullptr ? 0 : std::max(count, 0)),
      requests_(requests),
      entries_(few_.data()) {
  if (count_ > kFew) {
    many_ = std::make_unique<RequestEntry*[]>(static_cast<std::size_t>(count_));
    entries_ = many_.get();
  }
  if (count_ == 0) return;
  const RequestTable::Claimed claimed = RequestTable::get().claim_all(count_, requests, entries_);
  any_ = claimed.any;
  if (!claimed.others) return;
  try {
    sort_out();
  } catch (...) {
    let_go();
    throw;
  }
}

/// Moves what is no message from entries_ to others_.
void RequestList::sort_out() {
  others_.emplace();
  const auto count = static_cast<std::size_t>(count_);
  bool any = false;
  for (int i = 0; i < count_; ++i) {
    RequestEntry* const entry = entries_[i];
    if (entry == nullptr) continue;
    const auto at = static_cast<std::size_t>(i);
    if (entry->beside) {
      others_->untestable.resize(count);
      others_->untestable[at] = Untestable::Beside;
    }
    if (entry->is_message()) {
      any = true;
    } else if (entry->kind == RequestEntry::Kind::Operation) {
      others_->operations.resize(count);
      others_->operations[at] = static_cast<Operation*>(entry);
      entries_[i] = nullptr;
    } else {
      others_->untestable.resize(count);
      others_->untestable[at] = how_untestable(*entry);
      entries_[i] = nullptr;
    }
  }
  any_ = any;
}

void RequestList::let_go() noexcept {
  for (int i = 0; i < count_; ++i) {
    RequestEntry* const entry = entries_[i];
    if (entry == nullptr || !entry->is_message()) continue;
    if (requests_[i] != MPI_REQUEST_NULL) {
      RequestTable::get().put_back(*entry);
    } else {
      remove_pending(static_cast<Pending&>(*entry))->give_up();
    }
  }
}

}  // namespace strake::interpose
