#include "image.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "described.hpp"

namespace random_program {
namespace {

constexpr std::int64_t kGuardBytes = 64;
constexpr std::size_t kRegionBytes = 3 << 20;

/// Gives out parts of one piece of memory.
class Region {
 public:
  void use(std::byte* memory, std::size_t bytes) {
    memory_ = memory;
    bytes_ = bytes;
  }
  /// nullptr: there is no room.
  std::byte* allocate(std::size_t bytes) {
    const std::size_t wanted = (bytes + 15) / 16 * 16 + 16;
    std::size_t place = 0;
    for (const auto& [at, size] : used_) {
      if (at - place >= wanted) break;
      place = at + size;
    }
    if (bytes_ - place < wanted) return nullptr;
    used_[place] = wanted;
    return memory_ + place;
  }
  void release(std::byte* address) { used_.erase(static_cast<std::size_t>(address - memory_)); }

 private:
  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::map<std::size_t, std::size_t> used_;
};

alignas(64) std::byte g_static_bytes[kRegionBytes];
Region g_static, g_stack;

std::size_t end_of(const BuiltType& type, int count, std::int64_t& origin) {
  std::int64_t low = 0, high = 0;
  for (const std::int64_t i : {0, std::max(count - 1, 0)}) {
    for (const strake::test::Run& run : type.runs) {
      low = std::min(low, i * type.extent + run.offset);
      high = std::max(high, i * type.extent + run.offset + run.length);
    }
  }
  origin = (kGuardBytes - low + 15) / 16 * 16;  // aligned for any leaf
  return static_cast<std::size_t>(origin + (count > 0 ? high : 0) + kGuardBytes);
}

}  // namespace

void use_stack(std::byte* memory, std::size_t bytes) {
  g_stack.use(memory, bytes);
  g_static.use(g_static_bytes, kRegionBytes);
}

Bytes::Bytes(Memory memory, std::size_t bytes) : memory_(memory) {
  if (memory == Memory::kStack) data_ = g_stack.allocate(bytes);
  if (memory == Memory::kStatic) data_ = g_static.allocate(bytes);
  if (memory == Memory::kShared) {
    constexpr std::size_t kSharedBytes = 64 << 10;  // MPI_Alloc_mem shares no less
    MPI_Alloc_mem(static_cast<MPI_Aint>(std::max(bytes, kSharedBytes)), MPI_INFO_NULL, &data_);
  }
  if (memory == Memory::kDevice && test_memory::on_device()) {
    data_ = static_cast<std::byte*>(test_memory::allocate(bytes));
  }
  if (data_ == nullptr) {
    memory_ = Memory::kHeap;
    // Half of the blocks grow to their size: where an allocator moves them, messages follow.
    void* const first = std::malloc(bytes % 2 == 0 ? bytes : bytes / 2 + 1);
    data_ = static_cast<std::byte*>(bytes % 2 == 0 ? first : std::realloc(first, bytes));
  }
}

Bytes::~Bytes() {
  switch (memory_) {
    case Memory::kHeap:
      std::free(data_);
      break;
    case Memory::kShared:
      MPI_Free_mem(data_);
      break;
    case Memory::kStack:
      g_stack.release(data_);
      break;
    case Memory::kStatic:
      g_static.release(data_);
      break;
    case Memory::kDevice:
      test_memory::release(data_);
      break;
  }
}

void Bytes::set(const std::vector<std::byte>& contents) {
  if (memory_ == Memory::kDevice) return test_memory::copy(data_, contents.data(), contents.size());
  std::memcpy(data_, contents.data(), contents.size());
}

void Bytes::get(std::vector<std::byte>& contents) const {
  if (memory_ == Memory::kDevice) return test_memory::copy(contents.data(), data_, contents.size());
  std::memcpy(contents.data(), data_, contents.size());
}

Image::Image(std::shared_ptr<BuiltType> type, int count, Memory memory)
    : type_(std::move(type)),
      count_(count),
      size_(end_of(*type_, count, origin_)),
      bytes_(memory, size_),
      expected_(size_),
      found_(size_) {
  poison();
}

/// Calls f(place, i) for byte i of the elements, in packed order.
template <class F>
void Image::for_each_byte(F f) const {
  std::size_t i = 0;
  for (std::int64_t element = 0; element < count_; ++element) {
    for (const strake::test::Run& run : type_->runs) {
      auto place = static_cast<std::size_t>(origin_ + element * type_->extent + run.offset);
      for (std::int64_t b = 0; b < run.length; ++b) f(place++, i++);
    }
  }
}

void Image::poison() {
  std::fill(expected_.begin(), expected_.end(), ::Image::kPoison);
  bytes_.set(expected_);
}

void Image::fill(int id) {
  std::fill(expected_.begin(), expected_.end(), ::Image::kPoison);
  const auto seed = static_cast<std::uint64_t>(id);
  for_each_byte([&](std::size_t place, std::size_t i) { expected_[place] = pattern(seed, i); });
  bytes_.set(expected_);
}

std::string Image::difference(int id, std::int64_t received, int before) {
  std::fill(expected_.begin(), expected_.end(), ::Image::kPoison);
  for_each_byte([&](std::size_t place, std::size_t i) {
    const int from = static_cast<std::int64_t>(i) < received ? id : before;
    if (from != kNone) expected_[place] = pattern(static_cast<std::uint64_t>(from), i);
  });
  return compare(nullptr);
}

std::string Image::difference_around() {
  std::fill(expected_.begin(), expected_.end(), ::Image::kPoison);
  std::vector<bool> ignored(size_, false);
  for_each_byte([&](std::size_t place, std::size_t) { ignored[place] = true; });
  return compare(&ignored);
}

std::string Image::compare(const std::vector<bool>* ignored) {
  bytes_.get(found_);
  for (std::size_t i = 0; i < size_; ++i) {
    if (found_[i] == expected_[i] || (ignored != nullptr && (*ignored)[i])) continue;
    std::string where = "which is not of the datatype";
    for_each_byte([&](std::size_t place, std::size_t packed) {
      if (place == i) where = "byte " + std::to_string(packed) + " of the message";
    });
    char text[160];
    std::snprintf(text, sizeof text,
                  "byte %td from the buffer's address (%s) is %02x, expected %02x",
                  static_cast<std::ptrdiff_t>(i) - origin_, where.c_str(),
                  static_cast<unsigned>(found_[i]), static_cast<unsigned>(expected_[i]));
    return text;
  }
  return {};
}

}  // namespace random_program
