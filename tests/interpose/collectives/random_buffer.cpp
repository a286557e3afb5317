#include "random_buffer.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "described.hpp"

namespace random_collectives {
namespace {

constexpr std::int64_t kGuard = 64;

std::size_t size_of(const std::vector<Block>& blocks, std::int64_t& origin) {
  std::int64_t low = 0, high = 0;
  for (const Block& block : blocks) {
    if (block.count == 0) continue;
    const Span span = span_of(*block.type, block.count);
    low = std::min(low, block.at + span.low);
    high = std::max(high, block.at + span.high);
  }
  origin = (kGuard - low + 15) / 16 * 16;  // aligned for any leaf
  return static_cast<std::size_t>(origin + high + kGuard);
}

}  // namespace

Span span_of(const BuiltType& type, int count) {
  Span span{INT64_MAX, INT64_MIN};
  for (const std::int64_t i : {0, std::max(count - 1, 0)}) {
    for (const strake::test::Run& run : type.runs) {
      span.low = std::min(span.low, i * type.extent + run.offset);
      span.high = std::max(span.high, i * type.extent + run.offset + run.length);
    }
  }
  return type.runs.empty() ? Span{} : span;
}

std::int64_t Block::bytes() const {
  std::int64_t sum = 0;
  for (const strake::test::Run& run : type->runs) sum += run.length;
  return sum * count;
}

Buffer::Buffer(std::vector<Block> blocks, Memory memory)
    : blocks_(std::move(blocks)),
      size_(size_of(blocks_, origin_)),
      bytes_(memory, size_),
      expected_(size_),
      found_(size_) {
  expect_poison();
}

template <class F>
void Buffer::for_each_run(std::size_t b, F f) const {
  const Block& block = blocks_[b];
  std::size_t first = 0;
  for (std::int64_t element = 0; element < block.count; ++element) {
    for (const strake::test::Run& run : block.type->runs) {
      const auto length = static_cast<std::size_t>(run.length);
      f(static_cast<std::size_t>(origin_ + block.at + element * block.type->extent + run.offset),
        first, length);
      first += length;
    }
  }
}

void Buffer::expect_poison() { std::fill(expected_.begin(), expected_.end(), ::Image::kPoison); }

void Buffer::expect(std::size_t b, std::uint64_t message) {
  for_each_run(b, [&](std::size_t place, std::size_t first, std::size_t length) {
    write_pattern(&expected_[place], message, first, length);
  });
}

void Buffer::expect(std::size_t b, const std::vector<int>& values) {
  if (values.empty()) return;
  std::memcpy(&expected_[static_cast<std::size_t>(origin_ + blocks_[b].at)], values.data(),
              values.size() * sizeof(int));
}

void Buffer::expect_anything(std::size_t b) {
  for_each_run(b, [&](std::size_t place, std::size_t /*first*/, std::size_t length) {
    std::memcpy(&expected_[place], &found_[place], length);
  });
}

bool Buffer::holds(std::size_t b, std::uint64_t message) const {
  bool same = true;
  std::vector<std::byte> wanted;
  for_each_run(b, [&](std::size_t place, std::size_t first, std::size_t length) {
    if (!same) return;
    wanted.resize(length);
    write_pattern(wanted.data(), message, first, length);
    same = std::memcmp(wanted.data(), &found_[place], length) == 0;
  });
  return same;
}

std::string Buffer::difference() const {
  const auto differs = std::mismatch(found_.begin(), found_.end(), expected_.begin());
  if (differs.first == found_.end()) return {};
  const auto at = static_cast<std::size_t>(differs.first - found_.begin());
  std::string where = "in no block";
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    for_each_run(b, [&](std::size_t place, std::size_t first, std::size_t length) {
      if (at < place || at >= place + length) return;
      where = "byte " + std::to_string(first + at - place) + " of " +
              std::to_string(blocks_[b].bytes()) + " of block " + std::to_string(b);
    });
  }
  char text[200];
  std::snprintf(text, sizeof text, "byte %td from its address (%s) is %02x, expected %02x%s",
                static_cast<std::ptrdiff_t>(at) - origin_, where.c_str(),
                static_cast<unsigned>(*differs.first), static_cast<unsigned>(*differs.second),
                *differs.first == ::Image::kPoison ? ", not written" : "");
  return text;
}

}  // namespace random_collectives
