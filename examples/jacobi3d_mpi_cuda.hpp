/// \file  A grid for jacobi3d_cuda in plain MPI that knows nothing of devices: kernels pack the
/// faces, and messages go from and to host memory.
#pragma once

#include <cuda_runtime_api.h>
#include <mpi.h>

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "jacobi3d_cuda.hpp"
#include "jacobi3d_mpi.hpp"
#include "strake/stream.hpp"

/// A grid in the memory of the current device.
class DeviceMpiGrid : public MpiBox {
 public:
  DeviceMpiGrid(MPI_Comm comm, const strake::Index3& extent) : MpiBox(comm, extent) {
    std::int64_t in_faces = 0;
    for (const Face& face : faces()) {
      sent_.push_back(face.sent);
      ghosts_.push_back(face.ghosts);
      in_faces += face.sent.size();
    }
    packed_bytes_ = bytes_of(in_faces);
    for (double*& buffer : buffers_) buffer = allocated(cudaMalloc, stored().size());
    for (Packed* const packed : {&out_, &in_}) {
      packed->on_device = allocated(cudaMalloc, in_faces);
      packed->on_host = allocated(cudaMallocHost, in_faces);
    }
    for (double* const buffer : buffers_)
      check(cudaMemset(buffer, 0, bytes_of(stored().size())), "cudaMemset");
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    for (cudaEvent_t* const event : {&before_, &after_})
      check(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "cudaEventCreate");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  ~DeviceMpiGrid() {
    (void)cudaDeviceSynchronize();
    for (double* const buffer : buffers_) (void)cudaFree(buffer);
    for (const Packed& packed : {out_, in_}) {
      (void)cudaFree(packed.on_device);
      (void)cudaFreeHost(packed.on_host);
    }
    (void)cudaEventDestroy(before_);
    (void)cudaEventDestroy(after_);
    (void)cudaStreamDestroy(stream_);
  }

  [[nodiscard]] strake::View<double> view(int /*subgrid*/ = 0) const {
    return view_of(buffers_[0]);
  }
  [[nodiscard]] strake::View<double> next(int /*subgrid*/ = 0) const {
    return view_of(buffers_[1]);
  }
  void swap() { std::swap(buffers_[0], buffers_[1]); }

  struct Ghosts {
    DeviceMpiGrid* grid;
    void wait(std::span<const strake::Stream> before) { grid->finish(before.front().native()); }
  };
  /// After the work in `after`, a stream, faces are packed, while it gets more.
  [[nodiscard]] Ghosts exchange(std::span<const strake::Stream> after) {
    check(cudaEventRecord(before_, after.front().native()), "cudaEventRecord");
    check(cudaStreamWaitEvent(stream_, before_, 0), "cudaStreamWaitEvent");
    pack(view(), sent_, out_.on_device, stream_);
    check(cudaMemcpyAsync(out_.on_host, out_.on_device, packed_bytes_, cudaMemcpyDeviceToHost,
                          stream_),
          "cudaMemcpyAsync");
    return {this};
  }

 private:
  struct Packed {
    double* on_device = nullptr;
    double* on_host = nullptr;
  };
  static std::size_t bytes_of(std::int64_t cells) {
    return static_cast<std::size_t>(cells) * sizeof(double);
  }
  static double* allocated(cudaError_t (*allocate)(void**, std::size_t), std::int64_t cells) {
    void* address = nullptr;
    check(allocate(&address, bytes_of(cells)), "cudaMalloc or cudaMallocHost");
    return static_cast<double*>(address);
  }
  /// Later work of `before` comes after the ghost cells. The host waits for the messages.
  void finish(cudaStream_t before) {
    // The faces are packed, and `in_` has been copied to the device in the step before.
    check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    std::int64_t at = 0;
    for (std::size_t f = 0; f < faces().size(); ++f) {
      const Face& face = faces()[f];
      const auto cells = static_cast<int>(face.sent.size());
      MPI_Irecv(in_.on_host + at, cells, MPI_DOUBLE, face.from, face.tag, cart(),
                &requests_[2 * f]);
      MPI_Isend(out_.on_host + at, cells, MPI_DOUBLE, face.to, face.tag, cart(),
                &requests_[2 * f + 1]);
      at += cells;
    }
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    check(
        cudaMemcpyAsync(in_.on_device, in_.on_host, packed_bytes_, cudaMemcpyHostToDevice, stream_),
        "cudaMemcpyAsync");
    unpack(view(), ghosts_, in_.on_device, stream_);
    check(cudaEventRecord(after_, stream_), "cudaEventRecord");
    check(cudaStreamWaitEvent(before, after_, 0), "cudaStreamWaitEvent");
  }

  std::vector<strake::Box> sent_, ghosts_;
  std::size_t packed_bytes_ = 0;
  std::array<double*, 2> buffers_{};
  Packed out_, in_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t before_ = nullptr, after_ = nullptr;
  std::array<MPI_Request, 12> requests_{};
};
