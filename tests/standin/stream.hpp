/// \file  Streams of the stand-in, their events and marks: each stream is a queue.
#pragma once

#include <cstdint>
#include <optional>

#include "device/backend.hpp"
#include "queue.hpp"

namespace standin {

class Marker final : public strake::Marker {
 public:
  explicit Marker(int device) : queue_(device) {}
  std::uint64_t mark() override {
    last_ = queue_.push([] {});
    return last_.value;
  }
  bool reached(std::uint64_t mark) override { return queue_.done({last_.progress, mark}); }

 private:
  Queue queue_;
  strake::Ticket last_;
};

class Event final : public strake::DeviceEvent {
 public:
  explicit Event(int device) : device_(device) {}
  int device() const noexcept override { return device_; }
  bool query() const override { return queue_ == nullptr || queue_->done(ticket_); }
  void synchronize() const override {
    if (queue_ != nullptr) queue_->wait(ticket_);
  }

 private:
  friend class Stream;
  int device_;
  Queue* queue_ = nullptr;
  strake::Ticket ticket_;
};

class Stream final : public strake::DeviceStream {
 public:
  explicit Stream(int device, strake::QueueOrder order = strake::QueueOrder::Own)
      : own_(std::in_place, device, order), queue_(*own_) {}
  /// Another stream's, which outlives this one.
  explicit Stream(Queue& adopted) : queue_(adopted) {}
  ~Stream() override {
    if (own_) synchronize();
  }
  int device() const noexcept override { return queue_.device(); }
  void* native() const noexcept override { return &queue_; }
  bool capturing() const override { return false; }
  void record(strake::DeviceEvent& event) override {
    auto& own = static_cast<Event&>(event);
    own.queue_ = &queue_;
    own.ticket_ = queue_.push([] {});
  }
  void wait(const strake::DeviceEvent& event) override {
    const auto& own = static_cast<const Event&>(event);
    if (own.queue_ != nullptr) queue_.wait_for(*own.queue_, own.ticket_);
  }
  bool query() const override { return queue_.idle(); }
  void synchronize() const override {
    queue_.wait(queue_.push([] {}));
  }

  Queue& queue() noexcept { return queue_; }

 private:
  std::optional<Queue> own_;
  Queue& queue_;
};

}  // namespace standin
