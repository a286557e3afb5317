/// \file  Buffers of random programs: memory of each kind, guarded on both sides, of which every
/// byte is compared.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "program.hpp"
#include "shapes.hpp"

namespace random_program {

/// Where buffers of Memory::kStack lie: in a frame that lives as long as the program.
void use_stack(std::byte* memory, std::size_t bytes);

/// Bytes of one kind of memory.
class Bytes {
 public:
  Bytes(Memory memory, std::size_t bytes);
  ~Bytes();
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  std::byte* data() const { return data_; }
  void set(const std::vector<std::byte>& contents);
  void get(std::vector<std::byte>& contents) const;

 private:
  Memory memory_;
  std::byte* data_ = nullptr;
};

/// The memory of `count` elements of a datatype; all is poison at first.
class Image {
 public:
  Image(std::shared_ptr<BuiltType> type, int count, Memory memory);

  void* data() const { return bytes_.data() + origin_; }
  /// The elements hold message `id`, the rest is poison.
  void fill(int id);
  void poison();

  /// Describes the first byte that is not as expected; empty if all are. The first `received` bytes
  /// of the elements are those of message `id`, those after it of message `before`, or poison if
  /// that is kNone.
  std::string difference(int id, std::int64_t received, int before = kNone);
  /// Compares all but the elements' own bytes, which are not known after a truncation.
  std::string difference_around();

 private:
  template <class F>
  void for_each_byte(F f) const;
  std::string compare(const std::vector<bool>* ignored);

  std::shared_ptr<BuiltType> type_;
  int count_;
  std::int64_t origin_ = 0;
  std::size_t size_ = 0;  ///< with guards
  Bytes bytes_;
  std::vector<std::byte> expected_, found_;
};

}  // namespace random_program
