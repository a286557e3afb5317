#include "device/driver_maps.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mutex>
#include <span>
#include <string_view>

#include "device/imports.hpp"
#include "state/process_state.hpp"

namespace strake {
namespace {

constinit std::atomic<std::uint64_t> g_calls{1};

/// One thread at a time changes slots.
struct ChangingSlots {
  std::mutex mutex;
};

/// Counts a call that has returned; errno stays the call's.
void count() noexcept { g_calls.fetch_add(1, std::memory_order_acq_rel); }

// Any thread of the driver may run these at any time: no locks, no memory. Each calls the C library
// by this object's own slot: a tool that hooks the calls of all objects has hooked this one, too.
void* counted_mmap(void* address, std::size_t bytes, int protection, int flags, int file,
                   off_t offset) noexcept {
  void* const mapped = mmap(address, bytes, protection, flags, file, offset);
  count();
  return mapped;
}
void* counted_mremap(void* old, std::size_t old_bytes, std::size_t bytes, int flags,
                     void* address) noexcept {
  void* const mapped = mremap(old, old_bytes, bytes, flags, address);
  count();
  return mapped;
}
int counted_ioctl(int file, unsigned long request, void* argument) noexcept {
  const int code = ioctl(file, request, argument);
  count();
  return code;
}

/// Returns the function that takes the place of one of the C library; null: none does.
void* counted(std::string_view name) noexcept {
  static_assert(sizeof(off_t) == 8, "mmap and mmap64 take the same arguments");
  if (name == "mmap" || name == "mmap64") return reinterpret_cast<void*>(&counted_mmap);
  if (name == "mremap") return reinterpret_cast<void*>(&counted_mremap);
  if (name == "ioctl") return reinterpret_cast<void*>(&counted_ioctl);
  return nullptr;
}

/// Whether a relocation fills a pointer with the address of its symbol.
bool fills_pointer(const ElfW(Rela) & relocation) noexcept {
  const auto type = ELF64_R_TYPE(relocation.r_info);
#if defined(__x86_64__)
  const bool fills = type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_64;
#elif defined(__aarch64__)
  const bool fills =
      type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT || type == R_AARCH64_ABS64;
#else
  const bool fills = false;
#endif
  return fills && relocation.r_addend == 0;
}

}  // namespace

/// A loaded shared object, and the pointers by which it calls others.
class DriverObject {
 public:
  explicit DriverObject(const link_map& map) : base_(map.l_addr), imports_(map) {
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* self) {
          auto& object = *static_cast<DriverObject*>(self);
          if (info->dlpi_addr != object.base_) return 0;
          object.segments_ = {info->dlpi_phdr, info->dlpi_phnum};
          return 1;
        },
        this);
  }

  /// Lets all its slots lead to the counting functions. False: there is none of mmap, or one can't
  /// be changed.
  [[nodiscard]] bool change_slots(DriverMaps& maps) const noexcept {
    maps.calls_ = &g_calls;
    bool maps_memory = false;
    const bool failed = imports_.any([&](const auto& relocation, const auto&, const char* name) {
      void* const ours = fills_pointer(relocation) ? counted(name) : nullptr;
      if (ours == nullptr) return false;
      if (maps.size_ == maps.slots_.size()) return true;
      auto** const slot = reinterpret_cast<void**>(base_ + relocation.r_offset);
      if (!change(slot, ours)) return true;
      maps.slots_[maps.size_++] = {slot, ours};
      maps_memory = maps_memory || ours == counted("mmap");
      return false;
    });
    return maps_memory && !failed;
  }

 private:
  [[nodiscard]] bool change(void** slot, void* ours) const noexcept {
    const auto page = static_cast<ElfW(Addr)>(sysconf(_SC_PAGESIZE));
    const auto address = reinterpret_cast<ElfW(Addr)>(slot);
    bool writable = false;
    bool closed = false;
    for (const ElfW(Phdr) & segment : segments_) {
      const ElfW(Addr) begin = base_ + segment.p_vaddr;
      const ElfW(Addr) end = begin + segment.p_memsz;
      if (segment.p_type == PT_LOAD && address >= begin && address < end)
        writable = (segment.p_flags & PF_W) != 0;
      // The loader makes the whole pages of this segment read-only.
      if (segment.p_type == PT_GNU_RELRO)
        closed = address >= begin / page * page && address < end / page * page;
    }
    if (!writable) return false;
    void* const around = reinterpret_cast<void*>(address / page * page);
    if (closed && mprotect(around, page, PROT_READ | PROT_WRITE) != 0) return false;
    __atomic_store_n(slot, ours, __ATOMIC_RELEASE);
    return !closed || mprotect(around, page, PROT_READ) == 0;
  }

  ElfW(Addr) base_;
  Imports imports_;
  std::span<const ElfW(Phdr)> segments_;
};

std::optional<DriverMaps> watch_driver_maps(const char* object) noexcept {
  // The reference is kept, so that the slots are never unmapped.
  void* const handle = dlopen(object, RTLD_LAZY | RTLD_NOLOAD);
  link_map* map = nullptr;
  if (handle == nullptr || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return {};
  const std::scoped_lock lock(ProcessState::part<ChangingSlots>().mutex);
  DriverMaps maps;
  if (!DriverObject(*map).change_slots(maps)) return {};
  return maps;
}

}  // namespace strake
