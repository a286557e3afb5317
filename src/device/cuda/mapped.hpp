/// \file  Memory of cuMemMap, which other processes map by descriptors, piece by piece.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/backend.hpp"

namespace strake::cuda {

/// DeviceBackend::pieces_around().
[[nodiscard]] std::vector<MemoryPiece> mapped_around(CUdeviceptr address, std::size_t most);
/// DeviceBackend::export_piece().
[[nodiscard]] int descriptor_of(const MemoryPiece& piece) noexcept;
/// Pieces of another process side by side, for `device`. \throws CudaError
[[nodiscard]] std::byte* map_pieces(const ExportedMemory& memory, std::span<const int> descriptors,
                                    int device);
void unmap_pieces(std::byte* address, std::int64_t bytes) noexcept;

}  // namespace strake::cuda
