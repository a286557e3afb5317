#include "exchange/transport/pair_transfer.hpp"

namespace strake::exchange::planned {

void PairTransfer::start(const Round& round) {
  round_ = &round;
  sending_ = lane(out()).is_empty() ? Sending::Done : Sending::Due;
  receiving_ = lane(in()).is_empty() ? Receiving::Done : Receiving::Due;
  if (receiving_ == Receiving::Due) expect();
}

void PairTransfer::give() {
  if (sending_ != Sending::Due || !pack()) return;
  sending_ = Sending::Packing;
  post_packed();
}

void PairTransfer::post_packed() {
  if (lane(out()).idle()) sending_ = post() ? Sending::Done : Sending::Posted;
}

void PairTransfer::take() {
  if (receiving_ != Receiving::Due || !poll() || !unpack()) return;
  receiving_ = Receiving::Unpacking;
  if (!lane(in()).idle()) return;
  receiving_ = Receiving::Done;
  taken();
}

void PairTransfer::look() {
  if (sending_ == Sending::Packing) {
    post_packed();
  } else if (sending_ == Sending::Posted) {
    const Sent is = sent();
    if (is == Sent::Yes) sending_ = Sending::Done;
    if (is == Sent::Repacks) {
      sending_ = Sending::Packing;
      post_packed();  // this rank may not call again soon
    }
  }
  if (receiving_ == Receiving::Unpacking && lane(in()).idle()) {
    receiving_ = Receiving::Done;
    taken();
  }
}

}  // namespace strake::exchange::planned
