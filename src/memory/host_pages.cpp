#include "memory/host_pages.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace strake {
namespace {

/// Whether the host can read the 8 bytes around an address. The kernel copies the signals to change
/// from there before it finds that it knows no such change. process_vm_readv would do as well, but
/// containers forbid it.
bool is_readable(const void* address) noexcept {
  constexpr int kNoSuchChange = ~0;
  constexpr std::uintptr_t kBytes = 8;
  const int before = errno;
  const auto at = reinterpret_cast<std::uintptr_t>(address) / kBytes * kBytes;
  const bool readable =
      syscall(SYS_rt_sigprocmask, kNoSuchChange, at, nullptr, kBytes) != 0 && errno == EINVAL;
  errno = before;
  return readable;
}

}  // namespace

void HostPages::note_unknown(const void* address, std::uint64_t generation) noexcept {
  const std::uint64_t word = word_of(address, generation);
  std::atomic<std::uint64_t>& slot = slots_[slot_of(address)];
  const std::uint64_t now = slot.load(std::memory_order_relaxed);
  if (word == 0 || now == (word | kKnown)) return;
  if (now != word) {
    slot.store(word, std::memory_order_relaxed);
  } else if (is_readable(address)) {
    slot.store(word | kKnown, std::memory_order_relaxed);
  }
}

}  // namespace strake
