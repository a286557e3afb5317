// Programs without CUDA.
#include "memory.hpp"

namespace test_memory {

bool use_device(int /*rank*/) { return false; }
int device() { return -1; }
int devices() { return 0; }
void* allocate(std::size_t /*bytes*/) { return nullptr; }
void release(void* /*address*/) {}
void renew(void* /*address*/) {}
void copy(void* /*to*/, const void* /*from*/, std::size_t /*bytes*/) {}

}  // namespace test_memory
