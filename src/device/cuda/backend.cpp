/// \file  The CUDA plug-in: the memory and queues that libstrake-cuda.so gives to the core.
#include "device/backend.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "device/cuda/block.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/mapped.hpp"
#include "device/cuda/marker.hpp"
#include "device/cuda/peers.hpp"
#include "device/cuda/probe.hpp"
#include "device/cuda/queue.hpp"
#include "device/cuda/stream.hpp"
#include "strake/error.hpp"

namespace strake::cuda {
namespace {

/// Under WSL the library of this name only loads the driver proper, whose calls it would not count.
std::optional<DriverMaps> find_maps() noexcept {
  if (access("/dev/dxg", F_OK) == 0) return {};
  return watch_driver_maps(kDriverLibrary);
}

class CudaBackend final : public DeviceBackend {
 public:
  CudaBackend(int devices, const DeviceBackendOptions& options)
      : devices_(devices), options_(options), maps_(find_maps()) {
    for (int device = 0; device < devices; ++device) {
      Traits& traits = traits_.emplace_back();
      traits.multiprocessors = multiprocessors_of(device);
      check(cudaDeviceGetAttribute(&traits.major, cudaDevAttrComputeCapabilityMajor, device));
    }
  }

  [[nodiscard]] const char* name() const noexcept override { return "cuda"; }
  [[nodiscard]] int device_count() const noexcept override { return devices_; }

  [[nodiscard]] bool usable(int device) const noexcept override;
  void require_intact(int device) const override;
  bool query(const void* address, AllocationInfo& info) const noexcept override;
  bool knows(const void* address, std::uint64_t& buffer_id) const noexcept override;
  [[nodiscard]] const DriverMaps* maps() const noexcept override {
    return maps_ ? &*maps_ : nullptr;
  }
  std::unique_ptr<Queue> make_queue(int device, QueueOrder order) override;
  std::unique_ptr<Marker> make_marker(int device) override;
  std::unique_ptr<DeviceStream> make_stream(int device, StreamOf use) override;
  std::unique_ptr<DeviceStream> adopt_stream(void* stream, int device) override;
  std::unique_ptr<DeviceEvent> make_event(int device) override;
  void* allocate(Place place, std::int64_t bytes) override;
  void deallocate(Place place, void* address) noexcept override;
  [[nodiscard]] std::uint64_t identity(int device) const noexcept override;
  std::byte* map_host(int device, std::byte* memory, std::int64_t bytes) override;
  void unmap_host(int device, std::byte* memory) noexcept override;
  bool export_memory(Place place, const MemoryPiece& whole,
                     ExportedMemory& made) const noexcept override;
  std::vector<MemoryPiece> pieces_around(const void* address, std::size_t most) const override;
  int export_piece(const MemoryPiece& piece) const noexcept override;
  std::byte* import_memory(const ExportedMemory& memory, std::span<const int> descriptors,
                           Place& place) override;
  void release_import(Place place, std::byte* address,
                      const ExportedMemory& memory) noexcept override;
  bool reach_peer(int device, int other) override { return enable_peer(device, other); }

 private:
  struct Traits {
    int multiprocessors = 0;
    int major = 0;
    mutable std::once_flag asked;
    mutable bool usable = true;              // there are kernels for it
    mutable bool early = false;              // they may be set up while the one before still runs
    mutable unsigned long long context = 0;  // its id; 0: the driver has none
  };
  void require_device(int device) const;
  /// With what only its context tells, which is made at first use.
  const Traits& traits_of(int device) const;

  int devices_;
  DeviceBackendOptions options_;  // of the core that it was made for
  const std::optional<DriverMaps> maps_;
  std::deque<Traits> traits_;
  std::mutex mapped_hosts_mutex_;
  std::map<std::byte*, int> mapped_hosts_;  ///< how often each is mapped
};

const CudaBackend::Traits& CudaBackend::traits_of(int device) const {
  const Traits& traits = traits_[static_cast<std::size_t>(device)];
  std::call_once(traits.asked, [&] {
    const DeviceScope scope(device);
    traits.context = context_id(device);
    cudaFuncAttributes attributes{};
    const cudaError_t code = probe_attributes(attributes);
    (void)cudaGetLastError();
    // Compiled for an older device, they do not wait for the kernel before.
    traits.early = code == cudaSuccess && traits.major >= 9 && attributes.ptxVersion >= 90;
    traits.usable = code != cudaErrorNoKernelImageForDevice &&
                    code != cudaErrorInvalidDeviceFunction && code != cudaErrorInvalidPtx &&
                    code != cudaErrorUnsupportedPtxVersion && code != cudaErrorJitCompilerNotFound;
    if (traits.usable) return;
    options_.warn(fmt::format("the memory of device {} is left to the MPI library: {}", device,
                              cudaGetErrorString(code))
                      .c_str());
  });
  return traits;
}

bool CudaBackend::usable(int device) const noexcept {
  try {
    return device < 0 || device >= devices_ || traits_of(device).usable;
  } catch (const Error&) {
    return true;  // if the device has a fault, the copy reports it
  }
}

void CudaBackend::require_intact(int device) const {
  require_device(device);
  const Traits& traits = traits_of(device);
  if (context_id(device) == traits.context) return;
  throw CudaError(
      fmt::format("device {} was reset (cudaDeviceReset) after messages in its memory: there can "
                  "be no more of them",
                  device),
      cudaErrorContextIsDestroyed);
}

bool CudaBackend::query(const void* address, AllocationInfo& info) const noexcept {
  unsigned type = 0;
  unsigned managed = 0;
  int device = -1;
  unsigned long long id = 0;
  CUdeviceptr base = 0;
  std::size_t size = 0;
  unsigned by_handle = 0;
  std::uint64_t handle_types = 0;
  CUmemoryPool pool = nullptr;
  std::array attributes{CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                        CU_POINTER_ATTRIBUTE_IS_MANAGED,
                        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                        CU_POINTER_ATTRIBUTE_BUFFER_ID,
                        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                        CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                        CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                        CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES,
                        CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE};
  std::array<void*, 9> values{&type, &managed,   &device,       &id,  &base,
                              &size, &by_handle, &handle_types, &pool};
  // Attributes that do not apply are left at zero; an unknown address leaves the type so.
  if (driver()->pointer_get_attributes(static_cast<unsigned>(attributes.size()), attributes.data(),
                                       values.data(),
                                       reinterpret_cast<CUdeviceptr>(address)) != CUDA_SUCCESS ||
      type == 0) {
    return false;
  }
  if (managed != 0 && !usable(device)) return false;
  info.place.kind = managed != 0                 ? MemoryKind::Managed
                    : type == CU_MEMORYTYPE_HOST ? MemoryKind::Pinned
                                                 : MemoryKind::Device;
  info.place.device = device;
  info.base = base;
  info.size_bytes = size;
  info.buffer_id = id;
  // A pool's memory has to be given up by other processes before its own frees it, which is not
  // seen here.
  const bool by_pieces =
      pool == nullptr && (handle_types & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0;
  info.exportable = by_handle != 0 ? Exportable::ByHandle
                    : by_pieces    ? Exportable::ByPieces
                                   : Exportable::No;
  return true;
}

bool CudaBackend::knows(const void* address, std::uint64_t& buffer_id) const noexcept {
  // The plural call: for an unknown address the singular one makes an error of it, which takes a
  // microsecond.
  unsigned type = 0;
  unsigned long long id = 0;
  std::array attributes{CU_POINTER_ATTRIBUTE_BUFFER_ID, CU_POINTER_ATTRIBUTE_MEMORY_TYPE};
  std::array<void*, 2> values{&id, &type};
  if (driver()->pointer_get_attributes(2, attributes.data(), values.data(),
                                       reinterpret_cast<CUdeviceptr>(address)) != CUDA_SUCCESS) {
    return false;
  }
  buffer_id = id;
  return type != 0;
}

void CudaBackend::require_device(int device) const {
  if (device < 0 || device >= devices_) {
    throw InvalidArgument(fmt::format("there is no device {}, only {}", device, devices_));
  }
}

std::unique_ptr<Queue> CudaBackend::make_queue(int device, QueueOrder order) {
  require_device(device);
  const Traits& traits = traits_of(device);
  return std::make_unique<CudaQueue>(options_, device, order, traits.multiprocessors, traits.early);
}

std::unique_ptr<Marker> CudaBackend::make_marker(int device) {
  require_device(device);
  return std::make_unique<CudaMarker>(device);
}

std::unique_ptr<DeviceStream> CudaBackend::make_stream(int device, StreamOf use) {
  require_device(device);
  const Traits& traits = traits_of(device);
  const DeviceScope scope(device);
  cudaStream_t stream = nullptr;
  int lowest = 0;
  int highest = 0;
  check(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
  const int priority = use == StreamOf::Library ? highest : lowest;
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority));
  return std::make_unique<CudaStream>(device, stream, CudaStream::Owned::Yes,
                                      traits.multiprocessors,
                                      use == StreamOf::Library && traits.early);
}

std::unique_ptr<DeviceStream> CudaBackend::adopt_stream(void* stream, int device) {
  auto* const native = static_cast<cudaStream_t>(stream);
  if (device != -1) require_device(device);
  const bool fixed = device != -1 && is_default_stream(native);
  const int actual = fixed ? device : device_of_stream(native);
  if (device != -1 && actual != device) {
    throw InvalidArgument(
        fmt::format("the stream {} is of device {}, not of device {}", stream, actual, device));
  }
  const Traits& traits = traits_of(actual);
  return std::make_unique<CudaStream>(actual, native, CudaStream::Owned::No,
                                      traits.multiprocessors);
}

std::unique_ptr<DeviceEvent> CudaBackend::make_event(int device) {
  require_device(device);
  return std::make_unique<CudaEvent>(device);
}

void* CudaBackend::allocate(Place place, std::int64_t bytes) {
  require_device(place.device);
  const DeviceScope scope(place.device);
  void* memory = nullptr;
  if (place.kind == MemoryKind::Device) {
    check(cudaMalloc(&memory, static_cast<std::size_t>(bytes)));
  } else if (place.kind == MemoryKind::Pinned) {
    check(cudaHostAlloc(&memory, static_cast<std::size_t>(bytes),
                        cudaHostAllocMapped | cudaHostAllocPortable));
  } else {
    throw Unsupported(fmt::format("a device back end allocates no {} memory", name_of(place.kind)));
  }
  return memory;
}

void CudaBackend::deallocate(Place place, void* address) noexcept {
  release_on(place.device, [&] {
    (void)(place.kind == MemoryKind::Device ? cudaFree(address) : cudaFreeHost(address));
  });
}

std::uint64_t CudaBackend::identity(int device) const noexcept {
  cudaDeviceProp properties{};
  if ((device < 0 && cudaGetDevice(&device) != cudaSuccess) ||
      cudaGetDeviceProperties(&properties, device) != cudaSuccess) {
    (void)cudaGetLastError();
    return 0;
  }
  std::uint64_t half[2];
  static_assert(sizeof(half) == sizeof(properties.uuid));
  std::memcpy(half, &properties.uuid, sizeof(half));
  return half[0] ^ half[1];
}

std::byte* CudaBackend::map_host(int device, std::byte* memory, std::int64_t bytes) {
  const DeviceScope scope(device);
  const std::scoped_lock lock(mapped_hosts_mutex_);
  // All devices may have it, but it is registered once.
  const auto known = mapped_hosts_.find(memory);
  if (known == mapped_hosts_.end())
    check(cudaHostRegister(memory, static_cast<std::size_t>(bytes),
                           cudaHostRegisterMapped | cudaHostRegisterPortable));
  void* there = nullptr;
  const cudaError_t code = cudaHostGetDevicePointer(&there, memory, 0);
  if (code != cudaSuccess && known == mapped_hosts_.end()) (void)cudaHostUnregister(memory);
  check(code);
  ++mapped_hosts_[memory];
  return static_cast<std::byte*>(there);
}

void CudaBackend::unmap_host(int device, std::byte* memory) noexcept {
  const std::scoped_lock lock(mapped_hosts_mutex_);
  const auto known = mapped_hosts_.find(memory);
  if (known == mapped_hosts_.end() || --known->second > 0) return;
  mapped_hosts_.erase(known);
  release_on(device, [&] { (void)cudaHostUnregister(memory); });
}

bool CudaBackend::export_memory(Place place, const MemoryPiece& whole,
                                ExportedMemory& made) const noexcept {
  cudaIpcMemHandle_t handle{};
  static_assert(sizeof(handle) == sizeof(made.handle));
  bool exported = false;
  try {
    const DeviceScope scope(place.device);
    exported =
        cudaIpcGetMemHandle(&handle, reinterpret_cast<void*>(whole.base)) == cudaSuccess;  // NOLINT
  } catch (const Error&) {
  }
  (void)cudaGetLastError();
  std::memcpy(made.handle.data(), &handle, sizeof(handle));
  made.base = whole.base;
  made.bytes = whole.bytes;
  return exported;
}

std::vector<MemoryPiece> CudaBackend::pieces_around(const void* address, std::size_t most) const {
  return mapped_around(reinterpret_cast<CUdeviceptr>(address), most);
}

int CudaBackend::export_piece(const MemoryPiece& piece) const noexcept {
  return descriptor_of(piece);
}

std::byte* CudaBackend::import_memory(const ExportedMemory& memory,
                                      std::span<const int> descriptors, Place& place) {
  int device = place.device;
  if (device < 0) check(cudaGetDevice(&device));
  const DeviceScope scope(device);
  place = {MemoryKind::Device, device};
  if (memory.pieces != 0) return map_pieces(memory, descriptors, device);
  cudaIpcMemHandle_t handle{};
  std::memcpy(&handle, memory.handle.data(), sizeof(handle));
  void* address = nullptr;
  check(cudaIpcOpenMemHandle(&address, handle, cudaIpcMemLazyEnablePeerAccess));
  return static_cast<std::byte*>(address);
}

void CudaBackend::release_import(Place place, std::byte* address,
                                 const ExportedMemory& memory) noexcept {
  release_on(place.device, [&] {
    if (memory.pieces != 0) return unmap_pieces(address, memory.bytes);
    (void)cudaIpcCloseMemHandle(address);
  });
}

}  // namespace
}  // namespace strake::cuda

extern "C" __attribute__((visibility("default"))) strake::DeviceBackend* strake_make_device_backend(
    int version, const strake::DeviceBackendOptions& options) {
  if (version != strake::kDeviceBackendVersion || strake::cuda::driver() == nullptr) return nullptr;
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    (void)cudaGetLastError();
    return nullptr;
  }
  try {
    // Lives as long as the process: plans and queues may outlive any static object.
    return new strake::cuda::CudaBackend(devices, options);
  } catch (const std::exception&) {
    return nullptr;
  }
}
