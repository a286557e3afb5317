/// \file  A random program of messages: every way to send, to receive, to look for messages and to
/// complete, with datatypes, sizes and memory of all kinds. Each step is compared with what the MPI
/// standard says of it, to the byte. random/program.hpp says what a program is.
///
///   random_messages [--seed S] [--messages N] [--print] [--device]
///
/// A program of fewer messages is the beginning of one of more, and an end. The first messages of
/// one with an odd seed are the first of the job.
///
/// With TEST_ALLOCATING_THREADS=N so many threads allocate, resize and free meanwhile.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"
#include "random/alone.hpp"
#include "random/runner.hpp"

namespace {

constexpr std::size_t kStackBytes = 1 << 20;

std::string alone(const std::string& program, const random_program::Options& options) {
  return random_program::alone(program + " --seed " + std::to_string(options.seed) +
                                   " --messages " + std::to_string(options.messages) +
                                   (options.on_device ? " --device" : ""),
                               options.ranks);
}

/// Threads that allocate, resize and free blocks, and compare what they wrote there, until the end.
class Allocating {
 public:
  explicit Allocating(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this, i] { run(i); });
  }
  ~Allocating() {
    done_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Allocating(const Allocating&) = delete;
  Allocating& operator=(const Allocating&) = delete;

 private:
  void run(int number) {
    constexpr std::size_t kMost = 200'000;
    std::mt19937 draw(static_cast<unsigned>(number));
    for (unsigned round = 0; !done_; ++round) {
      const std::size_t bytes = 1 + draw() % kMost;
      const std::size_t more = 1 + draw() % kMost;
      const int mark = static_cast<int>(round % 250 + 1);
      auto* block = static_cast<unsigned char*>(std::calloc(1, bytes));
      const bool zero = block != nullptr && block[0] == 0 && block[bytes - 1] == 0;
      if (zero) std::memset(block, mark, bytes);
      if (zero) block = static_cast<unsigned char*>(std::realloc(block, more));
      if (!zero || block == nullptr || block[0] != mark || block[std::min(bytes, more) - 1] != mark)
        std::abort();
      std::free(block);
      if (round % 16 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  std::atomic<bool> done_{false};
  std::vector<std::thread> threads_;
};

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "random_messages: %s\n", why.c_str());
  MPI_Abort(MPI_COMM_WORLD, 2);
  std::exit(2);
}

std::uint64_t number(const std::string& option, const std::string& text) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) {
    refuse(option + " '" + text + "': not a number");
  }
  return std::strtoull(text.c_str(), nullptr, 10);
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  alignas(64) std::byte stack[kStackBytes];
  random_program::use_stack(stack, kStackBytes);
  random_program::Options options;
  options.ranks = check::size();
  options.seed = static_cast<std::uint64_t>(check::size());
  std::uint64_t messages = 1000;
  options.on_device = test_memory::on_device();
  bool prints = false;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--seed" || name == "--messages") {
      (name == "--seed" ? options.seed : messages) = number(name, i + 1 < argc ? argv[++i] : "");
    } else if (name == "--print") {
      prints = true;
    } else if (name != "--device") {
      refuse("unknown option " + name);
    }
  }
  if (messages > INT_MAX) refuse("--messages " + std::to_string(messages) + ": too many");
  options.messages = static_cast<int>(messages);
  const char* const threads = std::getenv("TEST_ALLOCATING_THREADS");
  const Allocating allocating(threads == nullptr ? 0 : std::atoi(threads));
  check::note("seed %lu, %d messages", options.seed, options.messages);
  {
    random_program::Generator program(options);
    random_program::Runner(program, alone(argv[0], options), prints).run();
  }
  return check::finish();
}
