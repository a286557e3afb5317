/// \file  A table of each thread's own, on the heap: thread-local storage proper comes out of every
/// thread's stack.
#pragma once

namespace strake {

/// `PerThread<Table>::get()` is this thread's Table, made at its first use and gone with the
/// thread. ~1 ns.
template <typename Table>
class PerThread {
 public:
  static Table& get() { return t_table != nullptr ? *t_table : make(); }

 private:
  struct Owner {
    ~Owner() {
      delete t_table;
      t_table = nullptr;
    }
  };

  /// Calls from destructors of globals come after the owner's own: what they use stays.
  static Table& make() {
    thread_local Owner owner;
    t_table = new Table;
    return *t_table;
  }

  inline static constinit thread_local Table* t_table = nullptr;
};

}  // namespace strake
