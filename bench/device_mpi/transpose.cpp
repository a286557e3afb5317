// Redistributions of an array of doubles in device memory over all ranks, a rank a device where
// there are enough. Every element is checked before and after the timing.
#include <algorithm>
#include <memory>

#include "device_mpi/device.hpp"
#include "mpi/environment.hpp"
#include "mpi/redistribution.hpp"

namespace {

using namespace bench;

ArrayMemory device_arrays() {
  return {[](std::size_t doubles) {
            const auto bytes = static_cast<std::int64_t>(doubles * sizeof(double));
            const auto memory = std::make_shared<DeviceMemory>(Where::Device, bytes);
            return ArrayMemory::Array(memory, memory->doubles());
          },
          [](double* to, const double* from, std::size_t doubles) {
            check(cudaMemcpy(to, from, doubles * sizeof(double), cudaMemcpyDefault));
          }};
}

}  // namespace

int main(int argc, char** argv) {
  // With two ranks: 256 KiB to the other one, and 4 to 256 MiB.
  const bench::RedistributionOptions options = bench::parse_redistributions(
      argc, argv, "Redistributions of an array in device memory over any number of ranks",
      {{"256,1,1,transpose2", "1024,1,1,transpose2", "2048,1,1,transpose2", "4096,1,1,transpose2",
        "8192,1,1,transpose2"},
       {"256,1,1,transpose2", "256,1,1,alltoallv"}});
  if (options.options.list) {
    bench::list_redistributions(options);
    return 0;
  }
  bench::require_device();
  const bench::Environment mpi(&argc, &argv);
  const int devices = bench::use_device(mpi.rank());
  std::vector<bench::Field> fields = bench::method_fields();
  fields.emplace_back("devices", std::int64_t{std::min(devices, mpi.ranks())});
  fields.emplace_back("device", bench::device_name());
  const bench::Report report("device_mpi_transpose", mpi.ranks(), mpi.library());
  return bench::measure_redistributions(options, device_arrays(), mpi, report, fields) ? 0 : 1;
}
