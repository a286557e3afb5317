#include "exchange/transport/pairs/pair_transfer.hpp"

#include <algorithm>

namespace strake::exchange::planned {

std::int64_t PairTransfer::packed_bytes(std::size_t which) const noexcept {
  std::int64_t bytes = 0;
  for (const Schedules* const pair : schedules()) bytes += (*pair)[which].packed_bytes();
  return bytes;
}

bool PairTransfer::is_empty(std::size_t which) const noexcept {
  return std::ranges::all_of(schedules(),
                             [which](const Schedules* pair) { return (*pair)[which].is_empty(); });
}

bool PairTransfer::is_idle(std::size_t which) const {
  return std::ranges::all_of(schedules(),
                             [which](Schedules* pair) { return (*pair)[which].idle(); });
}

void PairTransfer::start(const Round& round) {
  round_ = &round;
  sending_ = is_empty(out()) ? Sending::Done : Sending::Due;
  receiving_ = is_empty(in()) ? Receiving::Done : Receiving::Due;
  tried_ = false;
  if (receiving_ == Receiving::Due) expect();
}

void PairTransfer::send() {
  if (sending_ != Sending::Due || !pack()) return;
  sending_ = Sending::Packing;
  post_packed();
}

void PairTransfer::post_packed() {
  if (is_packed()) sending_ = post() ? Sending::Done : Sending::Posted;
}

void PairTransfer::receive() {
  tried_ = true;
  if (receiving_ != Receiving::Due || !poll() || !unpack()) return;
  receiving_ = Receiving::Unpacking;
  if (!is_idle(in())) return;
  receiving_ = Receiving::Done;
  unpacked();
}

void PairTransfer::look() {
  if (sending_ == Sending::Packing) {
    post_packed();
  } else if (sending_ == Sending::Posted) {
    const Completion is = poll_sent();
    if (is == Completion::Done) sending_ = Sending::Done;
    if (is == Completion::Repacks) {
      sending_ = Sending::Packing;
      post_packed();  // this rank may not call again soon
    }
  }
  if (receiving_ == Receiving::Unpacking && is_idle(in())) {
    receiving_ = Receiving::Done;
    unpacked();
  }
}

}  // namespace strake::exchange::planned
