#include "memory/pool.hpp"

#include <algorithm>

#include "memory/host_blocks.hpp"
#include "state/process_state.hpp"
#include "strake/error.hpp"

namespace strake {
namespace {

bool is_plain(Place place) noexcept { return place.kind == MemoryKind::Host; }

/// A device back end takes its own blocks from the process's pool.
[[maybe_unused]] const bool g_source_is_set = [] {
  set_block_source(
      {[](Place place, std::int64_t bytes) { return Pool::instance().acquire(place, bytes); },
       [](Place place, void* block) noexcept { Pool::instance().release(place, block); }});
  return true;
}();

}  // namespace

Pool::~Pool() { trim(); }

Pool& Pool::instance() { return ProcessState::part<Pool>(); }

DeviceBackend& Pool::backend() {
  if (backend_ == nullptr) backend_ = device_backend();
  if (backend_ == nullptr) throw Unsupported("there is no device back end to allocate from");
  return *backend_;
}

Pool::Shelf& Pool::shelf_of(Place place) {
  const auto found = std::find_if(shelves_.begin(), shelves_.end(),
                                  [&](const auto& shelf) { return shelf->place == place; });
  if (found != shelves_.end()) return **found;
  shelves_.push_back(std::make_unique<Shelf>());
  shelves_.back()->place = place;
  return *shelves_.back();
}

void* Pool::acquire(Place place, std::int64_t bytes) {
  if (is_plain(place)) return acquire_host_block(bytes);
  if (place.kind == MemoryKind::Managed) {
    throw Unsupported("a pool holds no managed memory");
  }
  const int size_class = size_class_of(bytes);
  const std::scoped_lock lock(mutex_);
  Shelf& shelf = shelf_of(place);
  auto& waiting = shelf.waiting[static_cast<std::size_t>(size_class)];
  void* block = nullptr;
  if (!waiting.empty()) {
    block = waiting.back();
    waiting.pop_back();
  } else {
    try {
      block = backend().allocate(place, class_bytes(size_class));
    } catch (const OutOfMemory&) {
      give_back(shelf);
      block = backend().allocate(place, class_bytes(size_class));
    }
    shelf.classes.emplace(block, size_class);
    // Room for every block of the class, so that no release allocates.
    waiting.reserve(shelf.classes.size());
    shelf.stats.bytes_held += class_bytes(size_class);
    ++shelf.stats.allocations;
  }
  shelf.stats.bytes_in_use += class_bytes(size_class);
  return block;
}

void Pool::release(Place place, void* block) noexcept {
  if (block == nullptr) return;
  if (is_plain(place)) {
    release_host_block(block);
    return;
  }
  const std::scoped_lock lock(mutex_);
  Shelf& shelf = shelf_of(place);
  const auto known = shelf.classes.find(block);
  // Not a block of this pool: ignored, since nothing is safe to do with it.
  if (known == shelf.classes.end()) return;
  shelf.waiting[static_cast<std::size_t>(known->second)].push_back(block);
  shelf.stats.bytes_in_use -= class_bytes(known->second);
}

void Pool::give_back(Shelf& shelf) noexcept {
  for (auto& waiting : shelf.waiting) {
    for (void* block : waiting) {
      const auto known = shelf.classes.find(block);
      shelf.stats.bytes_held -= class_bytes(known->second);
      shelf.classes.erase(known);
      backend_->deallocate(shelf.place, block);
    }
    waiting.clear();
  }
}

void Pool::trim() noexcept {
  const std::scoped_lock lock(mutex_);
  for (const auto& shelf : shelves_) give_back(*shelf);
}

Pool::Stats Pool::stats(Place place) const {
  if (is_plain(place)) return {host_block_bytes(), 0, 0};
  const std::scoped_lock lock(mutex_);
  for (const auto& shelf : shelves_) {
    if (shelf->place == place) return shelf->stats;
  }
  return {};
}

}  // namespace strake
