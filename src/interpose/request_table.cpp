#include "interpose/request_table.hpp"

namespace strake::interpose {

using mpi::Lock;

constinit RequestTable RequestTable::s_table;

RequestEntry* RequestTable::find_entry(MPI_Request request) noexcept {
  const std::uint64_t key = mpi::key_of(request);
  const Lock lock(mutex_);
  RequestEntry* at = buckets_[bucket_of(key)];
  while (at != nullptr && (at->key != key || at->released)) at = at->next;
  return at;
}

RequestTable::Claimed RequestTable::claim_all(int count, const MPI_Request* requests,
                                              RequestEntry** entries) noexcept {
  bool others = false;
  const auto claim = [&](MPI_Request request) -> RequestEntry* {
    const std::uint64_t key = mpi::key_of(request);
    for (RequestEntry** at = &buckets_[bucket_of(key)]; *at != nullptr; at = &(*at)->next) {
      RequestEntry* const entry = *at;
      if (entry->key != key) continue;
      others = others || entry->beside;
      if (entry->kind == RequestEntry::Kind::Message) {
        // A handle may be there twice: UCX gives all sends that are complete on return one and the
        // same.
        *at = entry->next;
        entry->claimed = true;
      } else if (entry->released) {
        continue;
      } else {
        others = others || !entry->is_message();
      }
      return entry;
    }
    return nullptr;
  };
  const Lock lock(mutex_);
  bool any = false;
  for (int i = 0; i < count; ++i) {
    entries[i] = requests[i] == MPI_REQUEST_NULL ? nullptr : claim(requests[i]);
    any = any || entries[i] != nullptr;
  }
  return {any, others};
}

RequestEntry* RequestTable::any_message() noexcept {
  const Lock lock(mutex_);
  for (RequestEntry* at : buckets_) {
    while (at != nullptr && !at->is_message()) at = at->next;
    if (at != nullptr) return at;
  }
  return nullptr;
}

void RequestTable::put_back(RequestEntry& entry) noexcept {
  if (!entry.claimed) return;
  const Lock lock(mutex_);
  entry.claimed = false;
  link(entry);
}

void RequestTable::remove(RequestEntry& entry) noexcept {
  const Lock lock(mutex_);
  if (!entry.claimed) {
    RequestEntry** at = &buckets_[bucket_of(entry.key)];
    while (*at != nullptr && *at != &entry) at = &(*at)->next;
    if (*at == nullptr) return;
    *at = entry.next;
  }
  remove_claimed(entry);
}

}  // namespace strake::interpose
