/// \file  Copies of the stand-in: the CPU's plans, run by a queue's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "copy/device_copier.hpp"

namespace standin {

/// Whether the devices run copies at all: STANDIN_NO_KERNELS is not set.
bool has_kernels() noexcept;

class Plan final : public strake::DevicePlan {
 public:
  Plan(const strake::Layout& to, const strake::Layout& from, int device, bool staged = false);
  std::int64_t size_bytes() const noexcept override { return plan_.size_bytes(); }
  std::string description() const override { return "stand-in " + plan_.description(); }
  int device() const noexcept override { return device_; }
  strake::Ticket enqueue(strake::Queue& queue, std::byte* to, const std::byte* from,
                         strake::ByteRange part) const override;
  void enqueue(strake::DeviceStream& stream, std::byte* to, const std::byte* from,
               strake::ByteRange part) const override;
  bool staged() const noexcept override { return staged_; }
  std::function<void()> task(std::byte* to, const std::byte* from, strake::ByteRange part) const;

 private:
  strake::CopyPlan plan_;
  std::int64_t to_begin_;
  std::int64_t from_begin_;
  int device_;
  bool staged_;
};

/// One task for all copies.
class Batch final : public strake::DeviceBatch {
 public:
  Batch(std::span<const strake::CopyBatch::Copy> copies, int device);
  std::string description() const override { return "stand-in batch"; }
  void enqueue(strake::DeviceStream& stream, std::span<std::byte* const> bases) const override;
  strake::Ticket enqueue(strake::Queue& queue, std::span<std::byte* const> bases) const override;
  std::vector<std::function<void()>> tasks(std::span<std::byte* const> bases) const;

 private:
  struct Run {
    std::unique_ptr<Plan> plan;
    std::size_t to;
    std::size_t from;
  };
  std::vector<Run> runs_;
};

}  // namespace standin
