// MPI_Pack and MPI_Unpack of device memory from call to return, turn by turn with the launch of a
// kernel that does nothing but write a flag on which the host spins; and each of them alone.
#include <cstdio>

#include "device_mpi/device.hpp"
#include "device_mpi/shapes.hpp"
#include "mpi/check.hpp"
#include "mpi/environment.hpp"
#include "support/options.hpp"
#include "support/sampling.hpp"

namespace {

using namespace bench;

constexpr int kWarmUp = 20;

struct Buffers {
  Buffers(const Case& c, std::int64_t payload, Where dense_where)
      : strided(Where::Device, c.buffer_bytes),
        dense(dense_where, payload),
        payload_bytes(payload) {}
  DeviceMemory strided;
  DeviceMemory dense;
  std::int64_t payload_bytes;
};

int pack(const Case& c, const Buffers& b) {
  int position = 0;
  MPI_Pack(b.strided.data(), c.count, c.type.get(), b.dense.data(),
           static_cast<int>(b.payload_bytes), &position, MPI_COMM_WORLD);
  return position;
}

int unpack(const Case& c, const Buffers& b) {
  int position = 0;
  MPI_Unpack(b.dense.data(), static_cast<int>(b.payload_bytes), &position, b.strided.data(),
             c.count, c.type.get(), MPI_COMM_WORLD);
  return position;
}

// Both directions against the loop over the blocks, gaps and all.
bool right(const Case& c, Buffers& b) {
  std::vector<std::byte> strided(static_cast<std::size_t>(c.buffer_bytes));
  std::vector<std::byte> packed(static_cast<std::size_t>(b.payload_bytes));
  fill(strided.data(), c.buffer_bytes, 1);
  b.strided.write(strided.data());
  pack_by_loop(c, strided.data(), packed.data());
  if (pack(c, b) != b.payload_bytes || b.dense.read() != packed) return false;
  fill(strided.data(), c.buffer_bytes, 2);
  b.strided.write(strided.data());
  unpack_by_loop(c, packed.data(), strided.data());
  return unpack(c, b) == b.payload_bytes && b.strided.read() == strided;
}

void measure(const std::string& name, const Case& c, const Buffers& b, Parts& parts, int turns,
             const Report& report) {
  const DeviceMemory copied(Where::Device, b.payload_bytes);
  const DeviceMemory origin(Where::Device, b.payload_bytes);
  const Rounds rounds = {turns, kWarmUp};
  const auto nothing = [&] { parts.nothing(); };
  const auto packing = [&] { pack(c, b); };
  const auto unpacking = [&] { unpack(c, b); };
  // Both follow a kernel of another stream.
  const auto turn = time_by_turns(rounds, nothing, packing, nothing, unpacking);
  const auto us = [](const std::vector<double>& seconds) {
    return summarize(seconds).median * 1e6;
  };
  // Each after itself, the same stream all the time.
  const auto alone = [&](const auto& body) { return us(time_by_turns(rounds, body)[0]); };
  const double empty_alone = alone(nothing);
  const double pack_alone = alone(packing);
  const double unpack_alone = alone(unpacking);
  const double copy = alone([&] { parts.copy(copied, origin, b.payload_bytes); });
  // Times of such kernels when they are written for this one case.
  double hand_pack = 0;
  double hand_unpack = 0;
  if (static_cast<std::int64_t>(c.blocks.size()) == kSmallObject.blocks) {
    const auto by_hand = time_by_turns(
        rounds, nothing, [&] { parts.pack(kSmallObject, b.dense, b.strided); }, nothing,
        [&] { parts.unpack(kSmallObject, b.strided, b.dense); });
    hand_pack = us(by_hand[1]);
    hand_unpack = us(by_hand[3]);
  }
  const auto line = [&](const char* op, std::size_t at, double alone_us, double by_hand) {
    const Summary summary = summarize(to_microseconds(turn[at]));
    const double empty = us(turn[at - 1]);
    std::vector<Field> fields = {{"op", std::string(op)},
                                 {"payload_bytes", b.payload_bytes},
                                 {"blocks", static_cast<std::int64_t>(c.blocks.size())},
                                 {"empty_kernel_us", empty},
                                 {"of_empty_kernel", summary.median / empty},
                                 {"alone_us", alone_us},
                                 {"empty_kernel_alone_us", empty_alone},
                                 {"device_copy_us", copy},
                                 {"device", device_name()}};
    if (by_hand > 0) fields.emplace_back("by_hand_us", by_hand);
    for (Field& field : method_fields()) fields.push_back(field);
    report.line(name, summary, "-us", fields);
  };
  line("pack", 1, pack_alone, hand_pack);
  line("unpack", 3, unpack_alone, hand_unpack);
}

int run(const Options& options, const Report& report) {
  int wrong = 0;
  Parts parts;
  const int turns = options.quick ? 50 : 2000;
  for (const CaseSource& source : device_cases()) {
    for (const Where dense : {Where::Device, Where::Pinned}) {
      const std::string name = source.name + (dense == Where::Device ? "/device" : "/pinned");
      if (!options.selects(name)) continue;
      const Case c = source.make();
      c.type.commit();
      std::int64_t payload = 0;
      for (const Block& block : c.blocks) payload += block.bytes;
      Buffers buffers(c, payload, dense);
      if (right(c, buffers)) {
        measure(name, c, buffers, parts, turns, report);
      } else {
        std::fprintf(stderr, "%s: wrong bytes\n", name.c_str());
        ++wrong;
      }
    }
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options =
      bench::parse_options(argc, argv, "MPI_Pack and MPI_Unpack of device memory");
  if (options.list) {
    for (const auto& source : bench::device_cases()) std::puts(source.name.c_str());
    return 0;
  }
  bench::require_device();
  const bench::Environment mpi(&argc, &argv);
  mpi.require_ranks(1);
  bench::use_device(mpi.rank());
  return run(options, bench::Report("device_mpi_pack", mpi.ranks(), mpi.library()));
}
