/// \file  Device benchmarks: strided pack and unpack, faces and lists, latency, paths to host
/// memory, batches. JSON lines.
#include <cstdio>

#include "device/harness.hpp"

int main(int argc, char** argv) {
  const bench::Options options = bench::parse_options(
      argc, argv,
      "Device benchmarks (cases: strided, shapes, latency, paths, batch). Prints JSON lines.");
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "no CUDA device: nothing is measured\n");
    return 77;  // what CTest counts as skipped
  }
  const bench::Report report("device", 1, "none");
  bench::Harness harness(options, report);
  bench::run_latency(harness);
  bench::run_shapes(harness);
  bench::run_strided(harness);
  bench::run_paths(harness);
  bench::run_batch(harness);
  return 0;
}
