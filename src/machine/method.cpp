#include "machine/method.hpp"

#include <iterator>

namespace strake::machine {

const char* name_of(Method method) noexcept {
  constexpr const char* kNames[] = {"system", "pack",   "device", "one-shot",
                                    "staged", "shared", "direct"};
  static_assert(std::size(kNames) == kMethods);
  return kNames[static_cast<int>(method)];
}

}  // namespace strake::machine
