/// \file  Explicit copies between pinned host memory and a device: events around them. The same to
/// pinned memory whose lines lie in the CPU's cache, or in none.
/// Sources: dissertation 3.2 (CPU data caching), 3.3.5.
#include <fmt/format.h>

#include "measure/cache.hpp"
#include "measure/cuda/cases.hpp"
#include "measure/cuda/traffic.hpp"
#include "measure/host.hpp"

namespace strake::measure::cuda {
namespace {

enum class CopyDirections { ToDevice, ToHost, Both };

std::unique_ptr<Instance> make_copies(Where host, int device, std::int64_t bytes,
                                      CopyDirections directions) {
  const Where there{Kind::Device, device};
  std::vector<Move> moves;
  if (directions != CopyDirections::ToHost) moves.emplace_back(there, host, bytes, 1);
  if (directions != CopyDirections::ToDevice) moves.emplace_back(host, there, bytes, 2);
  std::vector<Lane> lanes;
  for (const Move& move : moves) lanes.push_back(copy_lane(device, move));
  return held_moves(std::move(lanes), std::move(moves), "copy between host and device");
}

/// One direction's own time while twice as much goes the other way.
std::unique_ptr<Instance> make_contended(std::int64_t bytes, bool to_device) {
  const Where host{Kind::Pinned};
  const Where device{Kind::Device};
  std::vector<Move> moves = {Move(to_device ? device : host, to_device ? host : device, bytes, 1),
                             Move(to_device ? host : device, to_device ? device : host, bytes, 2)};
  Lane other = copy_lane(0, moves[1]);
  other.enqueue = [copy = std::move(other.enqueue)](cudaStream_t stream) {
    copy(stream);
    copy(stream);
  };
  std::vector<Lane> lanes = {copy_lane(0, moves[0]), std::move(other)};
  return held_moves(std::move(lanes), std::move(moves), "copy against another",
                    {.before = {}, .timed_lane = 0});
}

void add_host(Cases& cases, const std::string& kind, Where host, int device,
              const std::vector<std::int64_t>& sizes, std::int64_t quick_size,
              const std::string& suffix = {}) {
  const double limit = host_link(device);
  for (const std::int64_t bytes : sizes) {
    const auto add_case = [&](const std::string& name, CopyDirections directions) {
      const int count = directions == CopyDirections::Both ? 2 : 1;
      Case& added = add(cases, name + suffix, count * bytes,
                        [=] { return make_copies(host, device, bytes, directions); });
      added.quick = bytes == quick_size;
      added.limit = count * limit;
    };
    add_case("gpu/copy/" + kind + "-to-device", CopyDirections::ToDevice);
    add_case("gpu/copy/device-to-" + kind, CopyDirections::ToHost);
    add_case("gpu/copy/" + kind + "/both-ways", CopyDirections::Both);
  }
}

/// As Strake itself copies: call to return.
std::unique_ptr<Instance> make_queue_copy(Where to, Where from, std::int64_t bytes) {
  const Move move(to, from, bytes, 3);
  DeviceBackend& strake = strake_backend(0);
  const std::shared_ptr<Queue> queue = strake.make_queue(0);
  return wall_timed(
      0, [=] { queue->wait(queue->copy(move.to->data(), move.from->data(), bytes)); },
      [=] { move.verify("Strake's copy between host and device"); });
}

void add_queue_copies(Cases& cases) {
  const Where pinned{Kind::Pinned};
  const Where device{Kind::Device};
  for (std::int64_t bytes = 64; bytes <= 64 * kMiB; bytes *= 4) {
    for (const bool to_host : {true, false}) {
      Case& added =
          add(cases, to_host ? "copy/device-to-pinned" : "copy/pinned-to-device", bytes, [=] {
            return make_queue_copy(to_host ? pinned : device, to_host ? device : pinned, bytes);
          });
      added.quick = bytes == kKiB || bytes == 64 * kKiB || bytes == kMiB || bytes == 64 * kMiB;
      added.limit = host_link(0);
    }
  }
}

constexpr std::int64_t kLine = 64;

/// Every line modified in this core's caches, as far as they reach.
void bring_in(std::byte* data, std::int64_t bytes) {
  for (std::int64_t at = 0; at < bytes; at += kLine) {
    volatile std::byte* const line = data + at;
    *line = static_cast<std::byte>(0xa5);
  }
}

std::unique_ptr<Instance> make_copy(std::int64_t bytes, bool flushed) {
  const Move move({Kind::Pinned}, {Kind::Device}, bytes, 13);
  HeldOptions options;
  options.before = [move, flushed] {
    bring_in(move.to->data(), move.to->bytes());
    if (flushed) flush_cache(move.to->data(), move.size());
  };
  return held_moves({copy_lane(0, move)}, {move}, "copy to cached memory", std::move(options));
}

}  // namespace

void add_host_copies(Cases& cases) {
  const std::vector<std::int64_t> all = {1,          64,       kKiB,      16 * kKiB,
                                         256 * kKiB, 4 * kMiB, 64 * kMiB, kGiB};
  add_host(cases, "pinned", {Kind::Pinned}, 0, all, 64 * kMiB);
  for (const std::int64_t bytes : {64 * kMiB, kGiB}) {
    for (const bool to_device : {true, false}) {
      const std::string name = to_device ? "pinned-to-device" : "device-to-pinned";
      add(cases, "gpu/copy/" + name + "/contended", bytes, [=] {
        return make_contended(bytes, to_device);
      }).limit = host_link(0);
    }
  }
  add_host(cases, "write-combined", {Kind::WriteCombined}, 0, {64 * kKiB, kMiB, 64 * kMiB}, 0);
  for (const int node : host().numa_nodes) {
    add_host(cases, fmt::format("pinned-node{}", node), {Kind::Pinned, 0, node}, 0,
             {kKiB, 64 * kKiB, 4 * kMiB, 256 * kMiB}, 0);
  }
  for (int device = 1; device < device_count(); ++device) {
    add_host(cases, "pinned", {Kind::Pinned, device}, device, {64 * kMiB}, 64 * kMiB,
             fmt::format("/gpu{}", device));
  }
  for (const std::int64_t bytes : all) {
    Case& added = add(cases, "gpu/copy/device-local", bytes, [=] {
      const Move move({Kind::Device}, {Kind::Device}, bytes, 4);
      return held_moves({copy_lane(0, move)}, {move}, "copy within a device");
    });
    added.quick = bytes == 64 * kMiB;
    added.limit = memory_rate(0) / 2;  // each byte is read and written
  }
  add_queue_copies(cases);
}

void add_cache_states(Cases& cases) {
  for (std::int64_t bytes = 64 * kKiB; bytes <= 64 * kMiB; bytes *= 4) {
    for (const bool flushed : {false, true}) {
      Case& added = add(
          cases, std::string("gpu/cache/device-to-pinned/") + (flushed ? "flushed" : "in-cache"),
          bytes, [=] { return make_copy(bytes, flushed); });
      added.limit = host_link(0);
      added.quick = bytes == kMiB;
    }
  }
}

}  // namespace strake::measure::cuda
