/// \file  Single words of local, mapped host and peer memory: how much is fetched for one, how long
/// one takes, atomics, and flags to and fro.
/// Sources: dissertation 7.2.1.
#include <fmt/format.h>

#include <atomic>

#include "measure/cuda/cases.hpp"
#include "measure/cuda/traffic.hpp"
#include "measure/layouts.hpp"
#include "strake/error.hpp"

namespace strake::measure::cuda {
namespace {

/// A memory as kernels of a device see it.
struct Target {
  std::string name;
  Where where;
  int from = 0;  ///< the device
};

/// A device's own memory, pinned host memory, and a peer's memory for each kind of link.
std::vector<Target> targets() {
  std::vector<Target> all = {{"local", {Kind::Device}}, {"host", {Kind::Pinned}}};
  for (const Pair& pair : full_pairs()) {
    all.push_back({"peer/" + pair.name(), {Kind::Device, pair.to}, pair.from});
  }
  return all;
}

SharedBuffer reachable_buffer(const Target& target, std::int64_t bytes) {
  if (target.where.kind == Kind::Device && target.where.device != target.from) {
    connect({target.from, target.where.device});
  }
  return make_buffer(target.where, bytes);
}

/// 4 bytes of each `pitch` in a buffer that no cache holds.
std::unique_ptr<Instance> make_fetch(const Target& target, std::int64_t bytes, std::int64_t pitch,
                                     bool write) {
  const int device = target.from;
  const SharedBuffer data = reachable_buffer(target, bytes);
  data->fill(15);
  constexpr unsigned kValue = 0x5ca1ab1e;
  Lane lane{device, [=](cudaStream_t stream) {
              check(write ? launch_write_words(data->data(), bytes, pitch, kValue, stream)
                          : launch_read_words(data->data(), bytes, pitch, nullptr, stream));
            }};
  return held({std::move(lane)}, [=] {
    check(cudaSetDevice(device));
    const Buffer sum({Kind::Device, device}, 4);
    check(cudaMemset(sum.data(), 0, 4));
    check(launch_read_words(data->data(), bytes, pitch, sum.as<unsigned>(), nullptr));
    unsigned found = 0;
    check(cudaMemcpy(&found, sum.data(), 4, cudaMemcpyDefault));
    unsigned wanted = 0;
    for (std::int64_t at = 0; at < bytes; at += pitch) {
      const std::uint64_t word = pattern_word(15, static_cast<std::uint64_t>(at / 8));
      wanted ^= write ? kValue : static_cast<unsigned>(word >> (at % 8 * 8));
    }
    if (found != wanted) {
      throw WrongData(
          fmt::format("words every {} bytes: sum {:x}, not {:x}", pitch, found, wanted));
    }
    // An even number of equal words has the sum 0, so the last is looked at too.
    unsigned last = 0;
    check(cudaMemcpy(&last, data->data() + (bytes / pitch - 1) * pitch, 4, cudaMemcpyDefault));
    if (write && last != kValue) throw WrongData(fmt::format("word {:x} was not written", last));
    if (write) data->fill(15);
  });
}

/// Dependent loads through a ring in random order, one 128-byte line each.
std::unique_ptr<Instance> make_chase(const Target& target) {
  const int device = target.from;
  constexpr std::int64_t kBytes = 2 * kMiB;  // one page of the device's: no misses of its TLB
  constexpr std::int64_t kLine = 128;
  constexpr std::int64_t kWordsInLine = kLine / 8;
  // A launch takes some 3 us: so many loads are done for each asked for that it does not show.
  constexpr std::int64_t kMore = 16;
  const std::vector<std::int64_t> order = shuffled_offsets(kBytes / kLine, kWordsInLine);
  const auto ring = std::make_shared<std::vector<std::uint64_t>>(kBytes / 8);
  for (std::size_t i = 0; i < order.size(); ++i) {
    (*ring)[static_cast<std::size_t>(order[i])] =
        static_cast<std::uint64_t>(order[(i + 1) % order.size()]);
  }
  const SharedBuffer data = reachable_buffer(target, kBytes);
  check(cudaMemcpy(data->data(), ring->data(), kBytes, cudaMemcpyDefault));
  const SharedBuffer at = make_buffer({Kind::Device, device}, 8);
  check(cudaMemset(at->data(), 0, 8));
  const auto steps = std::make_shared<std::int64_t>(0);
  const auto chase = [=](std::int64_t count, cudaStream_t stream) {
    check(launch_chase(data->as<const std::uint64_t>(), count, at->as<std::uint64_t>(), stream));
    *steps += count;
  };
  return timed_kernel(device, kMore, chase, [=] {
    std::uint64_t wanted = 0;
    for (std::int64_t i = 0; i < *steps % (kBytes / kLine); ++i) {
      wanted = (*ring)[static_cast<std::size_t>(wanted)];
    }
    std::uint64_t there = 0;
    check(cudaMemcpy(&there, at->data(), 8, cudaMemcpyDefault));
    if (there != wanted) {
      throw WrongData(fmt::format("after {} links at {}, not {}", *steps, there, wanted));
    }
  });
}

/// `threads` threads add to one counter, or each to its own line, `repeats` times an operation.
std::unique_ptr<Instance> make_atomics(const Target& target, int blocks, int threads, bool same) {
  const int device = target.from;
  constexpr int kPitch = 128;
  constexpr std::int64_t kRepeats = 64;  // so that the launch does not show
  const int all = blocks * threads;
  const int counters = same ? 1 : all;
  const SharedBuffer data = reachable_buffer(target, std::int64_t{counters} * kPitch);
  check(cudaSetDevice(target.where.device));
  check(cudaMemset(data->data(), 0, static_cast<std::size_t>(counters) * kPitch));
  check(cudaDeviceSynchronize());
  check(cudaSetDevice(device));
  const SharedBuffer sink = make_buffer({Kind::Device, device}, 4);
  const auto added = std::make_shared<std::uint64_t>(0);
  const auto add = [=](std::int64_t repeats, cudaStream_t stream) {
    check(launch_atomics(data->data(), counters, kPitch, repeats, blocks, threads,
                         sink->as<unsigned>(), stream));
    *added += static_cast<std::uint64_t>(repeats);
  };
  return timed_kernel(device, kRepeats, add, [=] {
    // 2^31 is where the kernel would begin to add 2, and every answer to differ.
    const auto wanted = static_cast<std::uint64_t>(same ? all : 1) * *added;
    std::vector<std::byte> seen(static_cast<std::size_t>(counters) * kPitch);
    check(cudaMemcpy(seen.data(), data->data(), seen.size(), cudaMemcpyDefault));
    for (int i = 0; i < counters; ++i) {
      unsigned value = 0;
      std::memcpy(&value, seen.data() + static_cast<std::size_t>(i) * kPitch, sizeof value);
      if (wanted < (1u << 31) && value != wanted) {
        throw WrongData(fmt::format("atomics: counter {} is {}, not {}", i, value, wanted));
      }
    }
  });
}

// Nothing answers later than this unless it never does.
constexpr std::uint64_t kFlagTimeoutNs = 5'000'000'000;

void check_flags(const Buffer& failed) {
  if (*failed.as<volatile unsigned>() != 0) throw WrongData("a flag did not arrive within 5 s");
}

/// A kernel and the CPU, each waiting for the other's flag: one operation is there and back.
std::unique_ptr<Instance> make_host_flags() {
  constexpr std::size_t kLine = 128;
  const SharedBuffer flags = make_buffer({Kind::Pinned}, 3 * kLine);
  const SharedBuffer failed = make_buffer({Kind::Pinned}, 4);
  *failed->as<unsigned>() = 0;
  const auto stream = std::make_shared<OwnedStream>(0);
  return timed(
      0,
      [=](std::int64_t iterations) {
        auto* const to_device = flags->as<volatile std::uint32_t>();
        auto* const to_host = reinterpret_cast<volatile std::uint32_t*>(flags->data() + kLine);
        *to_device = 0;
        *to_host = 0;
        const auto rounds = static_cast<std::uint32_t>(iterations) + 1;
        check(launch_flags({to_device, to_host, failed->as<unsigned>()}, 1, rounds, kFlagTimeoutNs,
                           stream->get()));
        // The first round, until the kernel runs, is not timed.
        Stopwatch watch;
        const Stopwatch started;
        for (std::uint32_t i = 0; i < rounds; ++i) {
          if (i == 1) watch = Stopwatch();
          *to_device = 2 * i + 1;
          while (*to_host != 2 * i + 2) {
            if (started.seconds() > 1e-9 * static_cast<double>(kFlagTimeoutNs)) {
              throw WrongData("the device did not answer a flag within 5 s");
            }
          }
        }
        const double seconds = watch.seconds();
        check(cudaStreamSynchronize(stream->get()));
        return seconds;
      },
      [=] { check_flags(*failed); });
}

/// Kernels on two devices; each waits for a flag in its own memory and writes the other's (push),
/// or reads the other's and writes its own (pull). One operation is there and back.
std::unique_ptr<Instance> make_peer_flags(const Pair& pair, bool push) {
  const SharedBuffer first = reachable_buffer({{}, {Kind::Device, pair.to}, pair.from}, 128);
  const SharedBuffer second = make_buffer({Kind::Device, pair.from}, 128);
  const SharedBuffer failed = make_buffer({Kind::Pinned}, 4);
  *failed->as<unsigned>() = 0;
  const auto near_stream = std::make_shared<OwnedStream>(pair.from);
  const auto far_stream = std::make_shared<OwnedStream>(pair.to);
  const auto gate = std::make_shared<Gate>(pair.from);
  const auto start = std::make_shared<OwnedEvent>(pair.from, true);
  const auto stop = std::make_shared<OwnedEvent>(pair.from, true);
  const auto run = [=](std::int64_t iterations) -> double {
    const auto rounds = static_cast<std::uint32_t>(iterations);
    const auto clear = [](const SharedBuffer& flag) {
      check(cudaSetDevice(flag->device()));
      check(cudaMemset(flag->data(), 0, 128));
      check(cudaDeviceSynchronize());
    };
    clear(first);
    clear(second);
    auto* const near = second->as<volatile std::uint32_t>();  // on pair.from
    auto* const far = first->as<volatile std::uint32_t>();    // on pair.to
    auto* const fault = failed->as<unsigned>();
    // The far kernel waits first and answers odd numbers with even ones; the near one begins.
    const Flags far_side = push ? Flags{far, near, fault} : Flags{near, far, fault};
    const Flags near_side = push ? Flags{near, far, fault} : Flags{far, near, fault};
    check(cudaSetDevice(pair.to));
    check(launch_flags(far_side, 1, rounds, kFlagTimeoutNs, far_stream->get()));
    check(cudaSetDevice(pair.from));
    gate->close(near_stream->get());
    check(cudaEventRecord(start->get(), near_stream->get()));
    check(launch_flags(near_side, 0, rounds, kFlagTimeoutNs, near_stream->get()));
    check(cudaEventRecord(stop->get(), near_stream->get()));
    gate->open();
    check(cudaEventSynchronize(stop->get()));
    check(cudaSetDevice(pair.to));
    check(cudaStreamSynchronize(far_stream->get()));
    check(cudaSetDevice(pair.from));
    float ms = 0;
    check(cudaEventElapsedTime(&ms, start->get(), stop->get()));
    return static_cast<double>(ms) * 1e-3;
  };
  return timed(pair.from, run, [=] { check_flags(*failed); });
}

void add_fetches(Cases& cases, const Target& target) {
  // Several times the device's last cache; mapped memory is in none, and slow.
  const bool host = target.where.kind == Kind::Pinned;
  const std::int64_t buffer = host ? 16 * kMiB : 256 * kMiB;
  const bool local = target.where.device == target.from;
  const double limit = host    ? host_link(0)
                       : local ? memory_rate(0)
                               : peer_link(target.from, target.where.device);
  for (const bool write : {false, true}) {
    for (const std::int64_t pitch : {4, 8, 16, 32, 64, 128, 256, 512}) {
      Case& added =
          add(cases, "gpu/fetch/" + target.name + (write ? "/write" : "/read"), buffer / pitch * 4,
              [=] { return make_fetch(target, buffer, pitch, write); });
      added.limit = limit;
      added.block = 4;
      added.pitch = pitch;
    }
  }
}

}  // namespace

void add_words(Cases& cases) {
  for (const Target& target : targets()) {
    add(cases, "gpu/latency/" + target.name, 0, [=] { return make_chase(target); }).quick = true;
    add_fetches(cases, target);
    const auto put = [&](const char* name, int blocks, int threads, bool same) {
      Case& added = add(cases, "gpu/atomic/" + target.name + name, 0,
                        [=] { return make_atomics(target, blocks, threads, same); });
      added.count = blocks * threads;
      added.quick = blocks == 1;
    };
    put("/latency", 1, 1, true);
    put("/same", 8, 128, true);
    put("/spread", 64, 128, false);
  }
  add(cases, "gpu/flag/host", 0, make_host_flags).quick = true;
  for (const Pair& pair : full_pairs()) {
    const std::string name = "gpu/flag/peer/" + pair.name();
    add(cases, name + "/push", 0, [=] { return make_peer_flags(pair, true); }).quick = true;
    add(cases, name + "/pull", 0, [=] { return make_peer_flags(pair, false); });
  }
}

}  // namespace strake::measure::cuda
