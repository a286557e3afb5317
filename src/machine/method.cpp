#include "machine/method.hpp"

namespace strake::machine {

const char* name_of(Method method) noexcept {
  constexpr const char* kNames[] = {"system", "pack", "device", "one-shot", "staged", "shared"};
  return kNames[static_cast<int>(method)];
}

}  // namespace strake::machine
