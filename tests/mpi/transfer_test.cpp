// The steps of a transfer, on a channel that does what the test says.
#include "exchange/message/transfer.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "strake/error.hpp"

namespace strake::exchange {
namespace {

using State = Transfer::State;

/// A message that ends when the test says so.
class FakeChannel final : public Channel {
 public:
  std::vector<std::string> calls;
  std::optional<Arrival> arrival;
  std::exception_ptr refuses;  ///< thrown by post()
  std::exception_ptr fails;    ///< thrown by poll()
  Parcel parcel;
  int empty_polls = 0;  ///< that tell nothing, before the one that tells the arrival

  void post(const Parcel& given) override {
    calls.emplace_back("post");
    parcel = given;
    if (refuses) std::rethrow_exception(refuses);
  }
  std::optional<Arrival> poll() override {
    calls.emplace_back("poll");
    if (fails) std::rethrow_exception(fails);
    if (empty_polls-- > 0) return std::nullopt;
    return arrival;
  }
  void cancel() noexcept override { calls.emplace_back("cancel"); }

  [[nodiscard]] std::vector<int> ints() const {
    const auto* const begin = reinterpret_cast<const int*>(parcel.data);
    return {begin, begin + parcel.bytes / 4};
  }
  void receive(const std::vector<int>& values) {
    std::copy(values.begin(), values.end(), reinterpret_cast<int*>(parcel.data));
    arrival = {.bytes = static_cast<std::int64_t>(values.size() * 4), .lost = false};
  }
};

/// Every other one of eight ints.
struct Ints {
  std::vector<int> memory = std::vector<int>(8);
  Typed typed;
  explicit Ints(int first) {
    std::iota(memory.begin(), memory.end(), first);
    typed.elements = std::make_shared<mpi::Elements>(Layout::box(0, 4, std::vector<Dim>{{4, 8}}));
    typed.address = reinterpret_cast<std::byte*>(memory.data());
  }
};

template <typename Error, typename... Args>
std::exception_ptr error_of(Args... args) {
  return std::make_exception_ptr(Error(args...));
}

TEST(Transfer, a_send_packs_then_posts_then_waits_for_its_end) {
  const Ints ints(10);
  FakeChannel channel;
  Transfer send(MessageDirection::Send, ints.typed, Transport::Pack);
  EXPECT_EQ(send.state(), State::Idle);
  send.start();
  EXPECT_EQ(send.state(), State::Leaving);
  EXPECT_TRUE(channel.calls.empty());
  EXPECT_FALSE(send.step(channel));
  EXPECT_EQ(send.state(), State::Posted);
  EXPECT_EQ(channel.ints(), (std::vector<int>{10, 12, 14, 16}));
  EXPECT_FALSE(send.step(channel));
  EXPECT_EQ(send.state(), State::Posted);
  channel.arrival = Arrival{};
  EXPECT_TRUE(send.step(channel));
  EXPECT_EQ(send.state(), State::Idle);
  EXPECT_EQ(channel.calls, (std::vector<std::string>{"post", "poll", "poll"}));
}

TEST(Transfer, a_receive_unpacks_what_came) {
  Ints ints(0);
  FakeChannel channel;
  Transfer receive(MessageDirection::Receive, ints.typed, Transport::Pack);
  receive.start();
  EXPECT_FALSE(receive.step(channel));
  EXPECT_EQ(channel.parcel.bytes, 16);
  channel.receive({20, 21, 22, 23});
  EXPECT_TRUE(receive.step(channel));
  EXPECT_EQ(ints.memory, (std::vector<int>{20, 1, 21, 3, 22, 5, 23, 7}));
  EXPECT_EQ(receive.arrival().bytes, 16);
}

TEST(Transfer, a_receive_of_fewer_bytes_fills_as_much_of_the_layout) {
  for (std::int64_t bytes = 0; bytes <= 16; ++bytes) {
    Ints ints(0);
    FakeChannel channel;
    Transfer receive(MessageDirection::Receive, ints.typed, Transport::Pack);
    receive.start();
    EXPECT_FALSE(receive.step(channel));
    channel.receive({-1, -1, -1, -1});
    channel.arrival->bytes = bytes;
    EXPECT_TRUE(receive.step(channel));
    const auto* const memory = reinterpret_cast<const unsigned char*>(ints.memory.data());
    for (std::int64_t i = 0; i < 16; ++i) {
      EXPECT_EQ(memory[i / 4 * 8 + i % 4] == 0xff, i < bytes) << "byte " << i << " of " << bytes;
    }
  }
}

TEST(Transfer, a_longer_message_fills_the_layout_and_tells_its_own_length) {
  Ints ints(0);
  FakeChannel channel;
  Transfer receive(MessageDirection::Receive, ints.typed, Transport::Pack);
  receive.start();
  EXPECT_FALSE(receive.step(channel));
  channel.receive({1, 2, 3, 4});
  channel.arrival->bytes = 1000;
  EXPECT_TRUE(receive.step(channel));
  EXPECT_EQ(ints.memory, (std::vector<int>{1, 1, 2, 3, 3, 5, 4, 7}));
  EXPECT_EQ(receive.arrival().bytes, 1000);
}

TEST(Transfer, a_blocking_call_takes_every_step) {
  Ints ints(0);
  FakeChannel channel;
  channel.arrival = Arrival{.bytes = 0, .lost = false};
  channel.empty_polls = 3;
  Transfer send(MessageDirection::Send, ints.typed, Transport::Pack);
  send.start();
  send.finish(channel);
  EXPECT_EQ(channel.calls, (std::vector<std::string>{"post", "poll", "poll", "poll", "poll"}));
  EXPECT_EQ(send.state(), State::Idle);
}

TEST(Transfer, one_call_may_be_the_channel) {
  Ints ints(0);
  Transfer receive(MessageDirection::Receive, ints.typed, Transport::Pack);
  CallChannel channel([](const Parcel& parcel) {
    reinterpret_cast<int*>(parcel.data)[0] = 7;
    return Arrival{.bytes = 4, .lost = false};
  });
  receive.start();
  receive.finish(channel);
  EXPECT_EQ(ints.memory, (std::vector<int>{7, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(Transfer, somebody_else_may_see_the_end) {
  Ints ints(0);
  Parcel parcel;
  Transfer receive(MessageDirection::Receive, ints.typed, Transport::Pack);
  HandOverChannel channel([&](const Parcel& given) { parcel = given; });
  receive.start();
  receive.post(channel);
  EXPECT_EQ(receive.state(), State::Posted);
  reinterpret_cast<int*>(parcel.data)[0] = 7;
  receive.arrived({.bytes = 4, .lost = false});
  EXPECT_EQ(receive.state(), State::Idle);
  EXPECT_EQ(ints.memory[0], 7);
}

TEST(Transfer, starts_again_with_new_bytes_in_the_same_memory) {
  Ints ints(0);
  FakeChannel channel;
  channel.arrival = Arrival{};
  Transfer send(MessageDirection::Send, ints.typed, Transport::Pack);
  const std::byte* const memory = send.parcel().data;
  for (int round = 0; round < 3; ++round) {
    ints.memory[2] = 100 + round;
    send.start();
    send.finish(channel);
    EXPECT_EQ(channel.ints(), (std::vector<int>{0, 100 + round, 4, 6}));
    EXPECT_EQ(channel.parcel.data, memory);
  }
}

TEST(Transfer, what_the_channel_refuses_was_not_taken) {
  const Ints ints(0);
  for (const bool blocking : {false, true}) {
    FakeChannel channel;
    channel.refuses = error_of<std::bad_alloc>();
    Transfer send(MessageDirection::Send, ints.typed, Transport::Pack);
    send.start();
    if (blocking) {
      EXPECT_THROW(send.finish(channel), std::bad_alloc);
    } else {
      EXPECT_THROW(send.step(channel), std::bad_alloc);
    }
    EXPECT_EQ(send.state(), State::Idle);
    channel.refuses = nullptr;
    channel.arrival = Arrival{};
    send.start();
    send.finish(channel);  // it can be started again
    EXPECT_EQ(channel.ints(), (std::vector<int>{0, 2, 4, 6}));
  }
}

TEST(Transfer, a_failed_message_unpacks_nothing) {
  for (const bool blocking : {false, true}) {
    Ints ints(0);
    FakeChannel channel;
    channel.fails = error_of<std::runtime_error>("failed");
    Transfer receive(MessageDirection::Receive, ints.typed, Transport::Pack);
    receive.start();
    if (blocking) {
      EXPECT_THROW(receive.finish(channel), std::runtime_error);
    } else {
      EXPECT_FALSE(receive.step(channel));
      EXPECT_THROW(receive.step(channel), std::runtime_error);
    }
    EXPECT_EQ(receive.state(), State::Idle);
    EXPECT_EQ(ints.memory, Ints(0).memory);
  }
}

TEST(Transfer, a_lost_message_unpacks_nothing) {
  Ints ints(0);
  FakeChannel channel;
  Transfer receive(MessageDirection::Receive, ints.typed, Transport::Pack);
  receive.start();
  EXPECT_FALSE(receive.step(channel));
  EXPECT_FALSE(receive.cancel(channel));  // the channel tells
  EXPECT_EQ(channel.calls.back(), "cancel");
  channel.receive({1, 2, 3, 4});
  channel.arrival->lost = true;
  EXPECT_TRUE(receive.step(channel));
  EXPECT_TRUE(receive.arrival().lost);
  EXPECT_EQ(ints.memory, Ints(0).memory);
}

TEST(Transfer, a_send_that_is_cancelled_while_it_is_packed_never_leaves) {
  const Ints ints(0);
  FakeChannel channel;
  Transfer send(MessageDirection::Send, ints.typed, Transport::Pack);
  send.start();
  EXPECT_TRUE(send.cancel(channel));
  EXPECT_TRUE(send.step(channel));
  EXPECT_TRUE(channel.calls.empty());
  EXPECT_TRUE(send.arrival().lost);
  channel.arrival = Arrival{};
  send.start();  // the next message is not
  send.finish(channel);
  EXPECT_EQ(channel.calls.front(), "post");
}

TEST(Transfer, memory_that_a_channel_still_has_is_never_used_again) {
  const Ints ints(0);
  FakeChannel channel;
  std::byte* leaked = nullptr;
  {
    Transfer receive(MessageDirection::Receive, ints.typed, Transport::Pack);
    receive.start();
    EXPECT_FALSE(receive.step(channel));
    leaked = channel.parcel.data;
  }
  for (int i = 0; i < 4; ++i) {
    Transfer other(MessageDirection::Receive, ints.typed, Transport::Pack);
    EXPECT_NE(other.parcel().data, leaked);
  }
}

TEST(Transfer, without_memory_for_the_parcel_there_is_no_transfer) {
  Typed typed;
  typed.elements = std::make_shared<mpi::Elements>(
      Layout::box(0, 8, std::vector<Dim>{{std::int64_t{1} << 52, 16}}));
  std::byte one{};
  typed.address = &one;
  EXPECT_THROW(Transfer(MessageDirection::Send, typed, Transport::Pack), OutOfMemory);
  EXPECT_THROW(Transfer(MessageDirection::Receive, typed, Transport::Pack), OutOfMemory);
}

}  // namespace
}  // namespace strake::exchange
