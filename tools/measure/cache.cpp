#include "cache.hpp"

#include <cstdint>

#include "strake/error.hpp"
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace strake::measure {
namespace {

// No CPU that Strake runs on has shorter lines; flushing a line twice does no harm.
[[maybe_unused]] constexpr std::size_t kLine = 64;

#if defined(__x86_64__)
/// Flushes of different lines do not wait for each other, unlike those of clflush.
__attribute__((target("clflushopt"))) void flush_unordered(const char* line, const char* end) {
  for (; line < end; line += kLine) _mm_clflushopt(const_cast<char*>(line));
}

bool has_clflushopt() noexcept {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned kBit = 1U << 23;  // leaf 7, EBX
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ebx & kBit) != 0;
}

bool flush_lines(const char* line, const char* end) {
  static const bool unordered = has_clflushopt();
  _mm_mfence();
  if (unordered) {
    flush_unordered(line, end);
  } else {
    for (; line < end; line += kLine) _mm_clflush(line);
  }
  _mm_mfence();
  return true;
}
#elif defined(__aarch64__)
bool flush_lines(const char* line, const char* end) {
  asm volatile("dsb ish" ::: "memory");
  for (; line < end; line += kLine) asm volatile("dc civac, %0" ::"r"(line) : "memory");
  asm volatile("dsb ish" ::: "memory");
  return true;
}
#elif defined(__powerpc64__)
bool flush_lines(const char* line, const char* end) {
  for (; line < end; line += kLine) asm volatile("dcbf 0, %0" ::"r"(line) : "memory");
  asm volatile("sync" ::: "memory");
  return true;
}
#else
bool flush_lines(const char*, const char*) { return false; }
#endif

}  // namespace

bool can_flush_cache() noexcept { return flush_lines(nullptr, nullptr); }

void flush_cache(const void* data, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const auto* const first = reinterpret_cast<const char*>(address / kLine * kLine);
  if (!flush_lines(first, reinterpret_cast<const char*>(address + bytes))) {
    throw Unsupported("this CPU has no instruction known to Strake that flushes a cache line");
  }
}

}  // namespace strake::measure
