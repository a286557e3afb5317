#include "grid/device_block.hpp"

#include <vector>

namespace bench {
namespace {

constexpr std::int64_t kPage = std::int64_t{2} << 20;

std::int64_t whole_pages(std::int64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

DeviceBlock::DeviceBlock(const RankBox& box, const HaloShape& shape)
    : shape_(shape),
      places_(box, shape),
      memory_(Where::Device, whole_pages(shape.bytes() * shape.quantities)) {}

BoxEnd DeviceBlock::end_at(double* base, int quantity, const strake::Box& part) const {
  const std::int64_t row = shape_.size();
  const std::int64_t plane = row * shape_.size();
  const strake::Index3& at = part.lower;
  return {base + quantity * shape_.cells() + at[2] * plane + at[1] * row + at[0], row, plane};
}

void DeviceBlock::fill(int epoch) {
  for (int q = 0; q < quantities(); ++q) {
    const std::vector<double> values = places_.filled(q, epoch);
    check(cudaMemcpy(array(q), values.data(), values.size() * sizeof(double),
                     cudaMemcpyHostToDevice));
  }
  check(cudaDeviceSynchronize());
}

std::int64_t DeviceBlock::wrong_cells(int epoch) const {
  std::vector<double> values(static_cast<std::size_t>(shape_.cells()));
  std::int64_t wrong = 0;
  for (int q = 0; q < quantities(); ++q) {
    check(cudaMemcpy(values.data(), array(q), values.size() * sizeof(double),
                     cudaMemcpyDeviceToHost));
    wrong += places_.wrong(values, q, epoch);
  }
  return wrong;
}

}  // namespace bench
