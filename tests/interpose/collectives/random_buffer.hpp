/// \file  A buffer of a random collective: blocks of derived types in one piece of guarded memory,
/// of which every byte is compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "random/image.hpp"
#include "random/shapes.hpp"

namespace random_collectives {

using random_program::BuiltType;
using random_program::Draw;
using random_program::kNone;
using random_program::Memory;
using random_program::Shape;
using random_program::Shapes;

/// Makes one number of several, in which no pattern is left.
inline std::uint64_t mix(std::initializer_list<std::uint64_t> all) {
  std::uint64_t x = 0x9E3779B97F4A7C15u;
  for (const std::uint64_t each : all) {
    x = (x ^ each) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 29) * 0x94D049BB133111EBu;
    x ^= x >> 32;
  }
  return x;
}

/// `count` elements of a datatype, `at` bytes after the buffer's address.
struct Block {
  std::shared_ptr<BuiltType> type;
  int count = 0;
  std::int64_t at = 0;
  [[nodiscard]] std::int64_t bytes() const;
};

/// The bytes [low, high) from a block's begin that its elements lie in.
struct Span {
  std::int64_t low = 0, high = 0;
};
Span span_of(const BuiltType& type, int count);

class Buffer {
 public:
  Buffer(std::vector<Block> blocks, Memory memory);

  /// The address that MPI is given.
  [[nodiscard]] void* data() const { return bytes_.data() + origin_; }
  [[nodiscard]] const Block& block(std::size_t b) const { return blocks_[b]; }

  /// \{ The expected contents; poison at first.
  void expect_poison();
  void expect(std::size_t b, std::uint64_t message);
  void expect(std::size_t b, const std::vector<int>& values);
  /// The block may hold anything: expects the bytes that read() found.
  void expect_anything(std::size_t b);
  /// \}
  /// The memory gets the expected contents.
  void write() { bytes_.set(expected_); }
  /// Takes the memory's contents for holds() and difference().
  void read() { bytes_.get(found_); }
  [[nodiscard]] bool holds(std::size_t b, std::uint64_t message) const;
  /// Describes the first byte that is not as expected; empty if all are.
  [[nodiscard]] std::string difference() const;

 private:
  /// Calls f(place, first, length) for each run of a block: `first` is its first byte's offset in
  /// packed order.
  template <class F>
  void for_each_run(std::size_t b, F f) const;

  std::vector<Block> blocks_;
  std::int64_t origin_ = 0;
  std::size_t size_ = 0;  ///< with guards
  random_program::Bytes bytes_;
  std::vector<std::byte> expected_, found_;
};

}  // namespace random_collectives
