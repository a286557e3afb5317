/// \file  One compiled copy on a device: which kernel or engine, at which word size, in which
/// pieces.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "copy/cuda/batch.hpp"
#include "copy/cuda/engine_copy.hpp"
#include "copy/cuda/image.hpp"
#include "copy/cuda/kernels.hpp"
#include "copy/cuda/ranks.hpp"
#include "copy/cuda/tables.hpp"
#include "copy/device_copier.hpp"
#include "device/cuda/queue.hpp"

namespace strake::cuda {

/// Both sides' tables in device memory.
class DeviceTables {
 public:
  DeviceTables(const BlockSource& blocks, int device, const Tables& to, const Tables& from);

  Side to;  ///< held here, its tables on the device
  Side from;

 private:
  DeviceImage image_;
};

/// \{ A list's tables in device memory.
class DeviceRanked {
 public:
  DeviceRanked(const BlockSource& blocks, int device, const RankedTable& table);
  RankedView view;

 private:
  DeviceImage image_;
};

class DeviceGather {
 public:
  DeviceGather(const BlockSource& blocks, int device, const GatherTable& table);
  GatherView view;

 private:
  DeviceImage image_;
};

class DeviceScatter {
 public:
  DeviceScatter(const BlockSource& source, int device, ScatterTable table);
  ScatterView view;
  std::vector<ScatterBlock> blocks;  ///< and one past the last

 private:
  DeviceImage image_;
};
/// \}

/// Immutable but for tables that not every run needs: the first run that does uploads them.
class CudaPlan final : public DevicePlan {
 public:
  CudaPlan(const BlockSource& blocks, int device, const Layout& to, Place to_place,
           const Layout& from, Place from_place, CopyVariant variant);

  [[nodiscard]] std::int64_t size_bytes() const noexcept override { return to_.size_bytes(); }
  [[nodiscard]] std::string description() const override;
  Ticket enqueue(Queue& queue, std::byte* to, const std::byte* from, ByteRange part) const override;
  void enqueue_untracked(Queue& queue, std::byte* to, const std::byte* from,
                         ByteRange part) const override;
  void enqueue(DeviceStream& stream, std::byte* to, const std::byte* from,
               ByteRange part) const override;
  [[nodiscard]] bool staged() const noexcept override { return stage_to_ || stage_from_; }
  [[nodiscard]] int device() const noexcept override { return device_; }

 private:
  /// Widest word for these base addresses. [log2 bytes]
  [[nodiscard]] int word_log2(const std::byte* to, const std::byte* from) const noexcept;

  enum class Form : std::uint8_t { Run, Box, Blocks, Ranked, Tree };

  /// Chooses the kernel that moves the bytes between `strided`, which is the side that is not dense
  /// where there is one, and the other side; makes what the kernel needs.
  void choose_form(const Layout& strided);
  void prepare_boxes(const Tables& strided);
  /// Makes the batch of this one copy, if it needs no trees and there is memory for it.
  void try_pair(const CopyBatch::Copy& copy, const std::array<Place, 2>& places);
  /// Leaves the copy to an engine where that is faster, or asked for. `across`: a side is in host
  /// memory.
  void choose_engine(const Layout& strided, bool across, CopyVariant variant);
  /// Enqueues a part that is not empty and not staged. The signal that its last kernel raises, if
  /// the target is tracked and it is cheap.
  Signal start(const LaunchTarget& target, std::byte* to, const std::byte* from,
               ByteRange part) const;
  /// Kernel launches for [begin, end): ragged ends apart from the body.
  Signal launch(const LaunchTarget& target, std::byte* to, const std::byte* from,
                std::int64_t begin, std::int64_t end) const;
  Signal launch_words(const LaunchTarget& target, std::byte* to, const std::byte* from,
                      std::int64_t begin, std::int64_t end, int word_log2) const;
  /// Makes the tables of a list whose bytes are not aligned to wider words, of the plan's
  /// direction. False where there are none.
  bool make_shifted() const;
  Signal launch_shifted(const LaunchTarget& target, std::byte* to, const std::byte* from,
                        std::int64_t begin, std::int64_t end) const;
  /// Whether the lines that a run writes in part shall be fetched before.
  [[nodiscard]] bool prefetches(const std::byte* to) const noexcept;
  /// \{ Chunk by chunk through the queue's pinned buffers: the kernel of one chunk runs beside the
  /// host's part of another.
  Ticket run_from_pageable(CudaQueue& queue, std::byte* to, const std::byte* from,
                           ByteRange part) const;
  Ticket run_to_pageable(CudaQueue& queue, std::byte* to, const std::byte* from,
                         ByteRange part) const;
  /// \}

  BlockSource blocks_;  // its tables lie in blocks of these
  int device_;
  Tables to_;
  Tables from_;
  Layout strided_;  // a list, for make_shifted
  Form form_ = Form::Run;
  Task task_ = Task::Pack;
  bool stage_to_ = false;
  bool stage_from_ = false;
  bool to_device_memory_ = false;
  int dims_ = 1;
  int word_log2_ = 0;
  std::array<strake_box32, kMaxWordLog2 + 1> boxes_{};
  EngineCopy engine_;
  /// Staged: the device's half, between its layout and a dense pinned chunk.
  std::unique_ptr<CudaPlan> device_half_;
  std::unique_ptr<DeviceTables> tables_;  ///< for the kernels that read them
  std::unique_ptr<DeviceRanked> ranked_;
  std::unique_ptr<CudaBatch> pair_;  ///< of this one copy, for whole runs from layout to layout
  mutable std::once_flag shifted_made_;
  mutable std::atomic<bool> shifted_ = false;  ///< there are tables for it
  mutable std::unique_ptr<DeviceGather> gather_;
  mutable std::unique_ptr<DeviceScatter> scatter_;
};

}  // namespace strake::cuda
