/// \file  Managed memory, migrated page by page on demand or all at once by prefetch.
#include <fmt/format.h>

#include "measure/cuda/cases.hpp"
#include "measure/cuda/traffic.hpp"
#include "strake/error.hpp"

namespace strake::measure::cuda {
namespace {

// The pages that are migrated are this or larger.
constexpr std::int64_t kPage = 4096;
constexpr int kHost = -1;

void prefetch(const Buffer& data, int to, cudaStream_t stream) {
  const auto bytes = static_cast<std::size_t>(data.bytes());
#if CUDART_VERSION >= 13000
  cudaMemLocation location{};
  location.type = to == kHost ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  location.id = to == kHost ? 0 : to;
  check(cudaMemPrefetchAsync(data.data(), bytes, location, 0, stream));
#else
  check(cudaMemPrefetchAsync(data.data(), bytes, to == kHost ? cudaCpuDeviceId : to, stream));
#endif
}

/// A managed buffer that goes from one place to another, again and again.
struct Trip {
  int from;
  int to;
  SharedBuffer data;
  /// How often each page was touched since it was filled.
  std::shared_ptr<std::uint32_t> touches = std::make_shared<std::uint32_t>(0);

  Trip(int from_place, int to_place, std::int64_t bytes) : from(from_place), to(to_place) {
    for (const int place : {from, to}) {
      if (place == kHost) continue;
      if (attribute(cudaDevAttrConcurrentManagedAccess, place) == 0) {
        throw Unsupported(fmt::format("device {} has no managed memory on demand", place));
      }
      need_free(place, bytes);
    }
    data = make_buffer({Kind::Managed, device()}, bytes);
    data->fill(kSeed);
  }
  /// The device that takes part, the one at the end if there are two.
  [[nodiscard]] int device() const { return to == kHost ? from : to; }
  /// All pages are at the start again.
  void reset() const {
    check(cudaSetDevice(device()));
    prefetch(*data, from, nullptr);
    check(cudaDeviceSynchronize());
  }
  void touch_on_device(cudaStream_t stream) const {
    check(launch_touch(data->data(), data->bytes(), kPage, stream));
    ++*touches;
  }
  void touch_on_host() const {
    for (std::int64_t at = 0; at < data->bytes(); at += kPage) {
      auto* const word = reinterpret_cast<volatile std::uint32_t*>(data->data() + at);
      *word = *word + 1;
    }
    ++*touches;
  }
  void verify() const {
    check(cudaSetDevice(device()));
    check(cudaDeviceSynchronize());
    const auto* words = data->as<const std::uint64_t>();
    for (std::int64_t i = 0; i < data->bytes() / 8; ++i) {
      std::uint64_t wanted = pattern_word(kSeed, static_cast<std::uint64_t>(i));
      if (i % (kPage / 8) == 0) {
        wanted = (wanted & ~0xffffffffull) | static_cast<std::uint32_t>(wanted + *touches);
      }
      if (words[i] != wanted) {
        throw WrongData(fmt::format("managed memory: word {} of {} is {:x}, not {:x}", i,
                                    data->bytes() / 8, words[i], wanted));
      }
    }
  }
};

Lane demand_lane(const Trip& trip) {
  return {trip.to, [trip](cudaStream_t stream) { trip.touch_on_device(stream); }};
}
Lane prefetch_lane(const Trip& trip) {
  return {trip.device(), [trip](cudaStream_t stream) { prefetch(*trip.data, trip.to, stream); }};
}

std::unique_ptr<Instance> held_trips(std::vector<Lane> lanes, const std::vector<Trip>& trips) {
  HeldOptions options;
  options.before = [trips] {
    for (const Trip& trip : trips) trip.reset();
  };
  return held(
      std::move(lanes),
      [trips] {
        for (const Trip& trip : trips) trip.verify();
      },
      std::move(options));
}

/// `Lane lane(trip)` does the way of one trip.
std::unique_ptr<Instance> make_trips(const std::vector<Pair>& ways, std::int64_t bytes,
                                     Lane (*lane)(const Trip&)) {
  std::vector<Trip> trips;
  std::vector<Lane> lanes;
  for (const Pair& way : ways) {
    trips.emplace_back(way.from, way.to, bytes);
    lanes.push_back(lane(trips.back()));
  }
  return held_trips(std::move(lanes), trips);
}

/// The CPU touches what is on the device: a synchronous operation.
std::unique_ptr<Instance> make_demand_to_host(std::int64_t bytes) {
  const Trip trip(0, kHost, bytes);
  return timed_each(
      0,
      [trip] {
        trip.reset();
        return time_calls(1, [&] { trip.touch_on_host(); });
      },
      [trip] { trip.verify(); });
}

/// The CPU touches the one buffer while a kernel touches the other. The kernel is held until the
/// CPU begins; CPU and device have no clock in common but the wall's.
std::unique_ptr<Instance> make_demand_both(std::int64_t bytes) {
  const Trip down(0, kHost, bytes);
  const Trip up(kHost, 0, bytes);
  const auto gate = std::make_shared<Gate>(0);
  const auto stream = std::make_shared<OwnedStream>(0);
  const auto start = std::make_shared<OwnedEvent>(0, false);
  const auto once = [=]() -> double {
    for (;;) {
      down.reset();
      up.reset();
      gate->close(stream->get());
      check(cudaEventRecord(start->get(), stream->get()));
      up.touch_on_device(stream->get());
      const bool was_held = cudaEventQuery(start->get()) == cudaErrorNotReady;
      (void)cudaGetLastError();
      const Stopwatch watch;
      gate->open();
      down.touch_on_host();
      check(cudaStreamSynchronize(stream->get()));
      if (was_held) return watch.seconds();
      gate->lengthen();
    }
  };
  return timed_each(0, once, [down, up] {
    down.verify();
    up.verify();
  });
}

}  // namespace

void add_managed(Cases& cases) {
  const double host_limit = host_link(0);
  const Pair up{kHost, 0};
  const Pair down{0, kHost};
  for (const std::int64_t bytes : {64 * kKiB, kMiB, 16 * kMiB, 256 * kMiB}) {
    const auto put = [&](const std::string& name, int ways, double limit, MakeInstance make) {
      Case& added = add(cases, "gpu/managed/" + name, ways * bytes, std::move(make));
      added.limit = ways * limit;
      added.quick = bytes == 16 * kMiB && ways == 1;
    };
    put("demand/host-to-device", 1, host_limit,
        [=] { return make_trips({up}, bytes, demand_lane); });
    put("demand/device-to-host", 1, host_limit, [=] { return make_demand_to_host(bytes); });
    put("demand/host-device/both-ways", 2, host_limit, [=] { return make_demand_both(bytes); });
    put("prefetch/host-to-device", 1, host_limit,
        [=] { return make_trips({up}, bytes, prefetch_lane); });
    put("prefetch/device-to-host", 1, host_limit,
        [=] { return make_trips({down}, bytes, prefetch_lane); });
    put("prefetch/host-device/both-ways", 2, host_limit, [=] {
      return make_trips({up, down}, bytes, prefetch_lane);
    });
    for (const Pair& pair : full_pairs()) {
      const Pair back{pair.to, pair.from};
      const double limit = peer_link(pair.from, pair.to);
      put("demand/" + pair.name(), 1, limit,
          [=] { return make_trips({pair}, bytes, demand_lane); });
      put("demand/" + pair.name() + "/both-ways", 2, limit, [=] {
        return make_trips({pair, back}, bytes, demand_lane);
      });
      put("prefetch/" + pair.name(), 1, limit,
          [=] { return make_trips({pair}, bytes, prefetch_lane); });
      put("prefetch/" + pair.name() + "/both-ways", 2, limit, [=] {
        return make_trips({pair, back}, bytes, prefetch_lane);
      });
    }
  }
}

}  // namespace strake::measure::cuda
