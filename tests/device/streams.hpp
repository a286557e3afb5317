/// \file  Streams of the user's, and copies on them whose answer is one value.
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <thread>
#include <vector>

#include "device_test.hpp"

namespace strake {

inline constexpr std::int64_t kBytes = std::int64_t{1} << 20;

/// 8 of every 16 bytes.
inline Layout strided() {
  const Dim dims[] = {{kBytes / 16, 16}};
  return Layout::box(0, 8, dims);
}
inline Layout packed() { return Layout::dense(kBytes / 2); }

/// Work that takes 20 ms.
inline void delay(cudaStream_t stream) {
  const auto sleep = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  ASSERT_EQ(cudaLaunchHostFunc(stream, sleep, nullptr), cudaSuccess);
}

/// A stream of the user's.
class UserStream {
 public:
  explicit UserStream(unsigned flags = cudaStreamNonBlocking) {
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, flags), cudaSuccess);
  }
  ~UserStream() { (void)cudaStreamDestroy(stream_); }
  UserStream(const UserStream&) = delete;
  UserStream& operator=(const UserStream&) = delete;
  operator cudaStream_t() const { return stream_; }  // NOLINT(google-explicit-constructor)

 private:
  cudaStream_t stream_ = nullptr;
};

inline bool all_are(const std::vector<std::byte>& bytes, int value) {
  return bytes == std::vector<std::byte>(bytes.size(), static_cast<std::byte>(value));
}

}  // namespace strake
