/// \file  Whether a shared object was loaded into the process since its objects were last searched.
#pragma once

#include <link.h>

#include <atomic>

namespace strake {

/// Sentinel for "the list was not searched yet". It is never an object of the loader's list, and
/// its `l_next` is never null.
inline constinit link_map g_unsettled{
    .l_addr = 0, .l_name = nullptr, .l_ld = nullptr, .l_next = &g_unsettled, .l_prev = nullptr};

/// The last object of the loader's list when the list was searched, or `g_unsettled`. It is never
/// unloaded, and glibc appends each object that it loads. So as long as no object follows this one,
/// none was loaded.
inline constinit std::atomic<const link_map*> g_settled_tail{&g_unsettled};

/// True only if no object was loaded since the last `settle_objects`. < 1 ns. If false, ask
/// `objects_loaded`.
[[nodiscard]] inline bool no_object_since() noexcept {
  const link_map* const tail = g_settled_tail.load(std::memory_order_acquire);
  return __atomic_load_n(&tail->l_next, __ATOMIC_RELAXED) == nullptr;
}

/// How many objects were loaded so far, 7 ns. It grows with each object.
[[nodiscard]] unsigned long long objects_loaded() noexcept;

/// Lets `no_object_since` watch for objects from now on, if only the first `looked_at` objects were
/// loaded so far. Loads a small library of glibc's, which stays. False if that can't be done, or
/// was done a few times already.
bool settle_objects(unsigned long long looked_at) noexcept;

}  // namespace strake
