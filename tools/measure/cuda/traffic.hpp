/// \file  Benchmarks of kernels that load and store memory beyond their device: a peer's, or mapped
/// host memory.
#pragma once

#include <cstdint>
#include <memory>

#include "measure/case.hpp"
#include "measure/cuda/move.hpp"

namespace strake::measure::cuda {

/// \{ Kernels of `device`; `remote` is readable and writable for them. Bytes: a multiple of 16.
std::unique_ptr<Instance> make_read(int device, Where remote, std::int64_t bytes);
std::unique_ptr<Instance> make_write(int device, Where remote, std::int64_t bytes);
/// One kernel of `device` reads or writes `remote`, and at the same time one of `other_device`, of
/// the same kind, does so with `other_remote`.
std::unique_ptr<Instance> make_both_read(int device, Where remote, int other_device,
                                         Where other_remote, std::int64_t bytes);
std::unique_ptr<Instance> make_both_write(int device, Where remote, int other_device,
                                          Where other_remote, std::int64_t bytes);
/// Reads of `remote` and writes of more of it at once.
std::unique_ptr<Instance> make_read_and_write(int device, Where remote, std::int64_t bytes);
/// Copies from `from` to `to`, one of which is on `device`.
std::unique_ptr<Instance> make_kernel_copy(int device, Where to, Where from, std::int64_t bytes);
/// The same as a lane: one of `parts` kernels that share the device.
Lane kernel_lane(int device, const Move& move, int parts);
/// \}

}  // namespace strake::measure::cuda
