/// \file  One compiled copy on a device: which kernel or engine, at which word size, in which
/// pieces.
#pragma once

#include <array>
#include <memory>
#include <mutex>

#include "copy/cuda/engine.hpp"
#include "copy/cuda/kernels.hpp"
#include "copy/cuda/queue.hpp"
#include "copy/cuda/tables.hpp"
#include "copy/device_backend.hpp"

namespace strake::cuda {

/// Both sides' descriptors in device memory, freed with it.
class DeviceTables {
 public:
  DeviceTables(int device, const Tables& to, const Tables& from);
  ~DeviceTables();
  DeviceTables(const DeviceTables&) = delete;
  DeviceTables& operator=(const DeviceTables&) = delete;

  Side to;                          ///< held here, its tables on the device
  Side from;                        ///< the same
  const Side* device_to = nullptr;  ///< the same, in device memory
  const Side* device_from = nullptr;

 private:
  int device_;
  void* memory_ = nullptr;
};

/// Immutable but for the tables, which the first batch uploads where a single run needs none.
class CudaPlan final : public DevicePlan {
 public:
  CudaPlan(int device, const Layout& to, Place to_place, const Layout& from, Place from_place,
           CopyVariant variant);

  [[nodiscard]] std::int64_t size_bytes() const noexcept override { return to_.size_bytes(); }
  [[nodiscard]] std::string description() const override;
  Ticket enqueue(Queue& queue, std::byte* to, const std::byte* from, ByteRange part) const override;
  void enqueue_untracked(Queue& queue, std::byte* to, const std::byte* from,
                         ByteRange part) const override;

  /// Whether a side is pageable host memory, which no kernel reaches.
  [[nodiscard]] bool staged() const noexcept { return stage_to_ || stage_from_; }
  [[nodiscard]] int device() const noexcept override { return device_; }
  [[nodiscard]] const DeviceTables& tables() const;
  /// Widest word for these base addresses. [log2 bytes]
  [[nodiscard]] int word_log2(const std::byte* to, const std::byte* from) const noexcept;

 private:
  enum class Form : std::uint8_t { Run, Box, Blocks, Tree };

  void prepare_boxes(const Tables& strided);
  /// Enqueues a part that is not empty and not staged. The signal that its last kernel raises, if
  /// `tracked` and cheap.
  Signal start(CudaQueue& queue, std::byte* to, const std::byte* from, ByteRange part,
               bool tracked) const;
  /// Kernel launches for [begin, end): ragged ends apart from the body.
  Signal launch(CudaQueue& queue, std::byte* to, const std::byte* from, std::int64_t begin,
                std::int64_t end, bool tracked) const;
  Signal launch_words(CudaQueue& queue, std::byte* to, const std::byte* from, std::int64_t begin,
                      std::int64_t end, int word_log2, bool tracked) const;
  /// Whether groups of lanes shall take a block each, at this word.
  [[nodiscard]] bool in_groups(int word_log2) const noexcept;
  Signal launch_in_groups(CudaQueue& queue, std::byte* to, const std::byte* from,
                          std::int64_t begin, std::int64_t end, int word_log2, bool tracked) const;
  /// \{ Chunk by chunk through the queue's pinned buffers: the kernel of one chunk runs beside the
  /// host's part of another.
  Ticket run_from_pageable(CudaQueue& queue, std::byte* to, const std::byte* from,
                           ByteRange part) const;
  Ticket run_to_pageable(CudaQueue& queue, std::byte* to, const std::byte* from,
                         ByteRange part) const;
  /// \}

  int device_;
  Tables to_;
  Tables from_;
  Form form_ = Form::Run;
  Direction direction_ = Direction::Pack;
  bool stage_to_ = false;
  bool stage_from_ = false;
  int dims_ = 1;
  int word_log2_ = 0;
  std::array<strake_box32, kMaxWordLog2 + 1> boxes_{};
  EngineCopy engine_;
  /// Staged: the device's half, between its layout and a dense pinned chunk.
  std::unique_ptr<CudaPlan> device_half_;
  mutable std::once_flag uploaded_;
  mutable std::unique_ptr<DeviceTables> tables_;
};

}  // namespace strake::cuda
