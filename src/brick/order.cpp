#include "brick/order.hpp"

#include <fmt/format.h>

#include <cstddef>

#include "strake/error.hpp"

namespace strake::brick {
namespace {

constexpr int power_of(int base, int exponent) {
  int power = 1;
  for (int i = 0; i < exponent; ++i) power *= base;
  return power;
}

void require_permutation(int dims, std::span<const Region> order) {
  const int numbers = power_of(3, dims);
  if (order.size() + 1 != static_cast<std::size_t>(numbers))
    throw InvalidArgument(fmt::format("an order of {} surface regions, of {} in {} dimensions",
                                      order.size(), numbers - 1, dims));
  std::vector<bool> found(static_cast<std::size_t>(numbers));
  for (const Region region : order) {
    if (region < 0 || region >= numbers || region == numbers / 2)
      throw InvalidArgument(fmt::format("{} is no surface region in {} dimensions", region, dims));
    if (found[static_cast<std::size_t>(region)])
      throw InvalidArgument(fmt::format("surface region {} is in an order twice", region));
    found[static_cast<std::size_t>(region)] = true;
  }
}

}  // namespace

void require_dims(int dims) {
  if (dims < 1 || dims > kMostDims)
    throw InvalidArgument(
        fmt::format("a subdomain of {} dimensions; bricks have 1 to {}", dims, kMostDims));
}

int directions_of(int dims) noexcept { return power_of(3, dims); }

int sign_of(Region region, int axis) noexcept { return region / power_of(3, axis) % 3 - 1; }

bool goes_to(Region region, Region neighbour) noexcept {
  // Axes beyond the dimensions have equal signs.
  for (int axis = 0; axis < kMostDims; ++axis)
    if (const int shift = sign_of(neighbour, axis); shift != 0 && shift != sign_of(region, axis))
      return false;
  return true;
}

std::vector<Region> regions_of(int dims) {
  require_dims(dims);
  const int numbers = power_of(3, dims);
  std::vector<Region> regions;
  for (Region region = 0; region < numbers; ++region)
    if (region != numbers / 2) regions.push_back(region);
  return regions;
}

int common_neighbours(int dims, Region one, Region other) noexcept {
  // A neighbour of both is shifted along some of the axes on which both are at the same end.
  int shifts = 1;
  for (int axis = 0; axis < dims; ++axis)
    if (const int sign = sign_of(one, axis); sign != 0 && sign == sign_of(other, axis)) shifts *= 2;
  return shifts - 1;
}

int messages_of(int dims, std::span<const Region> order) {
  require_dims(dims);
  require_permutation(dims, order);
  int messages = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    // Messages begin here to the neighbours that get this region, but not the one before.
    messages += common_neighbours(dims, order[i], order[i]);
    if (i > 0) messages -= common_neighbours(dims, order[i - 1], order[i]);
  }
  return messages;
}

int least_messages(int dims) {
  require_dims(dims);
  const int parity = dims % 2 == 0 ? 1 : -1;
  return (2 * power_of(5, dims) + parity + 3) / 6;
}

int basic_messages(int dims) {
  require_dims(dims);
  return power_of(5, dims) - power_of(3, dims);
}

}  // namespace strake::brick
