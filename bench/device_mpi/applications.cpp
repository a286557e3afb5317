// Half round trip of the datatypes of applications between the device memories of two ranks, the
// same type on both sides.
#include <cstdio>

#include "device_mpi/device.hpp"
#include "device_mpi/messages.hpp"
#include "mpi/environment.hpp"
#include "support/options.hpp"
#include "support/sampling.hpp"
#include "support/traffic.hpp"

namespace {

using namespace bench;

constexpr int kWarmUp = 20;
constexpr int kSamples = 200;

bool run_case(const CaseSource& source, const Options& options, const Report& report, int rank) {
  const Case c = source.make();
  c.type.commit();
  const Traffic traffic = traffic_of(c.blocks, c.buffer_bytes);
  DeviceMemory buffer(Where::Device, c.buffer_bytes);
  const Message message = {buffer.data(), c.count, c.type.get()};
  if (!right(c, message, buffer, rank)) {
    if (rank == 0) std::fprintf(stderr, "%s: received bytes are wrong\n", source.name.c_str());
    return false;
  }
  const int samples = options.quick ? 5 : kSamples;
  const auto seconds = time_by_turns({samples, kWarmUp}, [&] { round_trip(message, rank); })[0];
  if (rank == 0) {
    std::vector<Field> fields = {{"op", std::string("half_round_trip")},
                                 {"payload_bytes", traffic.payload_bytes},
                                 {"blocks", static_cast<std::int64_t>(c.blocks.size())},
                                 {"device", device_name()}};
    for (Field& field : method_fields()) fields.push_back(field);
    report.line(source.name, summarize(scaled(seconds, 0.5e6)), "-us", fields);
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options = bench::parse_options(
      argc, argv,
      "Half round trip of the datatypes of applications between the device memories of two ranks");
  const bench::CaseList cases = bench::all_cases(options.quick);
  if (options.list) {
    for (const auto& source : cases) std::puts(source.name.c_str());
    return 0;
  }
  bench::require_device();
  const bench::Environment mpi(&argc, &argv);
  mpi.require_ranks(2);
  (void)bench::use_device(mpi.rank());
  const bench::Report report("device_mpi_applications", mpi.ranks(), mpi.library());
  bool all_right = true;
  for (const auto& source : cases) {
    if (options.selects(source.name)) all_right &= run_case(source, options, report, mpi.rank());
  }
  return all_right ? 0 : 1;
}
