// A mesh that is refined, as far as it allocates: patches of 16^3 to 48^3 cells with five values
// are made, filled, computed on, and dropped. 150 are alive. Prints the milliseconds of 4000.
//
//   bench_heap_mesh [PATCHES]
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t kAlive = 150;
constexpr std::size_t kValues = 5;

struct Patch {
  explicit Patch(std::size_t edge) : before(edge * edge * edge * kValues), after(before.size()) {}
  std::vector<double> before, after;
};

void compute(Patch& patch, double seed) {
  std::vector<double>& u = patch.before;
  for (std::size_t i = 0; i < u.size(); ++i) u[i] = static_cast<double>(i) * 1e-3 + seed;
  for (int step = 0; step < 2; ++step)
    for (std::size_t i = 1; i + 1 < u.size(); ++i) patch.after[i] = u[i - 1] + u[i + 1] - 2 * u[i];
}

}  // namespace

int main(int argc, char** argv) {
  const int patches = argc > 1 ? std::atoi(argv[1]) : 4000;
  std::mt19937 draw(1);
  std::vector<std::unique_ptr<Patch>> alive(kAlive);
  const auto begin = std::chrono::steady_clock::now();
  double sum = 0;
  for (int i = 0; i < patches; ++i) {
    auto patch = std::make_unique<Patch>(16 + 8 * (draw() % 5));
    compute(*patch, i);
    sum += patch->after[patch->after.size() / 2];
    const auto place = static_cast<std::size_t>(i);
    alive[place < kAlive ? place : draw() % kAlive] = std::move(patch);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%.1f ms\n", took.count() * 1e3);
  return std::abs(sum) < 1e-3 ? 0 : 1;  // the second differences of a straight line
}
