// Packs one face of a small grid with the library and checks every value. No MPI, no GPU.
#include <cstddef>
#include <cstdio>
#include <strake/copy.hpp>
#include <strake/layout.hpp>
#include <vector>

int main() {
  constexpr std::int64_t kSide = 16;
  constexpr std::int64_t kLayers = 3;
  std::vector<float> grid(kSide * kSide * kSide);
  for (std::size_t i = 0; i < grid.size(); ++i) grid[i] = static_cast<float>(i);
  std::vector<float> packed(kSide * kSide * kLayers, -1.0F);

  // The first kLayers cells of every row of a grid of kSide^3 floats.
  constexpr std::int64_t kRow = kSide * sizeof(float);
  const strake::Dim dims[] = {{kSide, kRow * kSide}, {kSide, kRow}};
  const auto face = strake::Layout::box(0, kLayers * sizeof(float), dims);
  const auto dense = strake::Layout::dense(face.size_bytes());

  // Compiled once, run as often as you like.
  const auto plan = strake::CopyPlan::compile(dense, strake::Place{}, face, strake::Place{});
  plan.run(reinterpret_cast<std::byte*>(packed.data()), reinterpret_cast<std::byte*>(grid.data()));

  for (std::size_t i = 0; i < packed.size(); ++i) {
    const auto expected = static_cast<float>(i / kLayers * kSide + i % kLayers);
    if (packed[i] != expected) {
      std::printf("element %zu is %.0f instead of %.0f\n", i, packed[i], expected);
      return 1;
    }
  }
  std::printf("%s, %s: right\n", face.to_string().c_str(), plan.description().c_str());
  return 0;
}
