/// \file  Memory of the heap, or of MPI_Alloc_mem.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/buffer.hpp"

namespace bench {

enum class MemoryOf : std::uint8_t { Heap, Mpi };

/// Uninitialised bytes.
class Memory {
 public:
  Memory(std::int64_t bytes, MemoryOf what) {
    if (what == MemoryOf::Heap) {
      heap_.emplace(bytes);
      return;
    }
    void* memory = nullptr;
    MPI_Alloc_mem(bytes, MPI_INFO_NULL, &memory);
    mpi_.reset(static_cast<std::byte*>(memory));
  }
  [[nodiscard]] std::byte* data() const { return heap_ ? heap_->data() : mpi_.get(); }

 private:
  struct Free {
    void operator()(std::byte* memory) const { MPI_Free_mem(memory); }
  };
  std::optional<Buffer> heap_;
  std::unique_ptr<std::byte, Free> mpi_;
};

inline constexpr const char* kMemoryHelp =
    "of the buffers: heap (the usual), or mpi for that of MPI_Alloc_mem";
/// The last of the values that the option was given. Nothing, and a message, if it is no memory.
inline std::optional<MemoryOf> parse_memory(const std::vector<std::string>& values) {
  const std::string value = values.empty() ? "heap" : values.back();
  if (value == "heap") return MemoryOf::Heap;
  if (value == "mpi") return MemoryOf::Mpi;
  std::fprintf(stderr, "--memory takes heap or mpi, not %s\n", value.c_str());
  return std::nullopt;
}

}  // namespace bench
