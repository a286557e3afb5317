// Half round trip of 2D objects between the device memories of two ranks, turn by turn with each
// part of such a message: the kernel that packs into mapped memory, the copy to the host, the host
// message, the copy back, the kernel that unpacks.
#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "device_mpi/device.hpp"
#include "device_mpi/messages.hpp"
#include "device_mpi/shapes.hpp"
#include "mpi/environment.hpp"
#include "support/options.hpp"
#include "support/sampling.hpp"

namespace {

using namespace bench;

constexpr int kWarmUp = 20;
constexpr std::int64_t kSmall = 1 << 10;

enum Part { kPack, kDown, kUp, kUnpack, kWire, kWhole };
using Samples = std::vector<std::vector<double>>;

// Microseconds of each part, and half those of the round trips. The first four are rank 0's alone.
Samples measure(const Object2d& object, const Message& typed, const DeviceMemory& strided,
                Parts& parts, int turns, int rank) {
  const std::int64_t bytes = object.payload_bytes();
  const DeviceMemory pinned(Where::Pinned, bytes);
  const DeviceMemory dense(Where::Device, bytes);
  const Message wire = {pinned.data(), static_cast<int>(bytes), MPI_BYTE};
  const auto on_first = [rank](const auto& body) {
    return [&body, rank] {
      if (rank == 0) body();
    };
  };
  const auto pack = [&] { parts.pack(object, pinned, strided); };
  const auto down = [&] { parts.copy(pinned, dense, bytes); };
  const auto up = [&] { parts.copy(dense, pinned, bytes); };
  const auto unpack = [&] { parts.unpack(object, strided, pinned); };
  Samples samples = time_by_turns(
      {turns, kWarmUp}, on_first(pack), on_first(down), on_first(up), on_first(unpack),
      [&] { round_trip(wire, rank); }, [&] { round_trip(typed, rank); });
  for (std::size_t part = kPack; part <= kWhole; ++part)
    samples[part] = scaled(std::move(samples[part]), part < kWire ? 1e6 : 0.5e6);
  return samples;
}

// `small` holds the medians of the 1 KiB objects, by block length.
void print(const std::string& name, const Object2d& object, const Samples& samples, int devices,
           std::map<std::int64_t, double>& small, const Report& report) {
  const auto median = [&](Part part) { return summarize(samples[part]).median; };
  const Summary whole = summarize(samples[kWhole]);
  const std::int64_t bytes = object.payload_bytes();
  const double one_shot = std::max({median(kPack), median(kWire), median(kUnpack)});
  const double staged = std::max({median(kDown), median(kWire), median(kUp)});
  std::vector<Field> fields = {{"op", std::string("half_round_trip")},
                               {"payload_bytes", bytes},
                               {"block_bytes", object.block_bytes},
                               {"blocks", object.blocks},
                               {"devices", std::int64_t{std::min(devices, 2)}},
                               {"device", device_name()},
                               {"pack_us", median(kPack)},
                               {"copy_down_us", median(kDown)},
                               {"wire_us", median(kWire)},
                               {"copy_up_us", median(kUp)},
                               {"unpack_us", median(kUnpack)}};
  for (Field& field : method_fields()) fields.push_back(field);
  const std::string method = std::get<std::string>(method_fields().front().second);
  if (bytes == kSmall) {
    small[object.block_bytes] = whole.median;
    const double sum = median(kPack) + median(kWire) + median(kUnpack);
    fields.emplace_back("sum_us", sum);
    fields.emplace_back("of_sum", whole.median / sum);
  } else if (small.contains(object.block_bytes)) {
    // The slowest stage of the transport in force; where the choice is free, of the better one.
    const double slowest = method == "staged"     ? staged
                           : method == "one-shot" ? one_shot
                                                  : std::min(one_shot, staged);
    const double bound = 1.3 * slowest + small.at(object.block_bytes);
    fields.emplace_back("slowest_us", slowest);
    fields.emplace_back("bound_us", bound);
    fields.emplace_back("of_bound", whole.median / bound);
  }
  report.line(name, whole, "-us", fields);
}

struct Named {
  std::string name;
  Object2d object;
};

std::vector<Named> objects() {
  std::vector<Named> all;
  for (const auto& [size, bytes] : {std::pair{"1KiB", kSmall},
                                    {"1MiB", std::int64_t{1} << 20},
                                    {"4MiB", std::int64_t{4} << 20}}) {
    for (const std::int64_t block : {8, 64, 512}) {
      all.push_back({std::string(size) + "/" + std::to_string(block) + "B",
                     {block, std::max<std::int64_t>(2 * block, 64), bytes / block}});
    }
  }
  return all;
}

int turns_of(std::int64_t bytes, bool quick) {
  if (quick) return 20;
  return bytes == kSmall ? 1000 : bytes < (4 << 20) ? 200 : 100;
}

bool run(const Options& options, const Report& report, int rank, int devices) {
  Parts parts;
  std::map<std::int64_t, double> small;
  bool all_right = true;
  for (const auto& [name, object] : objects()) {
    if (!options.selects(name)) continue;
    const Case c = case_of(object);
    c.type.commit();
    DeviceMemory strided(Where::Device, c.buffer_bytes);
    const Message typed = {strided.data(), c.count, c.type.get()};
    if (!right(c, typed, strided, rank)) {
      if (rank == 0) std::fprintf(stderr, "%s: received bytes are wrong\n", name.c_str());
      all_right = false;
      continue;
    }
    const int turns = turns_of(object.payload_bytes(), options.quick);
    const Samples samples = measure(object, typed, strided, parts, turns, rank);
    if (rank == 0) print(name, object, samples, devices, small, report);
  }
  return all_right;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options = bench::parse_options(
      argc, argv, "Half round trip of 2D objects between the device memories of two ranks");
  if (options.list) {
    for (const auto& named : objects()) std::puts(named.name.c_str());
    return 0;
  }
  bench::require_device();
  const bench::Environment mpi(&argc, &argv);
  mpi.require_ranks(2);
  const int devices = bench::use_device(mpi.rank());
  const bench::Report report("device_mpi_pingpong", mpi.ranks(), mpi.library());
  return run(options, report, mpi.rank(), devices) ? 0 : 1;
}
