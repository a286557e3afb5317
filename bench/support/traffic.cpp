#include "support/traffic.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "support/buffer.hpp"
#include "support/statistics.hpp"

namespace bench {

Traffic traffic_of(std::span<const Block> blocks, std::int64_t buffer_bytes,
                   std::int64_t line_bytes) {
  Traffic traffic{.line_bytes = line_bytes};
  std::vector<std::uint16_t> selected(static_cast<std::size_t>(buffer_bytes / line_bytes + 1));
  for (const Block& block : blocks) {
    traffic.payload_bytes += block.bytes;
    const std::int64_t end = block.offset + block.bytes;
    for (std::int64_t at = block.offset; at < end;) {
      const std::int64_t line = at / line_bytes;
      const std::int64_t next = std::min(end, (line + 1) * line_bytes);
      selected[static_cast<std::size_t>(line)] += static_cast<std::uint16_t>(next - at);
      at = next;
    }
  }
  for (const std::uint16_t bytes : selected) {
    traffic.lines += bytes != 0;
    traffic.full_lines += bytes == line_bytes;
  }
  return traffic;
}

double memcpy_seconds(std::int64_t footprint_bytes, const Budget& budget) {
  const std::int64_t half = std::max<std::int64_t>(footprint_bytes / 2, 1);
  const Buffer from(half);
  const Buffer to(half);
  std::memset(from.data(), 1, static_cast<std::size_t>(half));
  const auto copy = [&] {
    std::memcpy(to.data(), from.data(), static_cast<std::size_t>(half));
    asm volatile("" ::: "memory");  // the copy is needed, whatever the optimiser thinks
  };
  return summarize(sample(budget, copy)).median;
}

double touch_seconds(std::span<const Block> blocks, std::byte* buffer, bool write,
                     const Budget& budget) {
  std::vector<std::uint32_t> places;
  for (const Block& block : blocks) {
    if (block.offset + block.bytes > UINT32_MAX) std::abort();  // no case is that large
  }
  std::int64_t line = -1;
  for (const Block& block : blocks) {
    const std::int64_t end = block.offset + block.bytes;
    for (std::int64_t at = block.offset; at < end; at = (line + 1) * kLineBytes) {
      if (at / kLineBytes != line) places.push_back(static_cast<std::uint32_t>(at));
      line = at / kLineBytes;
    }
  }
  const auto read_all = [&] {
    unsigned sum = 0;
    for (const std::uint32_t at : places) sum += static_cast<unsigned>(buffer[at]);
    asm volatile("" : : "r"(sum));
  };
  const auto write_all = [&] {
    for (const std::uint32_t at : places) buffer[at] = std::byte{1};
    asm volatile("" ::: "memory");
  };
  return summarize(write ? sample(budget, write_all) : sample(budget, read_all)).median;
}

}  // namespace bench
