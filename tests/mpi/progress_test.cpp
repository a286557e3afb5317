// Operations in flight: the order of sends, claims, and which are dropped when.
#include "exchange/progress/progress.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace strake::exchange {
namespace {

/// Needs `steps` steps to leave, and `more` to be complete.
class FakeFlight final : public OperationInFlight {
 public:
  FakeFlight(int steps, int more) : steps_(steps), more_(more) {}
  void step() noexcept override {
    EXPECT_FALSE(inside_.exchange(true)) << "two threads in one step";
    if (during) during();
    if (leaving_) {
      if (--steps_ <= 0) {
        leaving_ = false;
        if (left) left();
      }
    } else if (--more_ <= 0) {
      complete_ = true;
    }
    ++taken;
    inside_ = false;
  }
  void prepare() noexcept override { ++prepared; }
  [[nodiscard]] bool leaving() const noexcept override { return leaving_; }
  [[nodiscard]] bool awaited() const noexcept override { return someone_waits && !complete_; }
  [[nodiscard]] bool complete() const noexcept override { return complete_; }
  [[nodiscard]] bool unwanted() const noexcept override { return wanted == 0; }
  void completed() noexcept override { ++completions; }

  std::function<void()> during;
  std::function<void()> left;
  std::atomic<int> taken = 0;
  std::atomic<int> prepared = 0;
  std::atomic<int> completions = 0;
  std::atomic<int> wanted = 1;
  std::atomic<bool> someone_waits = false;

 private:
  int steps_;
  int more_;
  bool leaving_ = steps_ > 0;
  std::atomic<bool> complete_ = false;
  std::atomic<bool> inside_ = false;
};

std::shared_ptr<FakeFlight> add(Progress& progress, int steps, int more) {
  const auto flight = std::make_shared<FakeFlight>(steps, more);
  const Progress::Reservation reservation(progress);
  progress.add(reservation, flight);
  return flight;
}

TEST(Progress, sends_leave_in_the_order_of_their_starts) {
  Progress progress;
  std::string order;
  const auto slow = add(progress, 3, 1);
  const auto quick = add(progress, 1, 1);
  slow->left = [&] { order += "slow "; };
  quick->left = [&] { order += "quick"; };
  EXPECT_TRUE(progress.step_sends());
  EXPECT_EQ(quick->taken, 0);  // it waits for the first
  EXPECT_TRUE(progress.step_sends());
  EXPECT_FALSE(progress.step_sends());
  EXPECT_EQ(order, "slow quick");
}

TEST(Progress, prepares_sends_before_it_is_their_turn) {
  Progress progress;
  const auto first = add(progress, 3, 1);
  const auto second = add(progress, 1, 1);
  progress.step_all();
  EXPECT_EQ(second->prepared, 1);
  EXPECT_EQ(second->taken, 0);
  progress.step_sends();
  progress.step_sends();
  progress.step_sends();
  progress.step_all();
  EXPECT_EQ(second->prepared, 1);  // it has left
}

TEST(Progress, hands_on_until_every_send_has_left) {
  Progress progress;
  const auto first = add(progress, 5, 1);
  const auto second = add(progress, 7, 1);
  progress.hand_on();
  EXPECT_FALSE(first->leaving());
  EXPECT_FALSE(second->leaving());
}

TEST(Progress, ends_what_is_awaited_while_sends_wait) {
  Progress progress;
  const auto awaited = add(progress, 0, 5);
  awaited->someone_waits = true;
  const auto send = add(progress, 50, 1);
  send->left = [&] { EXPECT_TRUE(awaited->complete()); };
  g_awaited = 1;
  progress.hand_on();
  g_awaited = 0;
  EXPECT_FALSE(send->leaving());
}

TEST(Progress, hands_on_until_no_other_process_waits) {
  Progress progress;
  const auto awaited = add(progress, 0, 5);
  const auto other = add(progress, 0, 5);
  awaited->someone_waits = true;
  progress.hand_on();
  EXPECT_EQ(awaited->taken, 0);  // nothing says that there are any
  g_awaited = 1;
  progress.hand_on();
  g_awaited = 0;
  EXPECT_TRUE(awaited->complete());
  EXPECT_EQ(awaited->completions, 1);
  EXPECT_EQ(other->taken, 0);
}

TEST(Progress, a_message_is_told_of_once_and_dropped_when_unwanted) {
  Progress progress;
  auto flight = add(progress, 0, 2);
  const std::weak_ptr<FakeFlight> alive = flight;
  progress.step_all();
  EXPECT_EQ(flight->completions, 0);
  progress.step_all();
  progress.step_all();
  EXPECT_EQ(flight->taken, 2);  // none after it is complete
  EXPECT_EQ(flight->completions, 1);
  EXPECT_FALSE(progress.idle());  // somebody wants to know
  flight->wanted = 0;
  progress.drop_if_done(*flight);
  EXPECT_TRUE(progress.idle());
  flight.reset();
  EXPECT_TRUE(alive.expired());
}

TEST(Progress, what_becomes_unwanted_by_itself_is_dropped_by_the_next_step) {
  Progress progress;
  const auto flight = add(progress, 0, 1);
  progress.step_all();
  flight->wanted = 0;
  progress.step_all();
  EXPECT_TRUE(progress.idle());
}

TEST(Progress, a_poll_costs_no_more_with_many_in_flight) {
  Progress progress;
  std::vector<std::shared_ptr<FakeFlight>> flights;
  for (int i = 0; i < 1000; ++i) flights.push_back(add(progress, 0, 1000));
  progress.step_some(flights[500].get());
  int taken = 0;
  for (const auto& flight : flights) taken += flight->taken;
  EXPECT_GE(flights[500]->taken, 1);
  EXPECT_LE(taken, 10);
  for (int i = 0; i < 200; ++i) progress.step_some(nullptr);
  for (const auto& flight : flights) EXPECT_GE(flight->taken, 1);  // each has its turn
}

TEST(Progress, a_step_that_is_called_from_a_step_passes_it_by) {
  Progress progress;
  const auto send = add(progress, 1, 1);
  const auto other = add(progress, 0, 5);
  bool left = true;
  send->during = [&] {
    left = progress.step_sends();  // as an error handler of the application's may
    progress.hand_on();
    progress.step_all();
    EXPECT_FALSE(progress.claim(*send));
  };
  EXPECT_FALSE(progress.step_sends());
  EXPECT_FALSE(left);
  EXPECT_EQ(send->taken, 1);
  EXPECT_EQ(other->taken, 1);
}

TEST(Progress, a_claimed_message_takes_no_step) {
  Progress progress;
  const auto flight = add(progress, 0, 5);
  ASSERT_TRUE(progress.claim(*flight));
  std::thread([&] { progress.step_all(); }).join();
  EXPECT_EQ(flight->taken, 0);
  progress.release(*flight);
  progress.step_all();
  EXPECT_EQ(flight->taken, 1);
}

TEST(Progress, a_thread_that_hands_on_waits_for_another_ones_step) {
  Progress progress;
  const auto send = add(progress, 1, 1);
  std::atomic<bool> inside = false;
  std::atomic<bool> go = false;
  send->during = [&] {
    inside = true;
    while (!go) std::this_thread::yield();
  };
  std::thread stepping([&] { progress.step_sends(); });
  while (!inside) std::this_thread::yield();
  EXPECT_TRUE(progress.step_sends());  // no lock is held meanwhile
  std::atomic<bool> handed_on = false;
  std::thread waiting([&] {
    progress.hand_on();
    handed_on = true;
  });
  EXPECT_FALSE(handed_on);
  go = true;
  waiting.join();
  stepping.join();
  EXPECT_FALSE(send->leaving());
}

TEST(Progress, threads_share_it) {
  Progress progress;
  constexpr int kThreads = 4;
  constexpr int kEach = 300;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&progress] {
      for (int i = 0; i < kEach; ++i) {
        const auto flight = add(progress, i % 3, 1 + i % 2);
        while (!flight->complete()) {
          i % 5 == 0 ? progress.hand_on() : void(progress.step_sends());
          i % 2 == 0 ? progress.step_all() : progress.step_some(flight.get());
        }
        flight->wanted = 0;
        progress.drop_if_done(*flight);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  progress.step_all();
  EXPECT_TRUE(progress.idle());
}

TEST(Progress, clear_drops_what_is_in_flight) {
  Progress progress;
  const std::weak_ptr<FakeFlight> flight = add(progress, 2, 2);
  progress.clear();
  EXPECT_TRUE(progress.idle());
  EXPECT_TRUE(flight.expired());
}

}  // namespace
}  // namespace strake::exchange
