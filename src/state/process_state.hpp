/// \file  The one object that all mutable state of a core belongs to. A core is Strake's code as
/// one shared object or program has it: a process may have several (docs/explanation/decisions/
/// 0014-two-cores.md), each with an object of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <new>
#include <type_traits>
#include <typeinfo>

namespace strake {

/// `ProcessState::part<T>()` is the core's T, made at its first use. Threads may ask at a time; T
/// guards its own members.
///
/// Order of construction: a part is entered once its constructor has returned, so a part that
/// another one's constructor uses comes before that one.
///
/// Order of the end: no part is destroyed. Threads may outlive main, static objects of programs may
/// end after those of this library, and at exit a device's runtime may be gone. What has to end
/// earlier, ends in MPI_Finalize (interpose/lifetime.cpp, exchange/plan/leaving.cpp), in an order
/// of its steps, not of its parts: docs/explanation/decisions/0025-one-object-for-process-state.md.
class [[gnu::visibility("hidden")]] ProcessState {
 public:
  /// An entry of the list of parts.
  struct Part {
    const std::type_info* type = nullptr;
    const void* object = nullptr;
    const Part* older = nullptr;  ///< the part that was made before; null: this is the first one
  };

  /// Costs a load and a branch, as a static variable of a function does. The part itself takes no
  /// memory from the heap.
  /// \throws as T's constructor; the next call then tries again
  template <typename T>
  [[nodiscard]] static T& part() noexcept(std::is_nothrow_default_constructible_v<T>) {
    static T& made = make<T>();
    return made;
  }

  /// The part that was made last; null: none was made.
  [[nodiscard]] static const Part* newest() noexcept {
    return s_newest.load(std::memory_order_acquire);
  }

 private:
  template <typename T>
  static T& make() noexcept(std::is_nothrow_default_constructible_v<T>) {
    alignas(T) static std::byte memory[sizeof(T)];
    static Part entry;
    T* const made = ::new (memory) T;
    entry.type = &typeid(T);
    entry.object = made;
    entry.older = s_newest.load(std::memory_order_relaxed);
    while (!s_newest.compare_exchange_weak(entry.older, &entry, std::memory_order_acq_rel,
                                           std::memory_order_relaxed)) {
    }
    return *made;
  }

  static inline constinit std::atomic<const Part*> s_newest{nullptr};
};

}  // namespace strake
