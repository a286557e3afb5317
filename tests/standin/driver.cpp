#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <thread>
#include <utility>
#include <vector>

#include "cuda_runtime_api.h"

namespace standin {
namespace {

constexpr int kDevices = 2;
std::atomic<bool> g_initialised{false};
std::atomic<bool> g_reset{false};
std::atomic<long> g_uses{0};
thread_local int t_device = 0;

struct Registry {
  std::shared_mutex mutex;
  std::map<std::uintptr_t, Allocation> by_base;
  std::uint64_t last_id = 0;
};

Registry& registry() {
  static Registry& made = *new Registry;  // exit handlers may still free
  return made;
}

std::size_t whole_pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes == 0 ? page : (bytes + page - 1) / page * page;  // of nothing, too, a page
}

/// A file and the bytes of it that programs ask for.
struct Part {
  int file;
  std::size_t bytes;
};

/// One mapping beside the other, and behind them a page that nobody may touch.
void* map(const std::vector<Part>& parts, int protection, void* wanted = nullptr) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::size_t length = page;
  for (const Part& part : parts) length += whole_pages(part.bytes);
  const int fixed = wanted != nullptr ? MAP_FIXED : 0;
  void* reserved =
      mmap(wanted, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
  if (reserved == MAP_FAILED) throw std::bad_alloc();
  auto* at = static_cast<std::byte*>(reserved);
  for (const Part& part : parts) {
    const std::size_t own = whole_pages(part.bytes);
    if (mmap(at, own, protection, MAP_SHARED | MAP_FIXED, part.file, 0) == MAP_FAILED) {
      munmap(reserved, length);
      throw std::bad_alloc();
    }
    at += own;
  }
  return reserved;
}

void unmap(void* address, std::size_t length) {
  munmap(address, length + static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
}

int make_file(std::size_t bytes) {
  const int file = memfd_create("standin", MFD_CLOEXEC);
  if (file < 0) throw std::bad_alloc();
  if (ftruncate(file, static_cast<off_t>(whole_pages(bytes))) == 0) return file;
  close(file);
  throw std::bad_alloc();
}

int protection_of(bool pinned) {
  const char* const open = std::getenv("STANDIN_OPEN");
  return pinned || (open != nullptr && std::strcmp(open, "1") == 0) ? PROT_READ | PROT_WRITE
                                                                    : PROT_NONE;
}

void* add(const std::vector<Part>& parts, int device, bool pinned, bool own, Sharing sharing,
          void* at = nullptr) {
  void* const known = map(parts, protection_of(pinned), at);
  void* memory = known;
  std::size_t length = 0;
  for (const Part& part : parts) length += whole_pages(part.bytes);
  try {
    if (protection_of(pinned) == PROT_NONE) memory = map(parts, PROT_READ | PROT_WRITE);
  } catch (...) {
    unmap(known, length);
    throw;
  }
  Registry& all = registry();
  const std::unique_lock lock(all.mutex);
  const auto whole = reinterpret_cast<std::uintptr_t>(known);
  auto* reached = static_cast<std::byte*>(memory);
  std::uintptr_t base = whole;
  for (const Part& part : parts) {
    all.by_base[base] = {base,   whole,  part.bytes,           reached, ++all.last_id,
                         device, pinned, own ? part.file : -1, sharing};
    base += whole_pages(part.bytes);
    reached += whole_pages(part.bytes);
  }
  g_initialised = true;
  return known;
}

}  // namespace

void* allocate(std::size_t bytes, int device, bool pinned, Sharing sharing, void* at) {
  std::vector<Part> parts;
  try {
    if (sharing != Sharing::Pieces) {
      parts.push_back({make_file(bytes), bytes});
    } else {
      for (std::size_t done = 0; done < bytes || done == 0; done += kPiece)
        parts.push_back({make_file(kPiece), kPiece});
    }
    return add(parts, device, pinned, true, sharing, at);
  } catch (...) {
    for (const Part& part : parts) close(part.file);
    throw;
  }
}

void* import_files(const int* files, const std::size_t* bytes, std::size_t count) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < count; ++i) parts.push_back({files[i], bytes[i]});
  return add(parts, current_device(), false, false, Sharing::None);
}

void map_anew(void* address) {
  Registry& all = registry();
  const std::unique_lock lock(all.mutex);
  Allocation& piece = all.by_base.at(reinterpret_cast<std::uintptr_t>(address));
  const int file = make_file(piece.bytes);
  const auto put = [&](void* at, int protection) {
    if (mmap(at, piece.bytes, protection, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
      std::abort();
  };
  put(address, protection_of(piece.pinned));
  if (piece.memory != address) put(piece.memory, PROT_READ | PROT_WRITE);
  close(piece.file);
  piece.file = file;
  piece.id = ++all.last_id;
}

int current_device() noexcept { return t_device; }

void deallocate(void* address) noexcept {
  if (address == nullptr) return;
  Registry& all = registry();
  std::size_t length = 0;
  std::byte* memory = nullptr;
  {
    const std::unique_lock lock(all.mutex);
    const auto whole = reinterpret_cast<std::uintptr_t>(address);
    auto at = all.by_base.find(whole);
    if (at == all.by_base.end() || at->second.whole != whole)
      std::abort();  // freed twice, or never allocated
    memory = at->second.memory;
    for (; at != all.by_base.end() && at->second.whole == whole; at = all.by_base.erase(at)) {
      length += whole_pages(at->second.bytes);
      if (at->second.file >= 0) close(at->second.file);
    }
  }
  unmap(address, length);
  if (memory != address) unmap(memory, length);
}

bool find(const void* address, Allocation& found) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  Registry& all = registry();
  const std::shared_lock lock(all.mutex);
  auto after = all.by_base.upper_bound(at);
  if (after == all.by_base.begin()) return false;
  --after;
  if (at > after->second.base + after->second.bytes) return false;
  found = after->second;
  return true;
}

void count_use() noexcept { g_uses.fetch_add(1, std::memory_order_relaxed); }
long uses() noexcept { return g_uses.load(std::memory_order_relaxed); }

std::byte* reach(const void* address) noexcept {
  Allocation found;
  if (!find(address, found)) return const_cast<std::byte*>(static_cast<const std::byte*>(address));
  return found.memory + (reinterpret_cast<std::uintptr_t>(address) - found.base);
}

namespace {

/// A thread that does one piece of work after the other.
class DefaultStream {
 public:
  void push(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    if (issued_ == 0) std::thread([this] { run(); }).detach();
    work_.push_back(std::move(work));
    issued_.fetch_add(1, std::memory_order_release);
    wake_.notify_one();
  }
  std::atomic<std::uint64_t> issued_ = 0;
  std::atomic<std::uint64_t> done_ = 0;

 private:
  void run() {
    for (;;) {
      std::function<void()> next;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return !work_.empty(); });
        next = std::move(work_.front());
        work_.pop_front();
      }
      next();
      done_.fetch_add(1, std::memory_order_release);
    }
  }
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> work_;
};

DefaultStream& default_stream() {
  static DefaultStream& made = *new DefaultStream;  // its thread runs to the end
  return made;
}

}  // namespace

bool was_reset() noexcept { return g_reset; }

std::uint64_t default_work() noexcept { return default_stream().issued_; }

bool default_work_done(std::uint64_t work) noexcept { return default_stream().done_ >= work; }

}  // namespace standin

using namespace standin;

extern "C" {

int cuCtxGetCurrent(void** context) {
  *context = nullptr;
  return g_initialised ? 0 : 3;
}

cudaError_t cudaDeviceReset() {
  g_reset = true;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = kDevices;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  t_device = device;
  g_initialised = true;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = t_device;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** address, std::size_t bytes) {
  *address = allocate(bytes, t_device, false);
  return cudaSuccess;
}

cudaError_t cudaFree(void* address) {
  deallocate(address);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind /*kind*/) {
  cudaDeviceSynchronize();
  std::memcpy(reach(to), reach(from), bytes);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t /*stream*/) {
  default_stream().push([to = reach(to), value, bytes] { std::memset(to, value, bytes); });
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t /*stream*/, cudaHostFn_t function, void* argument) {
  default_stream().push([function, argument] { function(argument); });
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  for (const std::uint64_t work = default_work(); !default_work_done(work);)
    std::this_thread::yield();
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t /*stream*/) { return cudaDeviceSynchronize(); }

const char* cudaGetErrorString(cudaError_t /*error*/) { return "an error of the stand-in"; }

}  // extern "C"
