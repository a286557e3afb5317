#include "strake/place.hpp"

namespace strake {

const char* name_of(MemoryKind kind) noexcept {
  switch (kind) {
    case MemoryKind::Host:
      return "host";
    case MemoryKind::Pinned:
      return "pinned";
    case MemoryKind::Managed:
      return "managed";
    case MemoryKind::Device:
      return "device";
  }
  return "host";
}

}  // namespace strake
