/// \file  A device for machines that have none: the calls of the CUDA runtime that test programs
/// use, and the driver behind them. Its memory is the host's, but at addresses that the CPU can't
/// touch, so that an access past the runtime ends the program as it would with a GPU's memory.
/// STANDIN_OPEN=1 opens them: an MPI library then takes them as a GPU-aware one does.
/// STANDIN_NO_SHARING=1: other processes can't open it. STANDIN_OWN_DEVICES=1: its devices are this
/// process's alone. STANDIN_PINNED_MIB and STANDIN_DEVICE_MIB bound what a process's plug-in may
/// have at a time.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

using cudaError_t = int;
enum cudaMemcpyKind { cudaMemcpyDefault = 4 };
inline constexpr cudaError_t cudaSuccess = 0;
using cudaStream_t = void*;
using cudaHostFn_t = void (*)(void* argument);

/// Messages in the memory of devices fail from now on.
cudaError_t cudaDeviceReset();
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaMalloc(void** address, std::size_t bytes);
cudaError_t cudaFree(void* address);
/// After what the default stream holds. Complete on return.
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
/// \{ In the default stream, a null one; there is no other.
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* argument);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaStreamSynchronize(cudaStream_t stream);  ///< of the default one
/// \}
const char* cudaGetErrorString(cudaError_t error);

/// The driver's: 3 (not initialised) before the first of the calls above.
int cuCtxGetCurrent(void** context);

}  // extern "C"

namespace standin {

/// How other processes can map memory.
enum class Sharing {
  Whole,   ///< as cudaMalloc's
  Pieces,  ///< as of cuMemMap: of kPiece each
  None,    ///< as a pool's
};
inline constexpr std::size_t kPiece = std::size_t{64} << 10;

struct Allocation {
  std::uintptr_t base = 0;   ///< as programs know it
  std::uintptr_t whole = 0;  ///< the base of the first piece that was allocated with it
  std::size_t bytes = 0;
  std::byte* memory = nullptr;  ///< the same bytes, where the CPU reaches them
  std::uint64_t id = 0;
  int device = 0;
  bool pinned = false;  ///< page-locked host memory: open to all
  int file = -1;        ///< that other processes may map; negative: it is another's
  Sharing sharing = Sharing::Whole;
};

/// If `at` is not null, in place of what is mapped there. \throws std::bad_alloc
void* allocate(std::size_t bytes, int device, bool pinned, Sharing sharing = Sharing::Whole,
               void* at = nullptr);
void deallocate(void* address) noexcept;
/// One of the pieces that allocate() made gets other memory, at the same address.
void map_anew(void* address);
/// Memory of another process, by its files, for the current device.
void* import_files(const int* files, const std::size_t* bytes, std::size_t count);
/// The thread's.
int current_device() noexcept;
/// The allocation that an address lies in (or is the end of); false: none.
bool find(const void* address, Allocation& found) noexcept;
/// \{ How often the plug-in asked what lies at an address, or gave a queue some work.
void count_use() noexcept;
long uses() noexcept;
/// \}
/// Where the CPU reaches what programs know as `address`: itself for any other memory.
std::byte* reach(const void* address) noexcept;

/// Whether cudaDeviceReset() was called.
bool was_reset() noexcept;
/// How much work the default stream was ever given.
std::uint64_t default_work() noexcept;
/// Whether so much of it is done.
bool default_work_done(std::uint64_t work) noexcept;

}  // namespace standin
