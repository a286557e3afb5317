// Raw CPU copies: JSON lines of pack and unpack for each shape and, in the same run, of a plain
// loop over its blocks and of a memcpy that moves as many bytes as the copy must (the lines of the
// strided side plus the bytes of the dense side). The answer is checked before a number is printed.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "copy/cpu/compile.hpp"
#include "shapes.hpp"

namespace strake::bench {
namespace {

constexpr std::int64_t kLine = 64;

double now_ns() {
  return std::chrono::duration<double, std::nano>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Distinct lines that a layout touches, for a base at the start of a line.
std::int64_t lines_touched(const Layout& layout) {
  std::vector<std::int64_t> lines;
  layout.for_each_block([&](std::int64_t offset, std::int64_t bytes) {
    const std::int64_t last = (offset + bytes - 1) / kLine;
    for (std::int64_t line = offset / kLine; line <= last; ++line) {
      if (lines.empty() || lines.back() != line) lines.push_back(line);
    }
  });
  std::sort(lines.begin(), lines.end());
  return std::unique(lines.begin(), lines.end()) - lines.begin();
}

std::byte* lines_of(std::int64_t bytes) {
  const std::int64_t rounded = (bytes + kLine - 1) / kLine * kLine;
  auto* const memory = static_cast<std::byte*>(
      std::aligned_alloc(static_cast<std::size_t>(kLine), static_cast<std::size_t>(rounded)));
  for (std::int64_t i = 0; i < rounded; ++i) memory[i] = static_cast<std::byte>(i * 31 + i / 509);
  return memory;
}

struct Contender {
  const char* name;
  std::function<void()> run;
  std::vector<double> samples_ns;
};

double quantile(std::vector<double> samples, double q) {
  std::sort(samples.begin(), samples.end());
  return samples[static_cast<std::size_t>(q * static_cast<double>(samples.size() - 1))];
}

/// Samples of all contenders in turns, so that a slow spell of the machine meets all alike.
void measure(std::vector<Contender>& contenders, bool quick) {
  const double sample_ns = quick ? 2e4 : 4e5;
  const int rounds = quick ? 3 : 25;
  std::vector<int> calls;
  for (Contender& contender : contenders) {
    contender.run();
    const double begin = now_ns();
    int count = 0;
    while (now_ns() - begin < sample_ns) {
      contender.run();
      ++count;
    }
    calls.push_back(std::max(count, 1));
  }
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t c = 0; c < contenders.size(); ++c) {
      const double begin = now_ns();
      for (int i = 0; i < calls[c]; ++i) contenders[c].run();
      contenders[c].samples_ns.push_back((now_ns() - begin) / calls[c]);
    }
  }
}

void print(const std::string& shape, const Contender& contender, std::int64_t bytes,
           double bound_ns) {
  const double median = quantile(contender.samples_ns, 0.5);
  fmt::print(
      "{{\"bench\": \"cpu\", \"shape\": \"{}\", \"what\": \"{}\", \"simd\": \"{}\", \"bytes\": {}, "
      "\"median_ns\": {:.1f}, "
      "\"p10_ns\": {:.1f}, \"p90_ns\": {:.1f}, \"samples\": {}, \"+GB/s\": {:.2f}, \"+of_bound\": "
      "{:.3f}}}\n",
      shape, contender.name, cpu::default_kernels().nest->name, bytes, median,
      quantile(contender.samples_ns, 0.1), quantile(contender.samples_ns, 0.9),
      contender.samples_ns.size(), static_cast<double>(bytes) / median, bound_ns / median);
  std::fflush(stdout);
}

/// False where the answer is wrong.
bool run_shape(const Shape& shape, bool quick) {
  const Layout& layout = shape.layout;
  const Layout dense = Layout::dense(layout.size_bytes());
  const std::int64_t size = layout.size_bytes();
  const std::int64_t moved = (lines_touched(layout) * kLine + size) / 2;
  std::byte* const grid = lines_of(layout.bounds().end);
  std::byte* const packed = lines_of(size);
  std::byte* const expected = lines_of(size);
  std::byte* const copy_from = lines_of(moved);
  std::byte* const copy_to = lines_of(moved);
  const cpu::OpPtr pack = cpu::compile(dense, layout, {});
  const cpu::OpPtr unpack = cpu::compile(layout, dense, {});
  const auto naive_pack = [&] {
    std::byte* to = expected;
    layout.for_each_block([&](std::int64_t offset, std::int64_t bytes) {
      std::memcpy(to, grid + offset, static_cast<std::size_t>(bytes));
      to += bytes;
    });
  };
  naive_pack();
  std::vector<Contender> contenders;
  contenders.push_back(
      {"memcpy", [&] { std::memcpy(copy_to, copy_from, static_cast<std::size_t>(moved)); }, {}});
  contenders.push_back({"loop", naive_pack, {}});
  contenders.push_back({"pack", [&] { pack->run(packed, grid); }, {}});
  contenders.push_back({"unpack", [&] { unpack->run(grid, packed); }, {}});
  measure(contenders, quick);
  const bool right = std::memcmp(packed, expected, static_cast<std::size_t>(size)) == 0;
  if (right) {
    const double bound = quantile(contenders[0].samples_ns, 0.5);
    for (const Contender& contender : contenders) print(shape.name, contender, size, bound);
  } else {
    fmt::print(stderr, "{}: packed bytes differ from the plain loop's\n", shape.name);
  }
  for (std::byte* memory : {grid, packed, expected, copy_from, copy_to}) std::free(memory);
  return right;
}

}  // namespace
}  // namespace strake::bench

int main(int argc, char** argv) {
  bool quick = false;
  std::string_view filter;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--quick") {
      quick = true;
    } else if (argument == "--filter" && i + 1 < argc) {
      filter = argv[++i];
    } else {
      fmt::print(stderr, "usage: {} [--quick] [--filter PART_OF_SHAPE_NAME]\n", argv[0]);
      return 2;
    }
  }
  bool right = true;
  for (const strake::bench::Shape& shape : strake::bench::shapes()) {
    if (shape.name.find(filter) != std::string::npos)
      right = strake::bench::run_shape(shape, quick) && right;
  }
  return right ? 0 : 1;
}
