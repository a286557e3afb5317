/// \file  Whether a shared object has come into the process since it was last looked through.
#pragma once

#include <link.h>

#include <atomic>

namespace strake {

/// Stands where no object of the loader's list does: something follows it.
inline constinit link_map g_unsettled{
    .l_addr = 0, .l_name = nullptr, .l_ld = nullptr, .l_next = &g_unsettled, .l_prev = nullptr};

/// An object of the loader's list that is never unloaded and was its last when all before it had
/// been looked through; or `g_unsettled`. glibc appends what it loads, so nothing has come while
/// nothing follows.
inline constinit std::atomic<const link_map*> g_settled_tail{&g_unsettled};

/// Whether it is certain that no object was loaded since the last `settle_objects`, < 1 ns. False
/// where a count has to tell.
[[nodiscard]] inline bool no_object_since() noexcept {
  const link_map* const tail = g_settled_tail.load(std::memory_order_acquire);
  return __atomic_load_n(&tail->l_next, __ATOMIC_RELAXED) == nullptr;
}

/// How many objects were ever loaded, 7 ns: nothing new appears without it growing.
[[nodiscard]] unsigned long long objects_loaded() noexcept;

/// Makes `no_object_since` tell what comes from now on, if nothing came after the first `looked_at`
/// objects. Loads one small library of the system's that stays; false when that can't be done, or
/// was done a few times already.
bool settle_objects(unsigned long long looked_at) noexcept;

}  // namespace strake
