/// \file  Where the example's grids live. One program is linked with one of two sources: plain
/// memory, or a GPU's, in which the CUDA runtime is used for allocation and copies alone.
#pragma once

#include <cstddef>

/// Makes the GPU number `local_rank` (modulo those there are) this process's. Null, or why there is
/// no GPU.
const char* open_device(int local_rank);
/// Zeroed memory of the GPU; ends the program with a message where there is none.
void* allocate_on_device(std::size_t bytes);
void free_on_device(void* address);
void copy_to_device(void* to, const void* from, std::size_t bytes);
void copy_from_device(void* to, const void* from, std::size_t bytes);
