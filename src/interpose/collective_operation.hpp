/// \file  A collective call that Strake carries out pair by pair, and that the application holds a
/// request of Strake's for.
#pragma once

#include <mpi.h>

#include <memory>
#include <utility>

#include "interpose/operation.hpp"
#include "interpose/pair_call.hpp"

namespace strake::interpose {

class CollectiveOperation final : public Operation {
 public:
  /// \param on    the call's communicator, which may be freed before the call ends
  /// \param call  the number of the call; of a persistent one, of its first start
  CollectiveOperation(std::shared_ptr<PairCall> made, mpi::CommunicatorPtr on,
                      std::uint32_t call) noexcept
      : on_(std::move(on)), call_(std::move(made)), next_call_(call) {}
  ~CollectiveOperation() override;

  /// From now on it may be started any number of times.
  void make_persistent() noexcept { mark_persistent(); }
  void start() override;
  /// Collective calls can't be cancelled.
  void cancel() noexcept override {}
  [[nodiscard]] bool can_leave_at_once() const noexcept override { return false; }
  [[nodiscard]] bool on_device() const noexcept override { return call_->messages.on_device(); }

  void step() noexcept override { take_steps(true); }
  void step_awaited() noexcept override { take_steps(false); }
  void prepare() noexcept override { call_->messages.prepare(); }
  [[nodiscard]] bool leaving() const noexcept override {
    return !complete() && call_->messages.leaving();
  }
  [[nodiscard]] bool awaited() const noexcept override { return call_->messages.awaited(); }
  [[nodiscard]] bool keeps_request() const noexcept override { return true; }
  [[nodiscard]] bool fails_in_launch() const noexcept override { return false; }
  [[nodiscard]] bool offered() const noexcept override { return false; }
  [[nodiscard]] bool unpacking() const noexcept override { return call_->messages.unpacking(); }

 private:
  void take_steps(bool leave) noexcept;

  mpi::CommunicatorPtr on_;
  std::shared_ptr<PairCall> call_;
  std::uint32_t next_call_;  ///< the number of the call that starts next
};

}  // namespace strake::interpose
