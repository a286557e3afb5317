/// \file  Memory of every kind, random layouts, and the answer that a copy must give.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "copy/device_copier.hpp"
#include "strake/error.hpp"
#include "strake/layout.hpp"
#include "strake/memory.hpp"

namespace strake {

inline constexpr Place kDevice{MemoryKind::Device, 0};

inline bool device_found() {
  int devices = 0;
  const bool found = cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
  (void)cudaGetLastError();
  return found;
}

#define STRAKE_NEEDS_DEVICE() \
  if (!device_found()) GTEST_SKIP() << "no CUDA device on this machine"

/// The back end, in a process that uses CUDA.
inline DeviceBackend& backend() {
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  DeviceBackend* const found = device_backend();
  if (found == nullptr) throw Unsupported("the CUDA plug-in was not loaded");
  return *found;
}

/// The copier of the back end.
inline DeviceCopier& copier() {
  (void)backend();
  DeviceCopier* const found = device_copier();
  if (found == nullptr) throw Unsupported("the CUDA plug-in has no copies");
  return *found;
}

inline Place place_of(MemoryKind kind) {
  return kind == MemoryKind::Host ? Place{} : Place{kind, 0};
}

/// Memory of one kind for as long as it is in scope; device 0 is the current one.
class Memory {
 public:
  Memory(MemoryKind kind, std::int64_t bytes, int device = 0) : kind_(kind), bytes_(bytes) {
    if (device != 0) {
      EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
    }
    const auto size = static_cast<std::size_t>(bytes) + 1;
    void* memory = nullptr;
    cudaError_t code = cudaSuccess;
    if (kind == MemoryKind::Host) memory = std::malloc(size);
    if (kind == MemoryKind::Pinned) code = cudaHostAlloc(&memory, size, cudaHostAllocDefault);
    if (kind == MemoryKind::Managed) code = cudaMallocManaged(&memory, size);
    if (kind == MemoryKind::Device) code = cudaMalloc(&memory, size);
    EXPECT_EQ(code, cudaSuccess);
    if (device != 0) {
      EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
    }
    data_ = static_cast<std::byte*>(memory);
  }
  ~Memory() {
    if (kind_ == MemoryKind::Host) std::free(data_);
    if (kind_ == MemoryKind::Pinned) (void)cudaFreeHost(data_);
    if (kind_ == MemoryKind::Managed || kind_ == MemoryKind::Device) (void)cudaFree(data_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] Place place() const { return place_of(kind_); }
  void write(const std::vector<std::byte>& bytes) {
    EXPECT_EQ(cudaMemcpy(data_, bytes.data(), bytes.size(), cudaMemcpyDefault), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  [[nodiscard]] std::vector<std::byte> read() const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(bytes_));
    EXPECT_EQ(cudaMemcpy(bytes.data(), data_, bytes.size(), cudaMemcpyDefault), cudaSuccess);
    return bytes;
  }

 private:
  MemoryKind kind_;
  std::int64_t bytes_;
  std::byte* data_ = nullptr;
};

inline std::vector<std::byte> random_bytes(std::int64_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

/// Does to `to_bytes` what moving packed bytes [begin, end) of `from` into `to` must do. Bases are
/// positions in the vectors.
inline void copy_expected(const Layout& to, std::vector<std::byte>& to_bytes, std::int64_t to_base,
                          const Layout& from, const std::vector<std::byte>& from_bytes,
                          std::int64_t from_base, ByteRange part) {
  std::vector<std::int64_t> source;
  from.for_each_block([&](std::int64_t offset, std::int64_t length) {
    for (std::int64_t i = 0; i < length; ++i) source.push_back(from_base + offset + i);
  });
  std::int64_t p = 0;
  to.for_each_block([&](std::int64_t offset, std::int64_t length) {
    for (std::int64_t i = 0; i < length; ++i, ++p) {
      if (p < part.begin || p >= part.end) continue;
      to_bytes[static_cast<std::size_t>(to_base + offset + i)] =
          from_bytes[static_cast<std::size_t>(source[static_cast<std::size_t>(p)])];
    }
  });
}

/// A buffer that holds a layout with room around it, its base `skew` bytes past an aligned address.
struct Spread {
  Spread(MemoryKind kind, const Layout& layout, std::int64_t skew)
      : base(kRoom - layout.bounds().begin / kRoom * kRoom + kRoom + skew),
        bytes(base + layout.bounds().end + kRoom),
        memory(kind, bytes) {}
  [[nodiscard]] std::byte* address() const { return memory.data() + base; }

  static constexpr std::int64_t kRoom = 64;
  std::int64_t base;
  std::int64_t bytes;
  Memory memory;
};

/// Runs a copy and compares every byte of the target's buffer, those around the layout too.
inline void expect_copy(const Layout& to, MemoryKind to_kind, const Layout& from,
                        MemoryKind from_kind, ByteRange part = ByteRange::all(),
                        std::int64_t to_skew = 0, std::int64_t from_skew = 0,
                        CopyVariant variant = CopyVariant::Auto) {
  Spread target(to_kind, to, to_skew);
  Spread source(from_kind, from, from_skew);
  std::vector<std::byte> expected = random_bytes(target.bytes, 1);
  const std::vector<std::byte> given = random_bytes(source.bytes, 2);
  target.memory.write(expected);
  source.memory.write(given);
  const auto plan = copier().compile(to, place_of(to_kind), from, place_of(from_kind), variant);
  const auto queue = backend().make_queue(0);
  queue->wait(plan->enqueue(*queue, target.address(), source.address(), part));
  copy_expected(to, expected, target.base, from, given, source.base, part);
  EXPECT_TRUE(target.memory.read() == expected)
      << plan->description() << ": " << from.to_string() << " in " << name_of(from_kind) << " to "
      << to.to_string() << " in " << name_of(to_kind) << ", bytes [" << part.begin << ", "
      << part.end << "), skews " << from_skew << " and " << to_skew;
}

/// A layout of a few thousand bytes whose distances are multiples of `unit`, without overlaps;
/// printed by its seed.
inline Layout random_layout(std::mt19937_64& random, std::int64_t unit, int depth = 0) {
  const auto number = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  switch (number(0, depth > 1 ? 2 : 4)) {
    case 0: {
      const std::int64_t block = number(1, 9) * unit;
      std::vector<Dim> dims;
      std::int64_t stride = block;
      const std::int64_t levels = number(0, depth == 0 ? 6 : 2);
      for (std::int64_t i = 0; i < levels; ++i) {
        const std::int64_t count = number(2, 4);
        stride += number(1, 3) * unit;
        dims.insert(dims.begin(), {count, number(0, 3) == 0 ? -stride : stride});
        stride *= count;
      }
      return Layout::box(0, block, dims);
    }
    case 1:
    case 2: {
      std::vector<std::int64_t> offsets;
      std::vector<std::int64_t> lengths;
      const bool common = number(0, 1) == 0;
      std::int64_t at = 0;
      const std::int64_t length = number(1, 5) * unit;
      for (std::int64_t i = number(2, 60); i > 0; --i) {
        offsets.push_back(at);
        lengths.push_back(common ? length : number(1, 9) * unit);
        at += lengths.back() + number(1, 5) * unit;
      }
      return Layout::blocks(offsets, lengths);
    }
    case 3: {
      const Layout child = random_layout(random, unit, depth + 1);
      const std::int64_t span = child.bounds().end - child.bounds().begin;
      return child.repeated(number(2, 5), (span + unit - 1) / unit * unit + number(0, 3) * unit);
    }
    default: {
      std::vector<Layout> parts;
      std::int64_t at = 0;
      for (std::int64_t i = number(2, 5); i > 0; --i) {
        const Layout part = random_layout(random, unit, depth + 1);
        const std::int64_t begin = (part.bounds().begin - unit + 1) / unit * unit;
        parts.push_back(part.shifted(at - begin));
        at = (parts.back().bounds().end + unit - 1) / unit * unit + number(1, 4) * unit;
      }
      return Layout::sequence(parts);
    }
  }
}

}  // namespace strake
