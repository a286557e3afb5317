// Where the entries of requests are kept, and found by their handles.
#include <algorithm>
#include <memory>
#include <utility>

#include "interpose/pending.hpp"
#include "mpi/types.hpp"
#include "mpi/world.hpp"

namespace strake::interpose {

using mpi::Lock;

constinit PendingTable PendingTable::s_table;

PendingTable::Owned PendingTable::make(Function function, exchange::Reason reason,
                                       const Receive& receive) {
  Owned made(make_of_recycled(function, reason));
  if (!made) made.reset(new Pending);
  made->function = function;
  made->reason = reason;
  made->receive = receive;
  return made;
}

void PendingTable::recycle(Pending* pending) noexcept {
  pending->transfer.reset();
  pending->receive.end();
  pending->plain = false;
  pending->placeholder.reset();
  pending->ended.reset();
  pending->persistent = false;
  pending->active = true;
  pending->may_be_gone = false;
  const Lock lock(mutex_);
  pending->next = free_;
  free_ = pending;
}

void PendingTable::unlink(Pending* pending) noexcept {
  Pending** at = &buckets_[bucket_of(pending->key)];
  while (*at != pending) at = &(*at)->next;
  *at = pending->next;
  pending->next = nullptr;
}

bool PendingTable::claim_all(int count, const MPI_Request* requests, Pending** entries) noexcept {
  const Lock lock(mutex_);
  bool any = false;
  for (int i = 0; i < count; ++i) {
    entries[i] = requests[i] == MPI_REQUEST_NULL ? nullptr : claim_locked(requests[i]);
    any = any || entries[i] != nullptr;
  }
  return any;
}

void PendingTable::put_back(Pending* pending) noexcept {
  if (!pending->claimed) return;
  const Lock lock(mutex_);
  pending->claimed = false;
  link(pending);
}

void PendingTable::let_go(Pending* pending, MPI_Request request) noexcept {
  if (request != MPI_REQUEST_NULL) return put_back(pending);
  const Owned freed = remove(pending);
  freed->give_up();
}

Pending* PendingTable::find(MPI_Request request) noexcept {
  const std::uint64_t key = mpi::key_of(request);
  const Lock lock(mutex_);
  for (Pending* at = buckets_[bucket_of(key)]; at != nullptr; at = at->next) {
    if (at->key != key) continue;
    at->plain = false;
    return at;
  }
  return nullptr;
}

PendingTable::Owned PendingTable::remove(Pending* pending) noexcept {
  const Lock lock(mutex_);
  if (!pending->claimed) unlink(pending);
  pending->claimed = false;
  s_count.store(s_count.load(std::memory_order_relaxed) - 1, std::memory_order_release);
  return Owned(pending);
}

void PendingTable::leak_all() noexcept {
  const Lock lock(mutex_);
  for (Pending*& bucket : buckets_) {
    for (Pending* at = std::exchange(bucket, nullptr); at != nullptr;) {
      Pending* const next = at->next;
      delete at;  // what the MPI library still has is leaked
      at = next;
    }
  }
  s_count.store(0, std::memory_order_release);
}

PendingList::PendingList(int count, const MPI_Request* requests)
    : count_(PendingTable::empty() || requests == nullptr ? 0 : std::max(count, 0)),
      requests_(requests),
      entries_(few_.data()) {
  if (count_ > kFew) {
    many_ = std::make_unique<Pending*[]>(static_cast<std::size_t>(count_));
    entries_ = many_.get();
  }
  if (count_ > 0) any_ = PendingTable::get().claim_all(count_, requests, entries_);
}

PendingList::~PendingList() {
  for (int i = 0; any_ && i < count_; ++i) {
    if (entries_[i] != nullptr) PendingTable::get().let_go(entries_[i], requests_[i]);
  }
}

}  // namespace strake::interpose
