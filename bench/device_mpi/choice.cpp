// Half round trip of random strided messages of device memory: what the choice of a method is
// judged by, run once with each method forced and once without (bench/run-choice).
#include <memory>

#include "device_mpi/device.hpp"
#include "mpi/environment.hpp"
#include "mpi/random_transfers.hpp"

int main(int argc, char** argv) {
  const bench::Options options =
      bench::parse_options(argc, argv, "Half round trip of random strided messages, device memory");
  bench::require_device();
  const bench::Environment mpi(&argc, &argv);
  mpi.require_ranks(2);
  bench::use_device(mpi.rank());
  std::unique_ptr<bench::DeviceMemory> buffer;
  const auto copy = [](std::byte* to, const std::byte* from, std::int64_t bytes) {
    bench::check(cudaMemcpy(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault));
  };
  const bench::TransferMemory memory{[&](std::int64_t bytes) {
                                       buffer = std::make_unique<bench::DeviceMemory>(
                                           bench::Where::Device, bytes);
                                       return buffer->data();
                                     },
                                     copy, copy, false};
  const bench::Report report("device_choice", mpi.ranks(), mpi.library());
  return bench::run_transfers(memory, options, report, bench::method_fields(), mpi.rank()) ? 0 : 1;
}
