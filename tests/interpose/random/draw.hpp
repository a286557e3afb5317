/// \file  Numbers from a seed, the same with every standard library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace random_program {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}

  /// A number in [low, high]. Modulo, because the distributions of standard libraries differ.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  int number(int low, int high) { return static_cast<int>(between(low, high)); }
  std::size_t index(std::size_t size) { return engine_() % size; }
  bool chance(int percent) { return between(1, 100) <= percent; }

  template <class T>
  const T& pick(const std::vector<T>& all) {
    return all[index(all.size())];
  }
  template <class T>
  void shuffle(std::vector<T>& all) {
    for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[index(i)]);
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace random_program
