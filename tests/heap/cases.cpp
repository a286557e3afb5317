#include "cases.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

extern char** environ;

namespace heap_test {
namespace {

constinit Case* g_first = nullptr;
constinit std::atomic<int> g_failures{0};
constexpr int kSkipped = 77;
/// A hang is a fault. The longest case takes 6 s on two idle cores.
constexpr unsigned kWatchdogSeconds = 100;

std::uint64_t word_at(std::size_t number, std::uint64_t seed) {
  return (number + 1) * 0x9E3779B97F4A7C15ULL ^ seed * 0xBF58476D1CE4E5B9ULL;
}

}  // namespace

Case::Case(const char* own_name, void (*own_body)())
    : name(own_name), body(own_body), next(g_first) {
  g_first = this;
}

void fail(const char* file, int line, const std::string& what) {
  constexpr int kPrinted = 12;
  if (++g_failures <= kPrinted)
    std::fprintf(stderr, "FAILED %s:%d (process %d): %s\n", file, line, getpid(), what.c_str());
}

int failures() { return g_failures; }

void skip(const std::string& reason) {
  std::printf("skipped: %s\n", reason.c_str());
  std::fflush(stdout);
  _exit(g_failures > 0 ? 1 : kSkipped);
}

const HeapView& view() {
  static const auto* const found =
      static_cast<const HeapView*>(dlsym(RTLD_DEFAULT, HeapView::kSymbol));
  if (found == nullptr) {
    std::fprintf(stderr, "FAILED: the shared heap is not preloaded\n");
    _exit(1);
  }
  return *found;
}

bool in_heap(const void* address) {
  const std::byte* const base = view().base;
  const auto* const at = static_cast<const std::byte*>(address);
  return base != nullptr && at >= base && at < base + HeapView::kSlices * HeapView::kSliceBytes;
}

std::uint64_t declined(HeapDeclined why) { return view().declined[static_cast<std::size_t>(why)]; }

std::size_t shared_bytes() {
  constexpr std::size_t kBlock = 512;  // the unit of st_blocks
  std::size_t bytes = 0;
  for (const auto& each : view().descriptors) {
    struct stat found {};
    if (each > 0 && fstat(each - 1, &found) == 0)
      bytes += static_cast<std::size_t>(found.st_blocks) * kBlock;
  }
  return bytes;
}

std::size_t most_kept(std::size_t used_bytes) { return std::max(256 * kMiB, used_bytes / 2); }

void fill(void* block, std::size_t bytes, std::uint64_t seed) {
  auto* const to = static_cast<std::byte*>(block);
  const std::size_t whole = bytes / sizeof(std::uint64_t) * sizeof(std::uint64_t);
  for (std::size_t at = 0; at < whole; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = word_at(at, seed);
    std::memcpy(to + at, &word, sizeof word);
  }
  const std::uint64_t word = word_at(whole, seed);
  std::memcpy(to + whole, &word, bytes - whole);
}

char* malloced(std::size_t bytes) { return static_cast<char*>(malloc(bytes)); }

char* filled(std::size_t bytes, std::uint64_t seed) {
  char* const block = malloced(bytes);
  fill(block, bytes, seed);
  return block;
}

bool is_filled(const void* block, std::size_t bytes, std::uint64_t seed) {
  const auto* const from = static_cast<const std::byte*>(block);
  const std::size_t whole = bytes / sizeof(std::uint64_t) * sizeof(std::uint64_t);
  for (std::size_t at = 0; at < whole; at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, from + at, sizeof word);
    if (word != word_at(at, seed)) return false;
  }
  const std::uint64_t word = word_at(whole, seed);
  return std::memcmp(from + whole, &word, bytes - whole) == 0;
}

bool is_zero(const void* block, std::size_t bytes) {
  const auto* const from = static_cast<const std::byte*>(block);
  return bytes == 0 || (from[0] == std::byte{0} && std::memcmp(from, from + 1, bytes - 1) == 0);
}

std::size_t proc_bytes(const char* file, const std::string& name) {
  std::ifstream lines(file);
  std::string line;
  while (std::getline(lines, line)) {
    if (line.compare(0, name.size() + 1, name + ":") == 0)
      return std::strtoull(line.c_str() + name.size() + 1, nullptr, 10) * kKiB;
  }
  return 0;
}

std::size_t affordable(std::size_t wanted) {
  constexpr std::size_t kPart = 4;  // other tests run meanwhile
  return std::min(wanted, proc_bytes("/proc/meminfo", "MemAvailable") / kPart / kMiB * kMiB);
}

int mappings() {
  std::ifstream lines("/proc/self/maps");
  std::string line;
  int count = 0;
  while (std::getline(lines, line)) ++count;
  return count;
}

int status_of(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child ? status : -1;
}

void end_child() { _exit(g_failures > 0 ? 1 : 0); }

Started start(const char* part) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  std::string name = part;
  char program[] = "/proc/self/exe";
  char* const arguments[] = {program, name.data(), nullptr};
  Started started;
  started.output = ends[0];
  if (posix_spawn(&started.process, program, &actions, nullptr, arguments, environ) != 0)
    started.process = -1;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  return started;
}

std::string rest_of(const Started& started) {
  std::string text;
  char part[512];
  for (ssize_t got = 0; (got = read(started.output, part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(got));
  close(started.output);
  return text;
}

}  // namespace heap_test

int main(int argc, char** argv) {
  using namespace heap_test;
  const char* const name = argc == 2 ? argv[1] : "";
  for (const Case* each = g_first; each != nullptr; each = each->next) {
    if (std::strcmp(each->name, name) != 0) continue;
    alarm(kWatchdogSeconds);
    each->body();
    if (failures() == 0) std::puts("ok");
    return failures() == 0 ? 0 : 1;
  }
  std::fprintf(stderr, "usage: heap_test NAME; there is no case \"%s\"\n", name);
  return 2;
}
