// The plug-in for the stand-in's memory.
#include "device/backend.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "copies.hpp"
#include "cuda_runtime_api.h"
#include "queue.hpp"
#include "strake/error.hpp"
#include "stream.hpp"

namespace standin {
namespace {

using strake::AllocationInfo;
using strake::MemoryKind;
using strake::Place;

strake::Exportable sharing_of(const Allocation& allocation) {
  if (allocation.file < 0 || allocation.sharing == Sharing::None ||
      std::getenv("STANDIN_NO_SHARING") != nullptr)
    return strake::Exportable::No;
  return allocation.sharing == Sharing::Pieces ? strake::Exportable::ByPieces
                                               : strake::Exportable::ByHandle;
}

class Backend final : public strake::DeviceBackend {
 public:
  const char* name() const noexcept override { return "stand-in"; }
  int device_count() const noexcept override { return 2; }

  bool usable(int /*device*/) const noexcept override { return has_kernels(); }

  void require_intact(int device) const override {
    if (was_reset()) throw strake::CudaError("the stand-in was reset", device);
  }
  bool query(const void* address, AllocationInfo& info) const noexcept override {
    Allocation found;
    count_use();
    if (!find(address, found)) return false;
    info = {{found.pinned ? MemoryKind::Pinned : MemoryKind::Device, found.device},
            found.base,
            found.bytes,
            found.id,
            sharing_of(found)};
    return true;
  }

  bool knows(const void* address, std::uint64_t& buffer_id) const noexcept override {
    Allocation found;
    count_use();
    if (!find(address, found)) return false;
    buffer_id = found.id;
    return true;
  }

  const strake::DriverMaps* maps() const noexcept override { return maps_ ? &*maps_ : nullptr; }

  std::unique_ptr<strake::Queue> make_queue(int device, strake::QueueOrder order) override {
    return std::make_unique<Queue>(device, order);
  }

  std::unique_ptr<strake::Marker> make_marker(int device) override {
    return std::make_unique<Marker>(device);
  }

  std::unique_ptr<strake::DeviceStream> make_stream(int device, StreamOf /*use*/) override {
    return std::make_unique<Stream>(device);
  }
  std::unique_ptr<strake::DeviceStream> adopt_stream(void* stream, int device) override {
    if (stream != nullptr) return std::make_unique<Stream>(*static_cast<Queue*>(stream));
    return std::make_unique<Stream>(device, strake::QueueOrder::AfterDefault);
  }
  std::unique_ptr<strake::DeviceEvent> make_event(int device) override {
    return std::make_unique<Event>(device);
  }

  void* allocate(Place place, std::int64_t bytes) override {
    const bool pinned = place.kind == MemoryKind::Pinned;
    const char* const room = std::getenv(pinned ? "STANDIN_PINNED_MIB" : "STANDIN_DEVICE_MIB");
    auto& taken = taken_[pinned ? 1 : 0];
    if (room != nullptr && taken + bytes > std::atoll(room) << 20) {
      throw strake::OutOfMemory("the stand-in has no more memory");
    }
    taken += bytes;
    return standin::allocate(static_cast<std::size_t>(bytes), place.device,
                             place.kind == MemoryKind::Pinned);
  }
  void deallocate(Place place, void* address) noexcept override {
    Allocation gone;
    if (find(address, gone)) {
      taken_[place.kind == MemoryKind::Pinned ? 1 : 0] -= static_cast<std::int64_t>(gone.bytes);
    }
    standin::deallocate(address);
  }

  // Ranks share its devices, unless STANDIN_OWN_DEVICES=1.
  std::uint64_t identity(int device) const noexcept override {
    const bool own = std::getenv("STANDIN_OWN_DEVICES") != nullptr;
    return (own ? static_cast<std::uint64_t>(getpid()) * 8 : 0) +
           static_cast<std::uint64_t>(device) + 1;
  }
  bool reach_peer(int /*device*/, int /*other*/) override {
    return std::getenv("STANDIN_NO_SHARING") == nullptr;
  }
  std::byte* map_host(int /*device*/, std::byte* memory, std::int64_t bytes) override {
    const std::lock_guard lock(mapped_mutex_);
    for (const auto& [begin, mapped] : mapped_)
      if (begin < memory + bytes && memory < begin + mapped.bytes &&
          (begin != memory || mapped.bytes != bytes))
        throw strake::CudaError("some of this memory is mapped already", 1);
    mapped_[memory].bytes = bytes;
    ++mapped_[memory].times;
    return memory;
  }
  void unmap_host(int /*device*/, std::byte* memory) noexcept override {
    const std::lock_guard lock(mapped_mutex_);
    if (--mapped_[memory].times == 0) mapped_.erase(memory);
  }

  // By the files of the exporting process.
  bool export_memory(Place /*place*/, const strake::MemoryPiece& whole,
                     strake::ExportedMemory& made) const noexcept override {
    Allocation found;
    if (!find(reinterpret_cast<const void*>(whole.base), found) || found.file < 0) return false;
    const Handle handle{getpid(), found.file, inode_of(found.file)};
    static_assert(sizeof(handle) <= sizeof(made.handle));
    std::memcpy(made.handle.data(), &handle, sizeof(handle));
    made.base = found.base;
    made.bytes = static_cast<std::int64_t>(found.bytes);
    return true;
  }
  std::vector<strake::MemoryPiece> pieces_around(const void* address,
                                                 std::size_t most) const override {
    Allocation found;
    std::vector<strake::MemoryPiece> pieces;
    if (!find(address, found)) return pieces;
    auto at = found.base;
    for (Allocation before = found; at != found.whole && (found.base - at) / kPiece < most / 2;) {
      (void)find(reinterpret_cast<const void*>(at - kPiece), before);
      at = before.base;
    }
    const std::uintptr_t whole = found.whole;
    for (; pieces.size() < most && find(reinterpret_cast<const void*>(at), found) &&
           found.whole == whole && found.base == at;
         at += kPiece)
      pieces.push_back({at, static_cast<std::int64_t>(found.bytes), found.id});
    return pieces;
  }
  int export_piece(const strake::MemoryPiece& piece) const noexcept override {
    Allocation found;
    if (!find(reinterpret_cast<const void*>(piece.base), found) || found.id != piece.buffer_id)
      return -1;
    return dup(found.file);
  }
  std::byte* import_memory(const strake::ExportedMemory& memory, std::span<const int> descriptors,
                           Place& place) override {
    place = {MemoryKind::Device, place.device < 0 ? current_device() : place.device};
    if (memory.pieces != 0) {
      std::vector<std::size_t> bytes;
      for (std::size_t i = 0; i < descriptors.size(); ++i)
        bytes.push_back(memory.piece_units[i] * kPiece);
      return static_cast<std::byte*>(
          import_files(descriptors.data(), bytes.data(), descriptors.size()));
    }
    Handle handle;
    std::memcpy(&handle, memory.handle.data(), sizeof(handle));
    const std::string path =
        "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.file);
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0 || inode_of(file) != handle.inode) {
      if (file >= 0) close(file);
      throw strake::CudaError("no memory of the stand-in is at " + path, 1);
    }
    const auto bytes = static_cast<std::size_t>(memory.bytes);
    void* const made = import_files(&file, &bytes, 1);
    close(file);
    return static_cast<std::byte*>(made);
  }
  void release_import(Place /*place*/, std::byte* address,
                      const strake::ExportedMemory& /*memory*/) noexcept override {
    standin::deallocate(address);
  }

 private:
  /// The number of a file may be another one's by the time that it is opened.
  struct Handle {
    int process = 0;
    int file = -1;
    std::uint64_t inode = 0;
  };
  static std::uint64_t inode_of(int file) noexcept {
    struct stat found {};
    return fstat(file, &found) == 0 ? found.st_ino : 0;
  }
  const std::optional<strake::DriverMaps> maps_ = strake::watch_driver_maps(strake::kDriverLibrary);
  std::array<std::atomic<std::int64_t>, 2> taken_{};  // of device and of pinned memory
  std::mutex mapped_mutex_;
  struct MappedHost {
    std::int64_t bytes = 0;
    int times = 0;
  };
  std::map<std::byte*, MappedHost> mapped_;
};

}  // namespace
}  // namespace standin

extern "C" __attribute__((visibility("default"))) strake::DeviceBackend* strake_make_device_backend(
    int version, const strake::DeviceBackendOptions& /*options*/) {
  return version == strake::kDeviceBackendVersion ? new standin::Backend : nullptr;
}
