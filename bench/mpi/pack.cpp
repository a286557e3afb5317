// MPI_Pack and MPI_Unpack of the datatypes of applications, in turns with the functions beneath an
// interposer (PMPI_Pack, PMPI_Unpack) on the same memory, since where a process's pages lie changes
// the time of what leaves the L2 cache up to two-fold. Each is beside its bound, the time that a
// memcpy of the same footprint would need for the cache lines that must move, and beside the time
// that touching these lines in the type's order takes.
#include <cstdio>

#include "mpi/case.hpp"
#include "mpi/check.hpp"
#include "mpi/environment.hpp"
#include "mpi/paired_sampling.hpp"
#include "support/buffer.hpp"
#include "support/options.hpp"
#include "support/report.hpp"

namespace {

using namespace bench;

// The library's own MPI_Pack of nothing: what the call itself costs, whatever it moves.
double empty_call_us(const Options& options) {
  std::byte none{};
  const auto call = [&none] {
    int position = 0;
    PMPI_Pack(&none, 0, MPI_BYTE, &none, 1, &position, MPI_COMM_WORLD);
  };
  return summarize(to_microseconds(sample(options.budget, call))).median;
}

void measure(const std::string& name, const Case& c, double call_us, const Options& options,
             const Report& report) {
  const Traffic traffic = traffic_of(c.blocks, c.buffer_bytes);
  int size = 0;
  MPI_Pack_size(c.count, c.type.get(), MPI_COMM_WORLD, &size);
  const Buffer buffer(c.buffer_bytes);
  const Buffer packed(size);
  fill(buffer.data(), c.buffer_bytes, 1);
  fill(packed.data(), size, 2);
  const auto pack = [&](decltype(&MPI_Pack) by) {
    int position = 0;
    by(buffer.data(), c.count, c.type.get(), packed.data(), size, &position, MPI_COMM_WORLD);
  };
  const auto unpack = [&](decltype(&MPI_Unpack) by) {
    int position = 0;
    by(packed.data(), size, &position, buffer.data(), c.count, c.type.get(), MPI_COMM_WORLD);
  };
  const auto packs = sample_both(
      options.budget, [&] { pack(MPI_Pack); }, [&] { pack(PMPI_Pack); });
  const auto unpacks = sample_both(
      options.budget, [&] { unpack(MPI_Unpack); }, [&] { unpack(PMPI_Unpack); });

  const auto footprint = traffic.footprint_bytes();
  const double memcpy_us = 1e6 * memcpy_seconds(footprint, options.budget);
  const auto line = [&](const std::string& op, const auto& samples, std::int64_t moved) {
    const bool writes = op == "unpack";
    const double touch_us = 1e6 * touch_seconds(c.blocks, buffer.data(), writes, options.budget);
    // memcpy moves footprint bytes (half read, half written) in memcpy_us.
    const double bound = memcpy_us * static_cast<double>(moved) / static_cast<double>(footprint);
    report.line(name, summarize(to_microseconds(samples[0])), "-us",
                {{"op", op},
                 {"beneath", summarize(to_microseconds(samples[1])).median},
                 {"payload_bytes", traffic.payload_bytes},
                 {"blocks", static_cast<std::int64_t>(c.blocks.size())},
                 {"lines", traffic.lines},
                 {"full_lines", traffic.full_lines},
                 {"footprint_bytes", footprint},
                 {"moved_bytes", moved},
                 {"memcpy_us", memcpy_us},
                 {"bound_us", bound},
                 {"touch_us", touch_us},
                 {"call_us", call_us}});
  };
  line("pack", packs, traffic.pack_bytes());
  line("unpack", unpacks, traffic.unpack_bytes());
}

int run(const Options& options, const Report& report) {
  int wrong = 0;
  const double call_us = empty_call_us(options);
  for (const CaseSource& source : all_cases(options.quick)) {
    if (!options.selects(source.name)) continue;
    const Case c = source.make();
    c.type.commit();
    const std::string error = check_pack(c);
    if (error.empty()) {
      measure(source.name, c, call_us, options, report);
    } else {
      std::fprintf(stderr, "%s: %s\n", source.name.c_str(), error.c_str());
      ++wrong;
    }
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options =
      bench::parse_options(argc, argv, "MPI_Pack and MPI_Unpack of the datatypes of applications");
  if (options.list) {
    for (const auto& source : bench::all_cases(options.quick)) std::puts(source.name.c_str());
    return 0;
  }
  const bench::Environment mpi(&argc, &argv);
  mpi.require_ranks(1);
  return run(options, bench::Report("pack", mpi.ranks(), mpi.library()));
}
