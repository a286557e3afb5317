#include "layout/darray.hpp"

#include <algorithm>
#include <vector>

namespace strake {
namespace {

std::int64_t block_of(const DistributedDim& dim) {
  if (dim.distribution == Distribution::None) return dim.size;
  if (dim.block) return *dim.block;
  if (dim.distribution == Distribution::Cyclic) return 1;
  return dim.size / dim.processes + (dim.size % dim.processes == 0 ? 0 : 1);
}

// One dim: blocks are dealt to the processes in turn, and process `coordinate` has its share; the
// last block may be cut short. No product here exceeds the size of the dim.
Layout dealt(const Layout& element, std::int64_t extent, const DistributedDim& dim,
             std::int64_t coordinate) {
  const std::int64_t block = block_of(dim);
  if (dim.size == 0 || coordinate > dim.size / block) return {};
  const std::int64_t first = coordinate * block;
  const std::int64_t rounds = dim.size / block / dim.processes;
  const std::int64_t round = rounds == 0 ? 0 : block * dim.processes;
  const std::int64_t rest = std::clamp<std::int64_t>(dim.size - rounds * round - first, 0, block);
  const Layout parts[] = {
      element.repeated(block, extent).repeated(rounds, round * extent),
      element.repeated(rest, extent).shifted(rounds * round * extent),
  };
  return Layout::sequence(parts).shifted(first * extent);
}

}  // namespace

Layout darray(const Layout& element, std::int64_t extent, std::span<const DistributedDim> dims,
              Order order, std::int64_t rank) {
  // Ranks fill the process grid in row-major order, whatever the order of the array.
  std::vector<std::int64_t> coordinates(dims.size());
  for (std::size_t d = dims.size(); d-- > 0;) {
    coordinates[d] = rank % dims[d].processes;
    rank /= dims[d].processes;
  }
  Layout layout = element;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::size_t d = order == Order::C ? dims.size() - 1 - i : i;  // fastest first
    layout = dealt(layout, extent, dims[d], coordinates[d]);
    extent *= dims[d].size;
  }
  return layout;
}

}  // namespace strake
