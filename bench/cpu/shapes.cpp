#include "shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <random>

namespace bench {
namespace {

using strake::Dim;
using strake::Layout;

Layout box(std::int64_t block, std::vector<Dim> dims) { return Layout::box(0, block, dims); }

/// Faces, an edge and a corner of 256^3 doubles with ghost cells of that radius around.
void add_grid(std::vector<Shape>& shapes, std::int64_t radius) {
  const std::int64_t n = 256;
  const std::int64_t row = (n + 2 * radius) * 8;
  const std::int64_t plane = row * (n + 2 * radius);
  const auto region = [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    return box(x * 8, {{z, plane}, {y, row}});
  };
  const auto add = [&](const char* name, Layout layout) {
    shapes.push_back({fmt::format("grid {} r{}", name, radius), layout});
  };
  add("face x", region(radius, n, n));
  add("face y", region(n, radius, n));
  add("face z", region(n, n, radius));
  add("edge xy", region(radius, radius, n));
  add("edge xz", region(radius, n, radius));
  add("edge yz", region(n, radius, radius));
  add("corner", region(radius, radius, radius));
}

/// Elements of 4 to 16 bytes at small strides, in the L1 cache, in the L2 cache and past both.
void add_strided(std::vector<Shape>& shapes) {
  for (const std::int64_t element : {4, 8, 16}) {
    for (const std::int64_t stride : {2, 3, 4, 8}) {
      for (const std::int64_t extent : {16 << 10, 256 << 10, 8 << 20}) {
        const std::int64_t count = extent / (stride * element);
        shapes.push_back(
            {fmt::format("{} B at {} B, {} KiB", element, stride * element, extent >> 10),
             box(element, {{count, stride * element}})});
      }
    }
  }
}

/// Column-wise matrices; WRF's rows of a few floats, MILC's, NAS MG's and LU's halos, SPECFEM3D's
/// and LAMMPS's lists.
void add_applications(std::vector<Shape>& shapes) {
  for (const std::int64_t n : {64, 512, 1000, 2048}) {
    shapes.push_back({fmt::format("transpose {}^2 of 8 B", n), box(8, {{n, 8}, {n, n * 8}})});
  }
  shapes.push_back({"transpose 512^2 of 4 B", box(4, {{512, 4}, {512, 2048}})});
  shapes.push_back({"transpose 512^2 of 16 B", box(16, {{512, 16}, {512, 8192}})});
  shapes.push_back({"fft 16 B, 64 of 512 columns", box(16, {{64, 16}, {512, 8192}})});
  shapes.push_back({"milc 48 B", box(48, {{16, 16 * 16 * 96}, {128, 96}})});
  shapes.push_back({"nas mg y", box(130 * 8, {{128, 130 * 130 * 8}})});
  shapes.push_back({"nas mg x", box(8, {{128, 130 * 130 * 8}, {128, 130 * 8}})});
  shapes.push_back({"nas lu 40 B", box(40, {{64, 66 * 40}})});
  shapes.push_back({"wrf x 12 B", box(12, {{30, 80 * 70 * 4}, {64, 80 * 4}})});
  const Layout wrf[] = {box(12, {{30, 80 * 70 * 4}, {64, 80 * 4}}),
                        box(12, {{30, 80 * 70 * 4}, {64, 80 * 4}}).shifted(2 << 20),
                        box(12, {{64, 80 * 4}}).shifted(4 << 20)};
  shapes.push_back({"wrf struct of 3", Layout::sequence(wrf)});

  // Every `spacing`-th slot on average, in ascending order as neighbour lists are, or shuffled.
  std::mt19937_64 random(1);
  const auto listed = [&](std::int64_t count, std::int64_t block, std::uint64_t spacing,
                          bool shuffled) {
    std::vector<std::int64_t> offsets;
    std::int64_t slot = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      slot += 2 + static_cast<std::int64_t>(random() % (2 * spacing - 3));
      offsets.push_back(slot * block);
    }
    if (shuffled) std::shuffle(offsets.begin(), offsets.end(), random);
    return Layout::blocks(offsets, block);
  };
  shapes.push_back({"specfem list 4 B x 8000", listed(8000, 4, 8, false)});
  shapes.push_back({"specfem list 12 B x 40000", listed(40000, 12, 8, false)});
  shapes.push_back({"lammps list 24 B x 3000", listed(3000, 24, 4, false)});
  shapes.push_back({"shuffled list 8 B x 1000000", listed(1'000'000, 8, 4, true)});
  shapes.push_back({"shuffled list 24 B x 3000", listed(3000, 24, 4, true)});
  std::vector<std::int64_t> offsets, lengths;
  std::int64_t at = 0;
  for (int i = 0; i < 50000; ++i) {
    lengths.push_back(8 + static_cast<std::int64_t>(random() % 121));
    offsets.push_back(at);
    at += lengths.back() + 1 + static_cast<std::int64_t>(random() % 64);
  }
  shapes.push_back({"lengths 8-128 B x 50000", Layout::blocks(offsets, lengths)});
  const std::int64_t record_offsets[] = {0, 8, 40};
  const std::int64_t record_lengths[] = {4, 8, 16};
  shapes.push_back({"struct {4, 8, 16 B} x 17000",
                    Layout::blocks(record_offsets, record_lengths).repeated(17000, 64)});
  shapes.push_back({"struct {4, 8 B} x 17000",
                    Layout::blocks(std::span(record_offsets, 2), std::span(record_lengths, 2))
                        .repeated(17000, 16)});
  shapes.push_back({"rows of 2 KiB", box(2048, {{1024, 4096}})});
  shapes.push_back({"rows of 256 B", box(256, {{4096, 512}})});
  shapes.push_back({"64 MiB of 8 B at 64 B", box(8, {{8 << 20, 64}})});
  shapes.push_back({"64 MiB of 64 B at 128 B", box(64, {{1 << 20, 128}})});
}

}  // namespace

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  add_grid(all, 1);
  add_grid(all, 3);
  add_strided(all);
  add_applications(all);
  return all;
}

}  // namespace bench
