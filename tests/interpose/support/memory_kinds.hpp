/// \file  The kinds of memory that CUDA programs have.
#pragma once

#include <cstddef>

namespace test_memory {

enum class Kind { Malloc, Host, Pinned, Mapped, Pool, Managed };
inline constexpr int kKinds = 6;
inline constexpr const char* kKindNames[kKinds] = {"malloc", "host", "pinned",
                                                   "mapped", "pool", "managed"};

/// \{ Memory of all kinds but Malloc and Host.
void* allocate(Kind kind, std::size_t bytes);
void release(Kind kind, void* address);
/// \}
/// The first piece of Mapped memory is freed, and another one mapped at its address.
void renew_first_piece(void* address);

}  // namespace test_memory
