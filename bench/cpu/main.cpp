// Raw CPU copies: JSON lines of pack and unpack for each shape and, in the same run, of a plain
// loop over its blocks and of a memcpy that moves as many bytes as the copy must (the lines of the
// strided side plus the bytes of the dense side). The answer is checked before a number is printed.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "copy/cpu/compile.hpp"
#include "shapes.hpp"
#include "support/sampling.hpp"
#include "support/statistics.hpp"
#include "support/traffic.hpp"

namespace bench {
namespace {

using strake::Layout;

std::byte* lines_of(std::int64_t bytes) {
  const std::int64_t rounded = (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
  auto* const memory = static_cast<std::byte*>(
      std::aligned_alloc(static_cast<std::size_t>(kLineBytes), static_cast<std::size_t>(rounded)));
  for (std::int64_t i = 0; i < rounded; ++i) memory[i] = static_cast<std::byte>(i * 31 + i / 509);
  return memory;
}

struct Contender {
  const char* name;
  std::function<void()> run;
};

/// Nanoseconds of all contenders, sampled by turns.
std::vector<std::vector<double>> measure(const std::vector<Contender>& contenders, bool quick) {
  const int samples = quick ? 3 : 25;
  const Budget budget{
      .sample_seconds = quick ? 20e-6 : 400e-6, .min_samples = samples, .max_samples = samples};
  std::vector<Plan> plans;
  for (const Contender& contender : contenders) plans.push_back(plan_of(budget, contender.run));
  auto all = sample_by_turns(plans, {samples},
                             [&](std::size_t which, const Plan& part, std::vector<double>& to) {
                               take_samples(part, contenders[which].run, to);
                             });
  for (std::vector<double>& seconds : all) seconds = scaled(std::move(seconds), 1e9);
  return all;
}

void print(const std::string& shape, const char* contender, const Summary& ns, std::int64_t bytes,
           double bound_ns) {
  fmt::print(
      "{{\"bench\": \"cpu\", \"shape\": \"{}\", \"what\": \"{}\", \"simd\": \"{}\", \"bytes\": {}, "
      "\"median_ns\": {:.1f}, "
      "\"p10_ns\": {:.1f}, \"p90_ns\": {:.1f}, \"samples\": {}, \"+GB/s\": {:.2f}, \"+of_bound\": "
      "{:.3f}}}\n",
      shape, contender, strake::cpu::default_kernels().nest->name, bytes, ns.median, ns.p10, ns.p90,
      ns.count, static_cast<double>(bytes) / ns.median, bound_ns / ns.median);
  std::fflush(stdout);
}

/// False where the answer is wrong.
bool run_shape(const Shape& shape, bool quick) {
  const Layout& layout = shape.layout;
  const Layout dense = Layout::dense(layout.size_bytes());
  const std::int64_t size = layout.size_bytes();
  const std::int64_t moved = traffic_of_layout(layout).footprint_bytes() / 2;
  std::byte* const grid = lines_of(layout.bounds().end);
  std::byte* const packed = lines_of(size);
  std::byte* const expected = lines_of(size);
  std::byte* const copy_from = lines_of(moved);
  std::byte* const copy_to = lines_of(moved);
  const strake::cpu::OpPtr pack = strake::cpu::compile(dense, layout, {});
  const strake::cpu::OpPtr unpack = strake::cpu::compile(layout, dense, {});
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
      {"memcpy", [&] { std::memcpy(copy_to, copy_from, static_cast<std::size_t>(moved)); }});
  contenders.push_back({"loop", naive_pack});
  contenders.push_back({"pack", [&] { pack->run(packed, grid); }});
  contenders.push_back({"unpack", [&] { unpack->run(grid, packed); }});
  const std::vector<std::vector<double>> ns = measure(contenders, quick);
  const bool right = std::memcmp(packed, expected, static_cast<std::size_t>(size)) == 0;
  if (right) {
    const double bound = summarize(ns[0]).median;
    for (std::size_t i = 0; i < ns.size(); ++i)
      print(shape.name, contenders[i].name, summarize(ns[i]), size, bound);
  } else {
    fmt::print(stderr, "{}: packed bytes differ from the plain loop's\n", shape.name);
  }
  for (std::byte* memory : {grid, packed, expected, copy_from, copy_to}) std::free(memory);
  return right;
}

}  // namespace
}  // namespace bench

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
  for (const bench::Shape& shape : bench::shapes()) {
    if (shape.name.find(filter) != std::string::npos)
      right = bench::run_shape(shape, quick) && right;
  }
  return right ? 0 : 1;
}
