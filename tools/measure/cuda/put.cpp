/// \file  Rounds of puts between devices (src/exchange/transport/put/device_put.hpp): all 26 pieces
/// of the ghost cells of a small grid, so that a round's fixed costs are nearly all that it takes.
/// From the host that starts it, after what a stream did, until the host knows that it has ended.
#include <fmt/format.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <new>
#include <thread>
#include <vector>

#include "measure/cuda/cases.hpp"
#include "measure/cuda/hold.hpp"
#include "measure/cuda/memory.hpp"
#include "strake/box.hpp"
#include "strake/error.hpp"

namespace strake::measure::cuda {
namespace {

// A grid of so many cells along each axis, with one layer of ghost cells on each side.
constexpr std::int64_t kCells = 8;
constexpr std::int64_t kSide = kCells + 2;
constexpr std::int64_t kAll = kSide * kSide * kSide;
constexpr std::int64_t kCellBytes = 8;

/// Cells that one neighbour sends, and their ghost cells: alike in both grids, which are periodic.
struct GhostRegion {
  Layout ghosts;
  Layout cells;
  std::int64_t packed_at = 0;
};

constexpr Box kOwned{{1, 1, 1}, {kCells + 1, kCells + 1, kCells + 1}};

/// Where a ghost cell's value comes from, along one axis.
std::int64_t wrapped(std::int64_t at) { return (at - 1 + kCells) % kCells + 1; }

std::vector<GhostRegion> ghost_regions() {
  const CellArray array = CellArray::of(grown(kOwned, 1), kCellBytes);
  std::vector<GhostRegion> made;
  std::int64_t packed = 0;
  for (const Direction towards : kDirections) {
    made.push_back({layout_of(ghosts(kOwned, towards, 1), array),
                    layout_of(border(kOwned, -towards, 1), array), packed});
    packed += made.back().cells.size_bytes();
  }
  return made;
}
constexpr std::int64_t kGhostBytes = (kAll - kCells * kCells * kCells) * kCellBytes;

/// How the bytes go from a device to the other one.
enum class By : std::uint8_t { Device, OneShot, Engine };
constexpr const char* kNames[] = {"device", "one-shot", "engine"};

constexpr double kLongestRound = 5;  // no round takes as long unless it never ends [s]

/// One device's end, for one thread at a time.
class End {
 public:
  End(int device, By by)
      : device_(device),
        host_waits_(by == By::OneShot),
        array_({Kind::Device, device}, kAll * kCellBytes),
        box_({host_waits_ ? Kind::Pinned : Kind::Device, device}, kBuffers + 2 * kBox),
        counts_({Kind::Device, device}, sizeof(PutCounts)),
        host_({Kind::Pinned, device}, kHost) {
    array_.fill(seed());
    check(cudaMemset(box_.data(), 0, static_cast<std::size_t>(box_.bytes())));
    check(cudaMemset(counts_.data(), 0, sizeof(PutCounts)));
    check(cudaMemset(host_.data(), 0, kHost));
    check(cudaDeviceSynchronize());
    progress_ = new (host_.data() + kLine) PutProgress;
    DeviceBackend& strake = strake_backend(device);
    work_ = strake.make_stream(device);
    stream_ = strake.make_stream(device, DeviceBackend::StreamOf::Library);
    event_ = strake.make_event(device);
  }
  ~End() {
    give_up();
    (void)cudaSetDevice(device_);
    (void)cudaDeviceSynchronize();
  }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  /// Rounds of this end alone.
  void compile_own() {
    std::vector<CopyBatch::Copy> own;
    for (const GhostRegion& region : ghost_regions())
      own.push_back({region.ghosts, 0, region.cells, 0});
    from_ = this;
    PutCopies copies;
    copies.own = own;
    compile(copies, {});
  }
  /// Rounds with another end, whose rounds are with this one: each has the other's cells.
  void compile_with(End& other, By by) {
    from_ = &other;
    // Bytes that the host has to see are put into one's own buffer, and taken from the other's.
    const End& to = host_waits_ ? *this : other;
    const End& from = host_waits_ ? other : *this;
    const std::array<PutCopies::Buffer, 2> buffers{to.buffer(), from.buffer()};
    std::vector<CopyBatch::Copy> put, take;
    for (const GhostRegion& region : ghost_regions()) {
      const Layout packed = Layout::dense(region.cells.size_bytes(), region.packed_at);
      put.push_back({packed, 1, region.cells, 0});
      take.push_back({region.ghosts, 0, packed, 2});
    }
    PutCopies copies;
    copies.buffers = buffers;
    (by == By::Engine ? copies.engine_put : copies.put) = put;
    (by == By::Engine ? copies.engine_take : copies.take) = take;
    PutFlags flags;
    flags.there_on_host = other.host_flag();
    flags.there = host_waits_ ? flags.there_on_host : other.box_.as<std::uint64_t>();
    flags.here = host_waits_ ? host_flag() : box_.as<std::uint64_t>();
    compile(copies, {&flags, 1});
  }

  void round() {
    const Stopwatch since;
    work_->record(*event_);
    stream_->wait(*event_);
    std::byte* const array = array_.data();
    ++round_;
    puts_->put(*stream_, {&array, 1}, round_, round_);
    if (host_waits_) {
      await(since, [&] {
        return progress_->put_ticket == round_ &&
               __atomic_load_n(host_flag(), __ATOMIC_ACQUIRE) >= round_;
      });
    }
    puts_->take(*stream_, {&array, 1}, round_, round_,
                host_waits_ ? PutRounds::Await::No : PutRounds::Await::Soon);
    await(since, [&] { return progress_->taken_ticket == round_; });
  }
  /// Ends this end's waits for the other end, here and on the device.
  void give_up() noexcept { progress_->given_up = 1; }

  void verify() {
    std::vector<std::uint64_t> words(static_cast<std::size_t>(kAll));
    check(cudaSetDevice(device_));
    check(
        cudaMemcpy(words.data(), array_.data(), words.size() * sizeof words[0], cudaMemcpyDefault));
    for (std::int64_t at = 0; at < kAll; ++at) {
      const std::int64_t x = at % kSide, y = at / kSide % kSide, z = at / kSide / kSide;
      const std::int64_t source = wrapped(x) + kSide * (wrapped(y) + kSide * wrapped(z));
      const End& of = source == at ? *this : *from_;
      const std::uint64_t wanted = pattern_word(of.seed(), static_cast<std::uint64_t>(source));
      const std::uint64_t found = words[static_cast<std::size_t>(at)];
      if (found != wanted)
        throw WrongData(fmt::format("a round of puts: word {} on device {} is {:x}, not {:x}", at,
                                    device_, found, wanted));
    }
    array_.fill(seed());
  }

 private:
  static constexpr std::int64_t kLine = 128;
  static constexpr std::int64_t kHost = 2 * kLine;  ///< a flag, and the progress
  static constexpr std::int64_t kBuffers = 256;     ///< a flag before the buffers
  static constexpr std::int64_t kBox = (kGhostBytes + 255) / 256 * 256;

  [[nodiscard]] std::uint64_t seed() const { return kSeed + static_cast<std::uint64_t>(device_); }
  [[nodiscard]] PutCopies::Buffer buffer() const {
    return {box_.data() + kBuffers, box_.data() + kBuffers + kBox};
  }
  [[nodiscard]] std::uint64_t* host_flag() const { return host_.as<std::uint64_t>(); }
  void compile(PutCopies copies, std::span<const PutFlags> flags) {
    check(cudaSetDevice(device_));
    const Place place{MemoryKind::Device, device_};
    copies.arrays = {&place, 1};
    puts_ = strake_copier(device_).compile_put(device_, copies,
                                               {counts_.as<PutCounts>(), progress_, flags});
  }
  template <typename Done>
  void await(const Stopwatch& since, const Done& done) {
    constexpr unsigned kLooks = 1 << 12;
    for (unsigned looks = 1; !done(); ++looks) {
      if (looks % kLooks != 0) continue;
      if (progress_->given_up != 0 || since.seconds() > kLongestRound)
        throw WrongData(fmt::format("a round of puts did not end on device {}", device_));
    }
    std::atomic_thread_fence(std::memory_order_acquire);
  }

  int device_;
  bool host_waits_;
  Buffer array_;
  Buffer box_;
  Buffer counts_;
  Buffer host_;
  PutProgress* progress_ = nullptr;
  std::unique_ptr<DeviceStream> work_;  ///< the program's, which a round follows
  std::unique_ptr<DeviceStream> stream_;
  std::unique_ptr<DeviceEvent> event_;
  const End* from_ = nullptr;
  std::unique_ptr<PutRounds> puts_;
  std::uint64_t round_ = 0;
};

std::unique_ptr<Instance> make_own() {
  const auto end = std::make_shared<End>(0, By::Device);
  end->compile_own();
  return wall_timed(
      0, [end] { end->round(); }, [end] { end->verify(); });
}

/// Takes the calling thread off the core that the measuring thread is bound to; it inherited that.
void leave(int core) noexcept {
  cpu_set_t others;
  std::memset(&others, 0xff, sizeof others);
  CPU_CLR(core, &others);
  // The call fails where there is one CPU, which both threads then share.
  (void)sched_setaffinity(0, sizeof others, &others);
}

/// A thread for each device, as ranks are. They leave each round together.
std::unique_ptr<Instance> make_between(const Pair& pair, By by) {
  if (by != By::OneShot) connect(pair);
  const auto near = std::make_shared<End>(pair.from, by);
  const auto far = std::make_shared<End>(pair.to, by);
  near->compile_with(*far, by);
  far->compile_with(*near, by);
  const auto run = [=](std::int64_t iterations) {
    std::exception_ptr far_fault;
    std::thread thread([&, core = sched_getcpu()] {
      try {
        leave(core);
        check(cudaSetDevice(pair.to));
        for (std::int64_t i = 0; i <= iterations; ++i) far->round();
      } catch (...) {
        far_fault = std::current_exception();
        near->give_up();
      }
    });
    double seconds = 0;
    std::exception_ptr near_fault;
    try {
      near->round();  // begins when the other thread does
      seconds = time_calls(iterations, [&] { near->round(); });
    } catch (...) {
      near_fault = std::current_exception();
      far->give_up();
    }
    thread.join();
    for (const std::exception_ptr& fault : {far_fault, near_fault})
      if (fault) std::rethrow_exception(fault);
    return seconds;
  };
  return timed(pair.from, run, [=] {
    near->verify();
    far->verify();
  });
}

}  // namespace

void add_puts(Cases& cases) {
  add(cases, "gpu/mail/own", 0, make_own).quick = true;
  for (const Pair& pair : full_pairs()) {
    for (const By by : {By::Device, By::OneShot, By::Engine}) {
      add(cases, fmt::format("gpu/mail/{}/{}", pair.name(), kNames[static_cast<int>(by)]), 0, [=] {
        return make_between(pair, by);
      }).quick = true;
    }
  }
}

}  // namespace strake::measure::cuda
