// A build without CUDA: there is no device to open, so the rest is never reached.
#include <cstdlib>

#include "grid_memory.hpp"

const char* open_device(int) { return "this program was built without CUDA (use halo3d_cuda)"; }
void* allocate_on_device(std::size_t) { std::abort(); }
void free_on_device(void*) { std::abort(); }
void copy_to_device(void*, const void*, std::size_t) { std::abort(); }
void copy_from_device(void*, const void*, std::size_t) { std::abort(); }
