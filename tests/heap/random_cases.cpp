// Four threads allocate, resize and free blocks of random sizes, and pass them to each other. A
// model knows where each block is and what is in it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "cases.hpp"

namespace {

using namespace heap_test;

struct Block {
  char* address = nullptr;
  std::size_t bytes = 0;
  std::uint64_t seed = 0;
};

/// The live blocks of all threads.
class Model {
 public:
  void add(const Block& block) {
    const std::scoped_lock lock(mutex_);
    const auto after = ends_.lower_bound(block.address);
    CHECK(after == ends_.end() || after->first >= block.address + block.bytes);
    CHECK(after == ends_.begin() || std::prev(after)->second <= block.address);
    ends_[block.address] = block.address + block.bytes;
  }
  /// Before the block is freed.
  void remove(const Block& block) {
    const std::scoped_lock lock(mutex_);
    CHECK_EQ(ends_.erase(block.address), 1U);
  }

 private:
  std::mutex mutex_;
  std::map<char*, char*> ends_;
};

class Passed {
 public:
  /// Gives a block, and gets one that this or another thread gave; the first ones are empty.
  Block swap(const Block& block, std::size_t place) {
    const std::scoped_lock lock(mutex_);
    return std::exchange(blocks_[place % blocks_.size()], block);
  }

 private:
  std::mutex mutex_;
  std::vector<Block> blocks_{16};
};

class Worker {
 public:
  Worker(Model& model, Passed& passed, std::uint64_t seed)
      : model_(model), passed_(passed), random_(seed) {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      Block& block = blocks_[random_() % blocks_.size()];
      if (random_() % 4 == 0) {
        block = passed_.swap(block, random_());
      } else if (block.address == nullptr) {
        allocate(block);
      } else if (random_() % 3 == 0) {
        resize(block);
      } else {
        release(block);
      }
    }
    for (Block& block : blocks_) release(block);
    for (std::size_t i = 0; i < 16; ++i) {
      Block block = passed_.swap({}, i);
      release(block);
    }
  }

 private:
  /// As many small as large ones: the number of digits is random.
  std::size_t size() {
    const double power = std::uniform_real_distribution(0.0, 25.32)(random_);
    return static_cast<std::size_t>(std::exp2(power));
  }
  void fill_anew(Block& block) {
    block.seed = random_();
    fill(block.address, block.bytes, block.seed);
    model_.add(block);
  }
  void allocate(Block& block) {
    block.bytes = size();
    if (random_() % 2 == 0) {
      block.address = static_cast<char*>(calloc(block.bytes, 1));
      CHECK(is_zero(block.address, block.bytes));
    } else {
      block.address = static_cast<char*>(malloc(block.bytes));
    }
    fill_anew(block);
  }
  void resize(Block& block) {
    model_.remove(block);
    const std::size_t bytes = random_() % 2 == 0 ? size() : block.bytes + block.bytes / 3;
    block.address = static_cast<char*>(realloc(block.address, bytes));
    CHECK(is_filled(block.address, std::min(block.bytes, bytes) / 8 * 8, block.seed));
    block.bytes = bytes;
    fill_anew(block);
  }
  void release(Block& block) {
    if (block.address == nullptr) return;
    CHECK(is_filled(block.address, block.bytes, block.seed));
    model_.remove(block);
    free(block.address);
    block = {};
  }

  Model& model_;
  Passed& passed_;
  std::mt19937_64 random_;
  std::vector<Block> blocks_{10};
};

CASE(random_blocks_of_threads) {
  const std::uint64_t seed = std::random_device{}();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  Model model;
  Passed passed;
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] { Worker(model, passed, seed + i).run(1000); });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(view().blocks > 200);
  CHECK_EQ(declined(HeapDeclined::Memory), 0U);
  CHECK(shared_bytes() <= most_kept(0));
}

}  // namespace
