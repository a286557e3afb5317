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

#include "cuda_runtime_api.h"

namespace standin {
namespace {

constexpr int kDevices = 2;
std::atomic<bool> g_initialised{false};
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
  return (bytes + page) / page * page;  // of nothing, too, a page
}

/// A mapping with a page behind it that nobody may touch.
void* map(int file, std::size_t length, int protection) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* reserved =
      mmap(nullptr, length + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) throw std::bad_alloc();
  if (mmap(reserved, length, protection, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) {
    munmap(reserved, length + page);
    throw std::bad_alloc();
  }
  return reserved;
}

void unmap(void* address, std::size_t length) {
  munmap(address, length + static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
}

}  // namespace

namespace {

void* add(int file, std::size_t bytes, int device, bool pinned, bool own) {
  const char* open = std::getenv("STANDIN_OPEN");
  const bool is_open = pinned || (open != nullptr && std::strcmp(open, "1") == 0);
  const std::size_t length = whole_pages(bytes);
  void* const known = map(file, length, is_open ? PROT_READ | PROT_WRITE : PROT_NONE);
  void* memory = known;
  try {
    if (!is_open) memory = map(file, length, PROT_READ | PROT_WRITE);
  } catch (...) {
    unmap(known, length);
    throw;
  }
  Registry& all = registry();
  const std::unique_lock lock(all.mutex);
  const auto base = reinterpret_cast<std::uintptr_t>(known);
  all.by_base[base] = {
      base, bytes, static_cast<std::byte*>(memory), ++all.last_id, device, pinned, own ? file : -1};
  g_initialised = true;
  return known;
}

}  // namespace

void* allocate(std::size_t bytes, int device, bool pinned) {
  const int file = memfd_create("standin", MFD_CLOEXEC);
  if (file < 0) throw std::bad_alloc();
  try {
    if (ftruncate(file, static_cast<off_t>(whole_pages(bytes))) != 0) throw std::bad_alloc();
    return add(file, bytes, device, pinned, true);
  } catch (...) {
    close(file);
    throw;
  }
}

void* import_file(int file, std::size_t bytes) {
  return add(file, bytes, current_device(), false, false);
}

int current_device() noexcept { return t_device; }

void deallocate(void* address) noexcept {
  if (address == nullptr) return;
  Registry& all = registry();
  Allocation gone;
  {
    const std::unique_lock lock(all.mutex);
    const auto found = all.by_base.find(reinterpret_cast<std::uintptr_t>(address));
    if (found == all.by_base.end()) std::abort();  // freed twice, or never allocated
    gone = found->second;
    all.by_base.erase(found);
  }
  const std::size_t length = whole_pages(gone.bytes);
  unmap(address, length);
  if (gone.memory != address) unmap(gone.memory, length);
  if (gone.file >= 0) close(gone.file);
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

std::uint64_t default_work() noexcept { return default_stream().issued_; }

bool default_work_done(std::uint64_t work) noexcept { return default_stream().done_ >= work; }

}  // namespace standin

using namespace standin;

extern "C" {

int cuCtxGetCurrent(void** context) {
  *context = nullptr;
  return g_initialised ? 0 : 3;
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

const char* cudaGetErrorString(cudaError_t /*error*/) { return "an error of the stand-in"; }

}  // extern "C"
