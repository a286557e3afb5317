#include "random_runner.hpp"

#include <algorithm>
#include <cstdio>

#include "check.hpp"

namespace random_collectives {

Runner::Runner(const Options& options, std::string alone)
    : options_(options),
      alone_(std::move(alone)),
      shapes_(mix({options.seed, 9})),
      comms_(make_comms(options.seed)),
      traffic_(options.seed, options.first + options.steps, comms_) {}

void Runner::run() {
  for (int number = 0; number < options_.steps; ++number) run(draw(options_.first + number));
  for (std::size_t i = 0; i < comms_.size(); ++i) {
    const Comm& comm = comms_[i];
    if (comm.handle == MPI_COMM_NULL) continue;
    check::note("communicator %zu: %d calls, edges %016llx", i, comm.calls,
                static_cast<unsigned long long>(comm.edges));
  }
  enter("MPI_Comm_free");
  free_comms(comms_);
}

Runner::Step Runner::draw(int number) const {
  Draw draw(mix({options_.seed, 10, static_cast<std::uint64_t>(number)}));
  Step step;
  step.number = number;
  const auto add = [&](std::vector<Call>& to, Mode mode) {
    to.push_back(draw_call(draw, shapes_, comms_, mode));
  };
  if (options_.is_persistent) {
    for (int calls = draw.number(1, 4); calls > 0; --calls) {
      add(step.calls, draw.chance(75) ? Mode::kPersistent : Mode::kNonblocking);
    }
  } else if (draw.chance(45)) {
    add(step.blocking, Mode::kBlocking);
    return step;
  } else {
    for (int calls = draw.number(1, 5); calls > 0; --calls) add(step.calls, Mode::kNonblocking);
  }
  if (draw.chance(40)) add(step.blocking, Mode::kBlocking);
  step.begun_before_traffic = draw.index(step.calls.size() + 1);
  return step;
}

bool Runner::takes_part(const Call& call) const {
  return comms_[static_cast<std::size_t>(call.comm)].handle != MPI_COMM_NULL;
}

std::unique_ptr<Operation> Runner::make(const Call& call, std::uint64_t number) {
  Draw own(mix({call.id, 11, number, static_cast<std::uint64_t>(check::rank())}));
  ++comm_of(call).calls;
  return make_operation(call, comm_of(call), shapes_, std::move(own), options_.on_device);
}

void Runner::run(const Step& step) {
  step_ = step.number;
  if (step.calls.empty()) {
    for (const Call& call : step.blocking) run_blocking(call, 0);
    return;
  }
  int rounds = 0;
  operations_.clear();
  for (std::size_t i = 0; i < step.calls.size(); ++i) {
    operations_.push_back(takes_part(step.calls[i]) ? make(step.calls[i], i) : nullptr);
    rounds = std::max(rounds, step.calls[i].rounds);
  }
  std::vector<MPI_Request> persistent(step.calls.size(), MPI_REQUEST_NULL);
  persistent_.swap(persistent);
  for (int round = 0; round < rounds; ++round) run_round(step, round);
  enter("MPI_Request_free");
  for (MPI_Request& request : persistent_)
    if (request != MPI_REQUEST_NULL) CHECK_MPI(MPI_Request_free(&request));
}

void Runner::run_blocking(const Call& call, std::uint64_t number) {
  if (!takes_part(call)) return;
  enter(describe(call, comm_of(call)));
  const std::unique_ptr<Operation> operation = make(call, 100 + number);
  MPI_Request none = MPI_REQUEST_NULL;
  operation->begin(none);
  require(operation->check());
}

void Runner::run_round(const Step& step, int round) {
  requests_.clear();
  of_request_.clear();
  const auto begin = [&](std::size_t i) {
    if (operations_[i] == nullptr || step.calls[i].rounds <= round) return;
    enter(describe(step.calls[i], comm_of(step.calls[i])) + ", start " + std::to_string(round));
    operations_[i]->begin(persistent_[i]);
    requests_.push_back(persistent_[i]);
    of_request_.push_back(i);
  };
  for (std::size_t i = 0; i < step.begun_before_traffic; ++i) begin(i);
  const Shuffle shuffle = traffic_.draw(step.number);
  const bool has_traffic = round == 0 && traffic_.is_mine(shuffle);
  std::vector<MPI_Request> messages;
  if (has_traffic) {
    enter("messages between ranks on " + comms_[static_cast<std::size_t>(shuffle.comm)].text);
    traffic_.begin(step.number, messages);
    if (messages.size() == 1) require(traffic_.check(step.number, traffic_.status()));
  }
  for (std::size_t i = step.begun_before_traffic; i < step.calls.size(); ++i) begin(i);
  if (round == 0) {
    probe(step.number);
    for (const Call& call : step.blocking) run_blocking(call, 0);
    probe(step.number);
  }
  requests_.insert(requests_.end(), messages.begin(), messages.end());
  receive_ = messages.size() == 2 ? static_cast<int>(requests_.size()) - 1 : kNone;
  wait_for_all(step, round);
  if (has_traffic) traffic_.end(step.number);
}

void Runner::probe(int step) {
  for (std::size_t i = 0; i < comms_.size(); ++i) {
    if (comms_[i].handle == MPI_COMM_NULL) continue;
    enter("MPI_Iprobe on " + comms_[i].text);
    require(traffic_.probe(step, static_cast<int>(i)));
  }
}

void Runner::completed(int index, const MPI_Status& status) {
  const auto i = static_cast<std::size_t>(index);
  if (index < 0 || i >= is_complete_.size() || is_complete_[i]) {
    require("completes request " + std::to_string(index) + ", which was not under way");
    return;
  }
  is_complete_[i] = true;
  if (i >= of_request_.size()) {
    if (index == receive_) require(traffic_.check(step_, status));
    return;
  }
  const std::size_t number = of_request_[i];
  Operation& operation = *operations_[number];
  // Inactive, if it is persistent.
  persistent_[number] = requests_[i];
  if (operation.call().mode != Mode::kPersistent || MPI_VERSION < 4)
    if (requests_[i] != MPI_REQUEST_NULL) require("leaves a complete request behind");
  const std::string difference = operation.check();
  if (difference.empty()) return;
  enter(describe(operation.call(), comm_of(operation.call())) + ", start " +
        std::to_string(operation.round() - 1));
  require(difference);
}

void Runner::enter(const std::string& what) {
  std::snprintf(now_.data(), now_.size(), "step %d: %s; alone: %s --first %d --steps 1", step_,
                what.c_str(), alone_.c_str(), step_);
  check::section(now_.data());
}

void Runner::require(const std::string& difference) {
  if (!difference.empty()) check::fail(__FILE__, __LINE__, difference);
}

}  // namespace random_collectives
