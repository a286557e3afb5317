// The stand-in's kinds of memory: other processes can open them whole, in pieces, or not at all.
#include <cuda_runtime_api.h>

#include "memory.hpp"
#include "memory_kinds.hpp"

namespace test_memory {

void* allocate(Kind kind, std::size_t bytes) {
  const bool pinned = kind == Kind::Pinned;
  const bool whole = pinned || kind == Kind::Managed;
  return standin::allocate(bytes, standin::current_device(), pinned,
                           whole                  ? standin::Sharing::Whole
                           : kind == Kind::Mapped ? standin::Sharing::Pieces
                                                  : standin::Sharing::None);
}

void release(Kind /*kind*/, void* address) { standin::deallocate(address); }

std::size_t device_bytes_in_use() { return 0; }
long driver_uses() { return standin::uses(); }
void allocate_at(void* address, std::size_t bytes) {
  standin::allocate(bytes, standin::current_device(), false, standin::Sharing::Whole, address);
}
void reset_device() { cudaDeviceReset(); }
void renew_first_piece(void* address) { standin::map_anew(address); }

}  // namespace test_memory
