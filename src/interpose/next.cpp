#include "interpose/next.hpp"

namespace strake::interpose {

const Next& resolve_next() noexcept {
  static const Next table = [] {
    Next made;
#define STRAKE_FUNCTION(name) \
  made.name = reinterpret_cast<decltype(made.name)>(mpi::find_real(#name));
#include "declared.def"
#undef STRAKE_FUNCTION
    return made;
  }();
  g_next.store(&table, std::memory_order_release);
  return table;
}

}  // namespace strake::interpose
