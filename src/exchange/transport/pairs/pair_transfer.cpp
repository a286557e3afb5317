#include "exchange/transport/pairs/pair_transfer.hpp"

namespace strake::exchange::planned {

void PairTransfer::start(const Round& round) {
  round_ = &round;
  sending_ = schedule(out()).is_empty() ? Sending::Done : Sending::Due;
  receiving_ = schedule(in()).is_empty() ? Receiving::Done : Receiving::Due;
  tried_ = false;
  if (receiving_ == Receiving::Due) expect();
}

void PairTransfer::send() {
  if (sending_ != Sending::Due || !pack()) return;
  sending_ = Sending::Packing;
  post_packed();
}

void PairTransfer::post_packed() {
  if (schedule(out()).idle()) sending_ = post() ? Sending::Done : Sending::Posted;
}

void PairTransfer::receive() {
  tried_ = true;
  if (receiving_ != Receiving::Due || !poll() || !unpack()) return;
  receiving_ = Receiving::Unpacking;
  if (!schedule(in()).idle()) return;
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
  if (receiving_ == Receiving::Unpacking && schedule(in()).idle()) {
    receiving_ = Receiving::Done;
    unpacked();
  }
}

}  // namespace strake::exchange::planned
