#include "device/cuda/mapped.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "device/cuda/driver.hpp"
#include "strake/error.hpp"

namespace strake::cuda {
namespace {

/// The reserved addresses around one that is mapped.
struct Reservation {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

std::optional<Reservation> reservation_of(CUdeviceptr address) noexcept {
  CUdeviceptr base = 0;
  std::size_t size = 0;
  std::array attributes{CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  std::array<void*, 2> values{&base, &size};
  if (driver()->pointer_get_attributes(2, attributes.data(), values.data(), address) !=
          CUDA_SUCCESS ||
      size == 0)
    return std::nullopt;
  return Reservation{base, base + size};
}

/// The buffer id of what is mapped there, if descriptors of it may be had; 0: nothing is.
std::uint64_t id_at(std::uint64_t address) noexcept {
  unsigned long long id = 0;
  std::uint64_t types = 0;
  std::array attributes{CU_POINTER_ATTRIBUTE_BUFFER_ID, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES};
  std::array<void*, 2> values{&id, &types};
  const bool known = driver()->pointer_get_attributes(2, attributes.data(), values.data(),
                                                      address) == CUDA_SUCCESS;
  return known && (types & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0 ? id : 0;
}

/// The piece at an address. The driver tells no bounds but the reservation's: an id is asked for
/// where the bound may be, ever closer.
std::optional<MemoryPiece> piece_at(std::uint64_t address, const Reservation& reserved) noexcept {
  if (address < reserved.begin || address >= reserved.end) return std::nullopt;
  const std::uint64_t id = id_at(address);
  if (id == 0) return std::nullopt;
  constexpr auto kUnit = static_cast<std::uint64_t>(ExportedMemory::kPieceUnit);
  const std::uint64_t here = (address - reserved.begin) / kUnit;
  const auto is_same = [&](std::uint64_t unit) {
    return id_at(reserved.begin + unit * kUnit) == id;
  };
  std::uint64_t before = 0;  // the first unit of the piece is here, or behind
  for (std::uint64_t first = here; before < first;) {
    const std::uint64_t middle = before + (first - before) / 2;
    if (is_same(middle)) {
      first = middle;
    } else {
      before = middle + 1;
    }
  }
  std::uint64_t last = here;
  for (std::uint64_t past = (reserved.end - reserved.begin) / kUnit; last + 1 < past;) {
    const std::uint64_t middle = last + (past - last) / 2;
    if (is_same(middle)) {
      last = middle;
    } else {
      past = middle;
    }
  }
  return MemoryPiece{reserved.begin + before * kUnit,
                     static_cast<std::int64_t>((last + 1 - before) * kUnit), id};
}

}  // namespace

std::vector<MemoryPiece> mapped_around(CUdeviceptr address, std::size_t most) {
  const std::optional<Reservation> reserved = reservation_of(address);
  if (!reserved) return {};
  const auto here = piece_at(address, *reserved);
  if (!here) return {};
  std::vector<MemoryPiece> behind = {*here};
  std::vector<MemoryPiece> before;
  bool more = true;
  while (more && before.size() + behind.size() < most) {
    more = false;
    const MemoryPiece& last = behind.back();
    if (const auto next = piece_at(last.base + static_cast<std::uint64_t>(last.bytes), *reserved)) {
      behind.push_back(*next);
      more = true;
    }
    const MemoryPiece& first = before.empty() ? behind.front() : before.back();
    const auto previous = piece_at(first.base - 1, *reserved);
    if (previous && before.size() + behind.size() < most) {
      before.push_back(*previous);
      more = true;
    }
  }
  std::ranges::reverse(before);
  before.insert(before.end(), behind.begin(), behind.end());
  return before;
}

int descriptor_of(const MemoryPiece& piece) noexcept {
  if (id_at(piece.base) != piece.buffer_id) return -1;
  const Driver* const d = driver();
  CUmemGenericAllocationHandle handle = 0;
  if (d->mem_retain_allocation_handle(&handle, reinterpret_cast<void*>(piece.base)) !=  // NOLINT
      CUDA_SUCCESS)
    return -1;
  int descriptor = -1;
  if (d->mem_export_to_shareable_handle(
          &descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) != CUDA_SUCCESS)
    descriptor = -1;
  (void)d->mem_release(handle);
  return descriptor;
}

std::byte* map_pieces(const ExportedMemory& memory, std::span<const int> descriptors, int device) {
  const auto count = static_cast<std::size_t>(memory.pieces);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < std::min(count, ExportedMemory::kMostPieces); ++i)
    sum += memory.piece_units[i] * ExportedMemory::kPieceUnit;
  if (count > ExportedMemory::kMostPieces || descriptors.size() != count || sum != memory.bytes) {
    throw InvalidArgument(
        fmt::format("memory of {} bytes in {} pieces with {} descriptors and {} "
                    "bytes",
                    memory.bytes, memory.pieces, descriptors.size(), sum));
  }
  const Driver* const d = driver();
  const auto bytes = static_cast<std::size_t>(memory.bytes);
  CUdeviceptr base = 0;
  check(d->mem_address_reserve(&base, bytes, 0, 0, 0));
  std::size_t mapped = 0;
  try {
    for (std::size_t i = 0; i < count; ++i) {
      const auto piece =
          memory.piece_units[i] * static_cast<std::size_t>(ExportedMemory::kPieceUnit);
      CUmemGenericAllocationHandle handle = 0;
      // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver takes descriptors so
      auto* const descriptor = reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptors[i]));
      check(d->mem_import_from_shareable_handle(&handle, descriptor,
                                                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
      const CUresult code = d->mem_map(base + mapped, piece, 0, handle, 0);
      (void)d->mem_release(handle);  // the mapping keeps it
      check(code);
      mapped += piece;
    }
    const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, {device}},
                                 CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    check(d->mem_set_access(base, bytes, &access, 1));
  } catch (...) {
    if (mapped != 0) (void)d->mem_unmap(base, mapped);
    (void)d->mem_address_free(base, bytes);
    throw;
  }
  return reinterpret_cast<std::byte*>(base);  // NOLINT(performance-no-int-to-ptr)
}

void unmap_pieces(std::byte* address, std::int64_t bytes) noexcept {
  const auto base = reinterpret_cast<CUdeviceptr>(address);
  (void)driver()->mem_unmap(base, static_cast<std::size_t>(bytes));
  (void)driver()->mem_address_free(base, static_cast<std::size_t>(bytes));
}

}  // namespace strake::cuda
