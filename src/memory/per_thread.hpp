/// \file  A table of each thread's own, on the heap: thread-local storage proper comes out of every
/// thread's stack.
#pragma once

#include <atomic>

namespace strake {

/// `PerThread<Table>::get()` is this thread's Table, made at its first use and gone with the
/// thread. < 1 ns in the first thread that asks, often the only one; ~1 ns in others.
template <typename Table>
class PerThread {
 public:
  static Table& get() {
    if (Table* const table = of_first_thread()) return *table;
    return t_table != nullptr ? *t_table : make();
  }

  /// Returns this thread's Table if this is the first thread that asked; null in others.
  static Table* of_first_thread() {
    if (__builtin_thread_pointer() != s_first.load(std::memory_order_relaxed)) return nullptr;
    Table* const table = s_first_table.load(std::memory_order_relaxed);
    if (table == nullptr) __builtin_unreachable();  // it is set before s_first
    return table;
  }

 private:
  struct Owner {
    ~Owner() {
      // Another thread may come to lie where this one was.
      void* self = __builtin_thread_pointer();
      s_first.compare_exchange_strong(self, nullptr, std::memory_order_relaxed);
      delete t_table;
      t_table = nullptr;
    }
  };

  /// Calls from destructors of globals come after the owner's own: what they use stays.
  [[gnu::noinline]] static Table& make() {
    thread_local Owner owner;
    t_table = new Table;
    Table* none = nullptr;
    if (s_first_table.compare_exchange_strong(none, t_table, std::memory_order_relaxed)) {
      s_first.store(__builtin_thread_pointer(), std::memory_order_relaxed);
    }
    return *t_table;
  }

  inline static constinit thread_local Table* t_table = nullptr;
  /// The thread that asked first, until it ends.
  inline static constinit std::atomic<void*> s_first{nullptr};
  /// The table of the first thread, which that thread alone reads. Set once.
  inline static constinit std::atomic<Table*> s_first_table{nullptr};
};

}  // namespace strake
