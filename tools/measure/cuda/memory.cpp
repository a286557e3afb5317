#include "measure/cuda/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "measure/case.hpp"
#include "measure/cuda/machine.hpp"
#include "strake/error.hpp"

namespace strake::measure::cuda {
namespace {

/// Device memory for as long as it is in scope.
struct Scratch {
  explicit Scratch(std::int64_t bytes) {
    check(cudaMalloc(reinterpret_cast<void**>(&data), static_cast<std::size_t>(bytes)));
  }
  ~Scratch() { (void)cudaFree(data); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::byte* data = nullptr;
};

void fill_pageable(std::byte* to, std::int64_t bytes, std::uint64_t seed) {
  for (std::int64_t i = 0; i < bytes; i += 8) {
    const std::uint64_t word = pattern_word(seed, static_cast<std::uint64_t>(i / 8));
    std::memcpy(to + i, &word, static_cast<std::size_t>(std::min<std::int64_t>(8, bytes - i)));
  }
}

bool holds(const std::byte* data, std::int64_t bytes, std::uint64_t seed) {
  for (std::int64_t i = 0; i < bytes; i += 8) {
    const std::uint64_t word = pattern_word(seed, static_cast<std::uint64_t>(i / 8));
    if (std::memcmp(data + i, &word,
                    static_cast<std::size_t>(std::min<std::int64_t>(8, bytes - i))) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

Buffer::Buffer(Where where, std::int64_t bytes) : where_(where), bytes_(bytes) {
  if (bytes <= 0) throw InvalidArgument(fmt::format("a buffer of {} bytes", bytes));
  const auto size = static_cast<std::size_t>(bytes);
  check(cudaSetDevice(where.device));
  void* memory = nullptr;
  switch (where.kind) {
    case Kind::Pageable:
      host_ = std::make_unique<HostMemory>(size, where.node);
      data_ = host_->data();
      return;
    case Kind::Pinned:
      if (where.node != kAnyNode) {
        host_ = std::make_unique<HostMemory>(size, where.node);
        data_ = host_->data();
        check(cudaHostRegister(data_, size, cudaHostRegisterMapped | cudaHostRegisterPortable));
        registered_ = true;
        return;
      }
      check(cudaHostAlloc(&memory, size, cudaHostAllocMapped | cudaHostAllocPortable));
      break;
    case Kind::WriteCombined:
      check(cudaHostAlloc(
          &memory, size, cudaHostAllocWriteCombined | cudaHostAllocMapped | cudaHostAllocPortable));
      break;
    case Kind::Device:
      need_free(where.device, bytes);
      check(cudaMalloc(&memory, size));
      break;
    case Kind::Managed:
      // Never more than is free: what is migrated must find room.
      need_free(where.device, bytes);
      check(cudaMallocManaged(&memory, size));
      break;
  }
  data_ = static_cast<std::byte*>(memory);
}

Buffer::~Buffer() {
  (void)cudaSetDevice(where_.device);
  if (registered_) (void)cudaHostUnregister(data_);
  if (host_ != nullptr) {
    // `host_` gives its pages back itself.
  } else if (where_.kind == Kind::Pinned || where_.kind == Kind::WriteCombined) {
    (void)cudaFreeHost(data_);
  } else {
    (void)cudaFree(data_);
  }
  (void)cudaGetLastError();
}

void Buffer::fill(std::uint64_t seed) {
  if (where_.kind == Kind::Pageable) {
    fill_pageable(data_, bytes_, seed);
    return;
  }
  check(cudaSetDevice(where_.device));
  check(launch_fill(data_, bytes_, seed, nullptr));
  check(cudaDeviceSynchronize());
}

void Buffer::expect(std::uint64_t seed, const std::string& what) {
  if (where_.kind == Kind::Pageable) {
    if (!holds(data_, bytes_, seed)) {
      throw WrongData(fmt::format("{}: some of {} bytes are wrong", what, bytes_));
    }
    return;
  }
  expect(bytes_, {}, seed, {}, what);
}

void Buffer::expect(std::int64_t bytes, Map data_map, std::uint64_t seed, Map pattern_map,
                    const std::string& what) {
  check(cudaSetDevice(where_.device));
  const Scratch wrong(sizeof(unsigned long long));
  check(cudaMemset(wrong.data, 0, sizeof(unsigned long long)));
  check(launch_check(data_, bytes, data_map, seed, pattern_map,
                     reinterpret_cast<unsigned long long*>(wrong.data), nullptr));
  unsigned long long count = 0;
  check(cudaMemcpy(&count, wrong.data, sizeof count, cudaMemcpyDefault));
  if (count != 0) {
    throw WrongData(fmt::format("{}: {} places of {} bytes are wrong", what, count, bytes));
  }
}

}  // namespace strake::measure::cuda
