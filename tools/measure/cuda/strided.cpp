/// \file  The runtime's own strided copies: 2D, 3D, and 3D between devices.
#include <fmt/format.h>

#include "measure/cuda/cases.hpp"
#include "measure/cuda/traffic.hpp"
#include "strake/error.hpp"

namespace strake::measure::cuda {
namespace {

enum class Shape { Plane, Cube };

/// Rows of `width` bytes, `pitch` apart; planes without a gap between them.
struct Rows {
  std::int64_t width;
  std::int64_t pitch;
  std::int64_t height;
  std::int64_t depth;
  [[nodiscard]] std::int64_t span() const { return pitch * height * depth; }
  [[nodiscard]] std::int64_t payload() const { return width * height * depth; }
  [[nodiscard]] Map map() const { return {width, pitch, nullptr}; }
};

Rows rows_of(Shape shape, std::int64_t bytes, std::int64_t width) {
  const std::int64_t rows = bytes / width;
  std::int64_t depth = 1;
  if (shape == Shape::Cube) {
    while (depth * depth < rows) depth *= 2;
  }
  return {width, 2 * width, rows / depth, depth};
}

cudaPitchedPtr pitched(const Buffer& data, const Rows& rows) {
  return {data.data(), static_cast<std::size_t>(rows.pitch), static_cast<std::size_t>(rows.width),
          static_cast<std::size_t>(rows.height)};
}
cudaExtent extent_of(const Rows& rows) {
  return {static_cast<std::size_t>(rows.width), static_cast<std::size_t>(rows.height),
          static_cast<std::size_t>(rows.depth)};
}

Lane lane_of(Shape shape, const Rows& rows, const Move& move) {
  const int issuer = move.from->device();
  if (shape == Shape::Plane) {
    return {issuer, [=](cudaStream_t stream) {
              const auto pitch = static_cast<std::size_t>(rows.pitch);
              check(cudaMemcpy2DAsync(move.to->data(), pitch, move.from->data(), pitch,
                                      static_cast<std::size_t>(rows.width),
                                      static_cast<std::size_t>(rows.height), cudaMemcpyDefault,
                                      stream));
            }};
  }
  if (move.to->device() != issuer) {
    return {issuer, [=](cudaStream_t stream) {
              cudaMemcpy3DPeerParms copy{};
              copy.srcPtr = pitched(*move.from, rows);
              copy.srcDevice = issuer;
              copy.dstPtr = pitched(*move.to, rows);
              copy.dstDevice = move.to->device();
              copy.extent = extent_of(rows);
              check(cudaMemcpy3DPeerAsync(&copy, stream));
            }};
  }
  return {issuer, [=](cudaStream_t stream) {
            cudaMemcpy3DParms copy{};
            copy.srcPtr = pitched(*move.from, rows);
            copy.dstPtr = pitched(*move.to, rows);
            copy.extent = extent_of(rows);
            copy.kind = cudaMemcpyDefault;
            check(cudaMemcpy3DAsync(&copy, stream));
          }};
}

std::unique_ptr<Instance> make_strided(Shape shape, const Rows& rows, Where to, Where from) {
  if (to.device != from.device) connect({from.device, to.device});
  const Move move(to, from, rows.span(), 9);
  return held({lane_of(shape, rows, move)}, [=] {
    move.to->expect(rows.payload(), rows.map(), move.seed, rows.map(), "strided copy");
    move.to->fill(~move.seed);
  });
}

}  // namespace

void add_strided_copies(Cases& cases) {
  const Where pinned{Kind::Pinned};
  const Where device{Kind::Device};
  const double link = host_link(0);
  for (const Shape shape : {Shape::Plane, Shape::Cube}) {
    const std::string prefix = shape == Shape::Plane ? "gpu/2d/" : "gpu/3d/";
    for (const std::int64_t bytes : {64 * kKiB, kMiB, 16 * kMiB}) {
      for (const std::int64_t width : {16, 256, 4096}) {
        const Rows rows = rows_of(shape, bytes, width);
        const auto put = [&](const std::string& name, double limit, Where to, Where from) {
          Case& added =
              add(cases, name, bytes, [=] { return make_strided(shape, rows, to, from); });
          added.block = rows.width;
          added.pitch = rows.pitch;
          added.limit = limit;
          added.quick = bytes == kMiB && width == 256 && shape == Shape::Plane;
        };
        put(prefix + "pinned-to-device", link, device, pinned);
        put(prefix + "device-to-pinned", link, pinned, device);
        put(prefix + "device-local", memory_rate(0) / 2, device, device);
        if (shape == Shape::Plane) continue;
        for (const Pair& pair : full_pairs()) {
          put("gpu/3d-peer/" + pair.name(), peer_link(pair.from, pair.to), {Kind::Device, pair.to},
              {Kind::Device, pair.from});
        }
      }
    }
  }
}

}  // namespace strake::measure::cuda
