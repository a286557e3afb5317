#include "crew.hpp"

#include <array>
#include <exception>
#include <limits>

#include "say.hpp"

namespace strake::measure {

enum class Order : std::int64_t { Make, Run, Verify, Drop, End };

namespace {

// A step gives Team::maximum its seconds, or one of these, each worse than the one before.
constexpr double kFault = std::numeric_limits<double>::max() / 2;
constexpr double kWrong = std::numeric_limits<double>::max();

struct Message {
  Order order = Order::End;
  std::int64_t value = 0;
};

/// Outcome of a step of this rank.
struct Done {
  double value = 0;
  std::exception_ptr error;
};

template <typename Step>
Done attempt(Step step) {
  try {
    return {step(), nullptr};
  } catch (const WrongData&) {
    return {kWrong, std::current_exception()};
  } catch (const std::exception&) {
    return {kFault, std::current_exception()};
  }
}

std::unique_ptr<Instance> make_instance(const Case& what) {
  auto instance = what.make();
  if (instance == nullptr) throw std::runtime_error("nothing here to measure it with");
  return instance;
}

}  // namespace

template <typename Step>
double Leader::together(Order order, std::int64_t value, Step step) {
  if (!shared_) return step();
  Message message{order, value};
  team_->broadcast(&message, sizeof(message));
  const Done done = attempt(step);
  const double worst = team_->maximum(done.value);
  if (done.error) std::rethrow_exception(done.error);
  if (worst == kWrong) throw WrongData("another rank received wrong data");
  if (worst == kFault) throw std::runtime_error("another rank can't do it");
  return worst;
}

Leader::~Leader() {
  if (team_ == nullptr || team_->size() < 2) return;
  drop();
  Message message;
  team_->barrier();
  team_->broadcast(&message, sizeof(message));
}

void Leader::make(const Case& what, std::int64_t index) {
  drop();
  shared_ = what.scope == Scope::Job && team_ != nullptr && team_->size() > 1;
  if (shared_) team_->barrier();  // wakes the others
  together(Order::Make, index, [&] {
    instance_ = make_instance(what);
    return 0.0;
  });
}

double Leader::run(std::int64_t iterations) {
  return together(Order::Run, iterations, [&] { return instance_->run(iterations); });
}

void Leader::verify() {
  together(Order::Verify, 0, [&] {
    instance_->verify();
    return 0.0;
  });
}

void Leader::drop() noexcept {
  if (shared_) {
    Message message{Order::Drop, 0};
    team_->broadcast(&message, sizeof(message));
  }
  shared_ = false;
  instance_.reset();
}

void serve(Team& team, const std::vector<Case>& cases) {
  std::unique_ptr<Instance> instance;
  const Case* current = nullptr;
  for (;;) {
    if (current == nullptr) team.barrier();  // asleep until the leader needs all
    Message message;
    team.broadcast(&message, sizeof(message));
    if (message.order == Order::End) return;
    if (message.order == Order::Drop) {
      instance.reset();
      current = nullptr;
      continue;
    }
    const Done done = attempt([&] {
      switch (message.order) {
        case Order::Make:
          current = &cases.at(static_cast<std::size_t>(message.value));
          instance = make_instance(*current);
          return 0.0;
        case Order::Run:
          return instance->run(message.value);
        default:
          instance->verify();
          return 0.0;
      }
    });
    if (done.error) {
      try {
        std::rethrow_exception(done.error);
      } catch (const std::exception& error) {
        say("strake measure: rank {}: {}: {}\n", team.rank(),
            current == nullptr ? "" : current->name, error.what());
      }
    }
    team.maximum(done.value);
  }
}

}  // namespace strake::measure
