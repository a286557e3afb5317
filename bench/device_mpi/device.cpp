#include "device_mpi/device.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace bench {

void require_device() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0) return;
  std::fprintf(stderr, "skipped: no CUDA device\n");
  std::exit(77);
}

int use_device(int rank) {
  int devices = 0;
  check(cudaGetDeviceCount(&devices));
  check(cudaSetDevice(rank % devices));
  check(cudaFree(nullptr));  // makes the context
  return devices;
}

std::string device_name() {
  int device = 0;
  cudaDeviceProp properties{};
  check(cudaGetDevice(&device));
  check(cudaGetDeviceProperties(&properties, device));
  return properties.name;
}

std::vector<Field> method_fields() {
  std::vector<Field> fields;
  for (const auto& [key, name] :
       {std::pair{"method", "STRAKE_METHOD"}, {"chunk", "STRAKE_CHUNK"}}) {
    const char* const value = std::getenv(name);
    fields.emplace_back(key, std::string(value != nullptr ? value : "auto"));
  }
  return fields;
}

Parts::Parts() : flag_(Where::Pinned, 64), arrivals_(Where::Device, 4) {
  check(cudaStreamCreate(&stream_));
}

Parts::~Parts() { check(cudaStreamDestroy(stream_)); }

Done Parts::next() {
  return {reinterpret_cast<volatile std::uint64_t*>(flag_.data()), ++value_,
          reinterpret_cast<unsigned*>(arrivals_.data())};
}

void Parts::wait() const {
  const auto* const flag = reinterpret_cast<const volatile std::uint64_t*>(flag_.data());
  while (*flag < value_) {
  }
}

void Parts::nothing() {
  check(launch_nothing(next(), stream_));
  wait();
}

void Parts::pack(const Object2d& object, const DeviceMemory& dense, const DeviceMemory& strided) {
  check(launch_pack(object, dense.data(), strided.data(), next(), stream_));
  wait();
}

void Parts::unpack(const Object2d& object, const DeviceMemory& strided, const DeviceMemory& dense) {
  check(launch_unpack(object, strided.data(), dense.data(), next(), stream_));
  wait();
}

void Parts::copy(const DeviceMemory& to, const DeviceMemory& from, std::int64_t bytes) {
  check(cudaMemcpyAsync(to.data(), from.data(), static_cast<std::size_t>(bytes), cudaMemcpyDefault,
                        stream_));
  check(cudaStreamSynchronize(stream_));
}

}  // namespace bench
