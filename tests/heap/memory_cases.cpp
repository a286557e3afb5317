// The heap takes memory, mappings and names of the machine, and gives them back.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "cases.hpp"

namespace {

using namespace heap_test;

std::size_t resident() { return proc_bytes("/proc/self/status", "VmRSS"); }

CASE(freed_memory_returns) {
  const std::size_t bytes = affordable(kGiB);
  const std::size_t before = resident();
  char* const block = malloced(bytes);
  std::memset(block, 1, bytes);
  CHECK(in_heap(block));
  CHECK(shared_bytes() >= bytes);
  CHECK(shared_bytes() <= bytes + kMiB);
  CHECK(resident() - before >= bytes);
  CHECK(resident() - before <= bytes + 8 * kMiB);
  free(block);
  CHECK(shared_bytes() <= most_kept(0));
  CHECK(resident() - before <= most_kept(0) + 8 * kMiB);
}

CASE(freed_memory_of_many_blocks_returns) {
  const std::size_t bytes = affordable(kGiB);
  std::vector<char*> blocks;
  for (std::size_t i = 0; i < bytes / (16 * kMiB); ++i) {
    blocks.push_back(malloced(16 * kMiB));
    std::memset(blocks.back(), 1, 16 * kMiB);
  }
  CHECK(shared_bytes() >= blocks.size() * 16 * kMiB);
  while (!blocks.empty()) {
    free(blocks.back());
    blocks.pop_back();
    const std::size_t used = blocks.size() * 16 * kMiB;
    CHECK(shared_bytes() <= used + most_kept(used) + kMiB);
  }
}

/// Freed pages that are kept must not take a program past a limit that its blocks stay below: 512
/// MiB where group_limit.sh has started it.
CASE(blocks_of_many_sizes_stay_within_the_limit_of_a_group) {
  char* kept = nullptr;
  for (std::size_t round = 0; round < 24; ++round) {
    const std::size_t bytes = (90 + round * 37 % 130) * kMiB;
    char* const block = malloced(bytes);
    fill(block, bytes, round);
    CHECK(in_heap(block));
    CHECK(shared_bytes() <= 480 * kMiB);
    free(kept);
    kept = block;
  }
  free(kept);
}

/// More is kept while more is in use. It returns with the block that ends the use.
CASE(kept_memory_returns_with_the_last_block) {
  const std::size_t part = affordable(900 * kMiB) / 3 / kMiB * kMiB;
  char* const large = malloced(2 * part);
  std::memset(large, 1, 2 * part);
  std::vector<char*> blocks(part / (10 * kMiB));
  for (char*& block : blocks) std::memset(block = malloced(10 * kMiB), 1, 10 * kMiB);
  for (char* block : blocks) free(block);
  free(large);
  CHECK(shared_bytes() <= most_kept(0) + kMiB);
}

CASE(memory_of_a_shorter_block_returns) {
  const std::size_t bytes = affordable(kGiB);
  char* const block = malloced(bytes);
  std::memset(block, 1, bytes);
  char* const shorter = static_cast<char*>(realloc(block, bytes * 6 / 10));
  CHECK(shared_bytes() <= bytes * 6 / 10 + most_kept(bytes * 6 / 10) + kMiB);
  free(shorter);
  CHECK(shared_bytes() <= most_kept(0) + kMiB);
}

CASE(untouched_blocks_take_nothing) {
  free(malloc(kMiB));  // the first one opens the slice
  const std::size_t before = resident();
  std::vector<void*> blocks{malloc(kGiB), calloc(kGiB, 1), malloc(300 * kKiB),
                            calloc(1, 10 * kMiB)};
  for (void* block : blocks) CHECK(in_heap(block));
  CHECK_EQ(shared_bytes(), 0U);
  CHECK(resident() - before < kMiB);
  static_cast<char*>(blocks[0])[kGiB / 2] = 1;
  CHECK(shared_bytes() > 0 && shared_bytes() <= 2 * kMiB);
  for (void* block : blocks) free(block);
}

CASE(mappings_stay_few) {
  std::vector<char*> blocks(64);
  for (std::size_t i = 0; i < 100000; ++i) {
    char*& block = blocks[i * 7919 % blocks.size()];
    free(block);
    block = malloced(256 * kKiB + i * 104729 % (4 * kMiB));
    CHECK(in_heap(block));
    *block = 1;
  }
  CHECK(mappings() < 100);
  for (char* block : blocks) free(block);
  blocks.assign(5000, nullptr);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i] = malloced(256 * kKiB + i * 104729 % kMiB);
    CHECK(in_heap(blocks[i]));
    *blocks[i] = 1;
  }
  CHECK(mappings() < 100);
  for (std::size_t i = 0; i < blocks.size(); i += 2) free(blocks[i]);
  CHECK(mappings() < 100);
}

CASE(locked_memory) {
  constexpr std::size_t kBytes = 300 * kMiB;  // more than is kept, so that pages are to be dropped
  char* const block = malloced(kBytes);
  char* const other = malloced(4 * kMiB);
  std::memset(block, 0xff, kBytes);
  std::memset(other, 0xff, 4 * kMiB);
  if (mlockall(MCL_CURRENT) != 0)
    skip(std::string("the process may lock no memory: ") + std::strerror(errno));
  for (char* locked : {block, other}) {
    free(locked);
    for (const std::size_t bytes : {kBytes, 4 * kMiB, 100 * kMiB}) {
      void* const zeroes = calloc(bytes, 1);
      CHECK(in_heap(zeroes));
      CHECK(is_zero(zeroes, bytes));
      std::memset(zeroes, 0xff, bytes);
      free(zeroes);
    }
  }
  CHECK_EQ(munlockall(), 0);
  void* const after = calloc(kBytes, 1);
  CHECK(is_zero(after, kBytes));
}

std::vector<std::string> names_in(const char* folder) {
  std::vector<std::string> names;
  DIR* const open = opendir(folder);
  if (open == nullptr) return names;
  while (const dirent* entry = readdir(open)) names.emplace_back(entry->d_name);
  closedir(open);
  return names;
}

bool is_number(const std::string& name) {
  return name.find_first_not_of("0123456789") == std::string::npos;
}

/// How many processes have a file open or mapped.
int users_of(ino_t number) {
  const std::string mapped = " " + std::to_string(number) + " ";
  int users = 0;
  for (const std::string& process : names_in("/proc")) {
    if (!is_number(process)) continue;
    const std::string descriptors = "/proc/" + process + "/fd/";
    bool uses = false;
    for (const std::string& name : names_in(descriptors.c_str())) {
      struct stat file {};
      uses = uses || (stat((descriptors + name).c_str(), &file) == 0 && file.st_ino == number &&
                      file.st_nlink == 0);
    }
    std::ifstream lines("/proc/" + process + "/maps");
    for (std::string line; std::getline(lines, line);) {
      uses = uses || (line.find(mapped) != std::string::npos &&
                      line.find("memfd:strake-heap") != std::string::npos);
    }
    users += uses ? 1 : 0;
  }
  return users;
}

bool has_name_of_heap(const char* folder) {
  for (const std::string& name : names_in(folder)) {
    if (name.find("strake-heap") != std::string::npos) return true;
  }
  return false;
}

PART(holds_memory) {
  char* const block = malloced(64 * kMiB);
  std::memset(block, 1, 64 * kMiB);
  std::printf(in_heap(block) ? "ready\n" : "elsewhere\n");
  std::fflush(stdout);
  for (;;) pause();
}

CASE(nothing_is_left_of_a_killed_process) {
  const Started started = start("holds_memory");
  char text[8] = "";
  CHECK(read(started.output, text, 6) == 6);
  CHECK_EQ(std::string(text), "ready\n");
  const std::string descriptors = "/proc/" + std::to_string(started.process) + "/fd/";
  int found = 0;
  ino_t number = 0;
  for (const std::string& name : names_in(descriptors.c_str())) {
    char target[256] = "";
    if (readlink((descriptors + name).c_str(), target, sizeof target - 1) < 0) continue;
    if (std::strstr(target, "strake-heap") == nullptr) continue;
    ++found;
    CHECK_EQ(std::string(target), "/memfd:strake-heap (deleted)");
    struct stat file {};
    CHECK_EQ(stat((descriptors + name).c_str(), &file), 0);
    CHECK_EQ(file.st_nlink, 0U);
    CHECK(file.st_blocks >= static_cast<blkcnt_t>(64 * kMiB / 512));
    number = file.st_ino;
  }
  CHECK_EQ(found, 1);
  CHECK(!has_name_of_heap("/dev/shm") && !has_name_of_heap("/tmp"));
  CHECK_EQ(users_of(number), 1);
  kill(started.process, SIGKILL);
  CHECK_EQ(status_of(started.process), SIGKILL);
  CHECK_EQ(users_of(number), 0);  // so that the kernel has its memory back
  CHECK(!has_name_of_heap("/dev/shm") && !has_name_of_heap("/tmp"));
}

constexpr std::uint64_t kCoreSeed = 0x636f7265;

PART(aborts_with_a_pattern) {
  const rlimit all{RLIM_INFINITY, RLIM_INFINITY};
  if (setrlimit(RLIMIT_CORE, &all) != 0) _exit(3);
  char* const block = malloced(3 * kMiB);
  fill(block, 3 * kMiB, kCoreSeed);
  if (in_heap(block)) abort();
}

CASE(core_dumps_have_the_blocks) {
  std::string pattern;
  std::getline(std::ifstream("/proc/sys/kernel/core_pattern") >> std::ws, pattern);
  if (pattern.find_first_of("|/") != std::string::npos) skip("cores go to " + pattern);
  char folder[] = "heap-core-XXXXXX";
  if (mkdtemp(folder) == nullptr || chdir(folder) != 0) skip("no folder can be made here");
  const Started started = start("aborts_with_a_pattern");
  const std::string said = rest_of(started);
  const int status = status_of(started.process);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  std::vector<std::string> cores;
  for (const std::string& name : names_in(".")) {
    if (name[0] != '.') cores.push_back(name);
  }
  const bool dumped = WIFSIGNALED(status) && WCOREDUMP(status) && cores.size() == 1;
  bool found = false;
  if (dumped) {
    std::string expected(64 * kKiB, '\0');
    fill(expected.data(), expected.size(), kCoreSeed);
    const int core = open(cores[0].c_str(), O_RDONLY | O_CLOEXEC);
    struct stat file {};
    CHECK(core >= 0 && fstat(core, &file) == 0);
    const auto size = static_cast<std::size_t>(file.st_size);
    const void* const mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, core, 0);
    found =
        mapped != MAP_FAILED && memmem(mapped, size, expected.data(), expected.size()) != nullptr;
  }
  for (const std::string& core : cores) unlink(core.c_str());
  if (chdir("..") != 0 || rmdir(folder) != 0) CHECK(false);
  if (!dumped) skip("the kernel wrote no core here: " + said);
  CHECK(found);
}

}  // namespace
