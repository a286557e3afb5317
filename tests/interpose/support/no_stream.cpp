// Programs without a device: its default stream's work is done at once.
#include <cstring>

#include "memory.hpp"

namespace test_memory {

void set_late(void* address, unsigned char value, std::size_t bytes) {
  std::memset(address, value, bytes);
}
void hold_up() {}
void let_go() {}
void finish_work() {}
std::size_t device_bytes_in_use() { return 0; }
void reset_device() {}
long driver_uses() { return 0; }
void allocate_at(void* /*address*/, std::size_t /*bytes*/) {}

}  // namespace test_memory
