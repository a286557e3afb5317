#include "grid/device_block.hpp"

#include <vector>

#include "grid/numbers.hpp"

namespace bench {
namespace {

constexpr std::int64_t kPage = std::int64_t{2} << 20;

std::int64_t whole_pages(std::int64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

DeviceBlock::DeviceBlock(const RankBox& box, const HaloShape& shape)
    : size_(shape.edge + 2 * shape.radius),
      quantities_(shape.quantities),
      cells_(std::int64_t{size_} * size_ * size_),
      memory_(Where::Device, whole_pages(cells_ * quantities_ * std::int64_t{sizeof(double)})) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::size_t d = 2 - axis;  // a Triple is z, y, x
    extent_[axis] = std::int64_t{box.dims()[d]} * shape.edge;
    owned_.lower[axis] = std::int64_t{box.at()[d]} * shape.edge;
    owned_.upper[axis] = owned_.lower[axis] + shape.edge;
    stored_.lower[axis] = owned_.lower[axis] - shape.radius;
    stored_.upper[axis] = owned_.upper[axis] + shape.radius;
  }
}

BoxEnd DeviceBlock::end_at(double* base, int quantity, const Halo::Part& part) const {
  const std::int64_t row = size_;
  const std::int64_t plane = row * size_;
  const Triple& at = part.starts;
  return {base + quantity * cells_ + at[0] * plane + at[1] * row + at[2], row, plane};
}

void DeviceBlock::fill(int epoch) {
  for (int q = 0; q < quantities_; ++q) {
    const std::vector<double> values =
        grid_numbers(stored_, owned_, extent_, static_cast<std::size_t>(q),
                     static_cast<std::size_t>(quantities_), epoch);
    check(cudaMemcpy(array(q), values.data(), values.size() * sizeof(double),
                     cudaMemcpyHostToDevice));
  }
  check(cudaDeviceSynchronize());
}

std::int64_t DeviceBlock::wrong_cells(int epoch) const {
  std::vector<double> values(static_cast<std::size_t>(cells_));
  std::int64_t wrong = 0;
  for (int q = 0; q < quantities_; ++q) {
    check(cudaMemcpy(values.data(), array(q), values.size() * sizeof(double),
                     cudaMemcpyDeviceToHost));
    wrong +=
        count_different(values, grid_numbers(stored_, stored_, extent_, static_cast<std::size_t>(q),
                                             static_cast<std::size_t>(quantities_), epoch));
  }
  return wrong;
}

}  // namespace bench
