#include "placement/scotch.hpp"

#include <scotch.h>  // after <cstdio>, as it needs FILE

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <span>

#include "placement/adjacency.hpp"
#include "placement/refinement.hpp"
#include "state/process_state.hpp"

// SCOTCH reports errors by these. They print nothing: its calls also return whether they failed.
extern "C" {
void SCOTCH_errorProg(const char*) {}
void SCOTCH_errorPrint(const char*, ...) {}
void SCOTCH_errorPrintW(const char*, ...) {}
}

namespace strake::placement {
namespace {

constexpr int kMostVertices = 20'000;
constexpr std::size_t kMostNeighbours = std::size_t{1} << 20;

/// SCOTCH has state that its contexts share, so one thread at a time is in it.
struct Turn {
  std::mutex mutex;
};

/// An object of SCOTCH, ended by its function.
template <typename T, auto End>
class Owned {
 public:
  /// \param make  returns 0 if it made the object
  template <typename Make>
  explicit Owned(const Make& make) : is_made_(make(&object_) == 0) {}
  ~Owned() {
    if (is_made_) End(&object_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  [[nodiscard]] bool is_made() const noexcept { return is_made_; }
  [[nodiscard]] T* get() noexcept { return &object_; }

 private:
  T object_{};
  bool is_made_;
};
using Context = Owned<SCOTCH_Context, SCOTCH_contextExit>;
using OwnedGraph = Owned<SCOTCH_Graph, SCOTCH_graphExit>;
using Target = Owned<SCOTCH_Arch, SCOTCH_archExit>;
using Strategy = Owned<SCOTCH_Strat, SCOTCH_stratExit>;

/// A graph in SCOTCH's form. Weights are divided so that their sum fits into its numbers.
struct Arrays {
  std::vector<SCOTCH_Num> begin{0};
  std::vector<SCOTCH_Num> to;
  std::vector<SCOTCH_Num> weights;

  explicit Arrays(const Adjacency& adjacency) {
    constexpr std::int64_t kMostScaled = std::int64_t{1} << 28;
    std::int64_t all = 0;
    for (int v = 0; v < adjacency.vertices(); ++v)
      for (const Neighbour& one : adjacency.of(v)) all += one.weight / 2;
    const std::int64_t divisor = 1 + all / kMostScaled;
    for (int v = 0; v < adjacency.vertices(); ++v) {
      for (const Neighbour& one : adjacency.of(v)) {
        to.push_back(one.vertex);
        weights.push_back(static_cast<SCOTCH_Num>(std::max<std::int64_t>(one.weight / divisor, 1)));
      }
      begin.push_back(static_cast<SCOTCH_Num>(to.size()));
    }
  }
};

/// Maps the vertices to groups of about these sizes, all above 0; returns whether that succeeded.
bool map(Arrays& arrays, std::span<const SCOTCH_Num> sizes, std::span<SCOTCH_Num> group_of) {
  // Without threads, and with random numbers of its own, which begin alike each time.
  Context context([](SCOTCH_Context* made) { return SCOTCH_contextInit(made); });
  if (!context.is_made() || SCOTCH_contextThreadSpawn(context.get(), 1, nullptr) != 0 ||
      SCOTCH_contextRandomClone(context.get()) != 0)
    return false;
  SCOTCH_contextRandomSeed(context.get(), 1);
  SCOTCH_contextRandomReset(context.get());
  OwnedGraph graph([](SCOTCH_Graph* made) { return SCOTCH_graphInit(made); });
  if (!graph.is_made() ||
      SCOTCH_graphBuild(graph.get(), 0, static_cast<SCOTCH_Num>(group_of.size()),
                        arrays.begin.data(), nullptr, nullptr, nullptr,
                        static_cast<SCOTCH_Num>(arrays.to.size()), arrays.to.data(),
                        arrays.weights.data()) != 0)
    return false;
  OwnedGraph bound([&](SCOTCH_Graph* made) {
    return SCOTCH_graphInit(made) == 0 ? SCOTCH_contextBindGraph(context.get(), graph.get(), made)
                                       : 1;
  });
  const auto groups = static_cast<SCOTCH_Num>(sizes.size());
  Target target([&](SCOTCH_Arch* made) {
    return SCOTCH_archInit(made) == 0 ? SCOTCH_archCmpltw(made, groups, sizes.data()) : 1;
  });
  constexpr double kImbalance = 0.01;
  Strategy strategy([&](SCOTCH_Strat* made) {
    return SCOTCH_stratInit(made) == 0
               ? SCOTCH_stratGraphMapBuild(made, SCOTCH_STRATQUALITY, groups, kImbalance)
               : 1;
  });
  return bound.is_made() && target.is_made() && strategy.is_made() &&
         SCOTCH_graphMap(bound.get(), target.get(), strategy.get(), group_of.data()) == 0;
}

}  // namespace

std::optional<std::vector<int>> scotch_guess(const Graph& graph, const std::vector<int>& sizes) {
  require_sizes(graph.vertices, sizes);
  require_edges(graph);
  if (graph.vertices == 0) return std::vector<int>();
  if (graph.vertices > kMostVertices) return std::nullopt;
  const Adjacency adjacency(graph);
  if (adjacency.size() > kMostNeighbours) return std::nullopt;
  std::vector<SCOTCH_Num> used_sizes;
  std::vector<int> used;
  for (std::size_t g = 0; g < sizes.size(); ++g) {
    if (sizes[g] == 0) continue;
    used_sizes.push_back(sizes[g]);
    used.push_back(static_cast<int>(g));
  }
  std::vector<SCOTCH_Num> mapped(static_cast<std::size_t>(graph.vertices));
  Arrays arrays(adjacency);
  {
    const std::lock_guard lock(ProcessState::part<Turn>().mutex);
    if (!map(arrays, used_sizes, mapped)) return std::nullopt;
  }
  std::vector<int> group_of;
  for (const SCOTCH_Num group : mapped) {
    if (group < 0 || group >= std::ssize(used)) return std::nullopt;
    group_of.push_back(used[static_cast<std::size_t>(group)]);
  }
  Refinement exact(adjacency, static_cast<int>(sizes.size()), std::move(group_of));
  exact.balance(sizes);
  return exact.group_of();
}

}  // namespace strake::placement
