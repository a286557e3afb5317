/// \file  Cases of the shared heap's tests. Each runs in a process of its own, `heap_test NAME`, so
/// that it finds the heap as a program finds it: preloaded, and empty.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "memory/sharing/heap_view.hpp"

namespace heap_test {

using strake::sharing::HeapDeclined;
using strake::sharing::HeapUse;
using strake::sharing::HeapView;

/// A function that `heap_test NAME` calls.
struct Case {
  Case(const char* own_name, void (*own_body)());
  const char* name;
  void (*body)();
  Case* next;
};

/// CMake makes a test of each line that begins with CASE, and none of one that begins with PART:
/// cases start parts in processes of their own.
#define CASE(name)                             \
  static void name();                          \
  static heap_test::Case name##_(#name, name); \
  static void name()
#define PART(name) CASE(name)

/// Prints what is wrong, and where. The process ends with exit code 1 then.
void fail(const char* file, int line, const std::string& what);
[[nodiscard]] int failures();
/// Ends the process: this machine can't run the case.
[[noreturn]] void skip(const std::string& reason);

template <class A, class B>
void require_equal(const char* file, int line, const char* text, const A& found,
                   const B& expected) {
  if (found == expected) return;
  std::ostringstream what;
  what << text << " is " << found << ", expected " << expected;
  fail(file, line, what.str());
}

#define CHECK(condition) \
  ((condition) ? void() : heap_test::fail(__FILE__, __LINE__, "not true: " #condition))
/// First the value found, then the one expected.
#define CHECK_EQ(a, b) heap_test::require_equal(__FILE__, __LINE__, #a, (a), (b))

inline constexpr std::size_t kKiB = std::size_t{1} << 10;
inline constexpr std::size_t kMiB = std::size_t{1} << 20;
inline constexpr std::size_t kGiB = std::size_t{1} << 30;

/// \{ The heap of this process.
[[nodiscard]] const HeapView& view();
[[nodiscard]] bool in_heap(const void* address);
[[nodiscard]] std::uint64_t declined(HeapDeclined why);
/// Memory that its slices take. [bytes]
[[nodiscard]] std::size_t shared_bytes();
/// The most that it keeps of freed blocks while no more than so many bytes are in blocks.
[[nodiscard]] std::size_t most_kept(std::size_t used_bytes);
/// \}

/// \{ A pattern in each word of a block, which differs by seed.
void fill(void* block, std::size_t bytes, std::uint64_t seed);
/// A block of malloc, without and with the pattern.
[[nodiscard]] char* malloced(std::size_t bytes);
[[nodiscard]] char* filled(std::size_t bytes, std::uint64_t seed);
[[nodiscard]] bool is_filled(const void* block, std::size_t bytes, std::uint64_t seed);
[[nodiscard]] bool is_zero(const void* block, std::size_t bytes);
/// \}

/// A line "NAME  N kB" of a file in /proc. [bytes]
[[nodiscard]] std::size_t proc_bytes(const char* file, const std::string& name);
/// So much memory may a case take: `wanted`, or less on a small machine. [bytes]
[[nodiscard]] std::size_t affordable(std::size_t wanted);
[[nodiscard]] int mappings();

/// \{ Waits for a child. 0: all of its checks passed.
[[nodiscard]] int status_of(pid_t child);
/// Ends a child with its verdict.
[[noreturn]] void end_child();
/// \}

/// Starts a part in a process of its own.
struct Started {
  pid_t process = -1;
  int output = -1;  ///< reads what it writes to standard output and standard error
};
[[nodiscard]] Started start(const char* part);
/// All that it writes until it ends.
[[nodiscard]] std::string rest_of(const Started& started);

}  // namespace heap_test
