// Cost of an interposer for each send and receive, above a stub of the MPI library whose calls
// return at once (stub.cpp). Rank 0 measures. Its messages name rank 1, which sleeps and gets none:
// Strake treats messages of a rank to itself otherwise. The cost of an operation is its time, minus
// the time of the same calls made to the stub itself, minus the time of its copy where the message
// was packed. A call that the interposer adds counts as what the stub takes for it, a few ns; the
// library would take more, so the number of such calls is told too. bench/run-call-cost preloads
// what this needs.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "call_cost/cases.hpp"
#include "call_cost/instructions.hpp"
#include "mpi/environment.hpp"
#include "mpi/paired_sampling.hpp"
#include "support/options.hpp"
#include "support/report.hpp"
#include "support/turns.hpp"

namespace {

using namespace bench;
using Body = std::function<void()>;

constexpr int kWarmUp = 50;  // calls of each body before it is timed
// Messages before anything is timed: Strake looks for new shared objects at each of the first 4096.
constexpr int kFirstMessages = 10000;
constexpr int kCounted = 200;

struct Program {
  Functions outermost;
  Stub stub;
};

// Whether a message of each box arrives through `f`, and nothing else changes.
bool check(const CallCase& one, const Program& program) {
  if (one.boxes == nullptr || !one.receives) return true;
  program.stub.control->loop_back = true;
  int wrong = 0;
  {
    const Body body = one.prepare(program.outermost);
    for (int i = 0; i < 2; ++i) {
      one.boxes->fill();
      body();
      wrong += one.boxes->wrong_cells(one.boxes_used);
    }
  }
  program.stub.control->loop_back = false;
  if (wrong != 0) std::fprintf(stderr, "%s: %d wrong cells\n", one.name.c_str(), wrong);
  return wrong == 0;
}

// How the messages of one call travelled.
struct Seen {
  double calls = 0;  ///< of the stub's functions
  bool packed = false;
};

Seen see(StubControl& control, const Boxes* boxes, const Body& body) {
  control.program_begin = boxes != nullptr ? boxes->from() : nullptr;
  control.program_end = boxes != nullptr ? boxes->end() : nullptr;
  const StubControl before = control;
  body();
  return {static_cast<double>(control.calls - before.calls),
          boxes != nullptr && control.program_messages == before.program_messages};
}

// The bodies of a case, and what is counted once for each.
struct Part {
  const char* name;
  Body body;
  std::vector<double> ns;
  std::optional<double> instructions;
};

std::vector<Part> parts_of(const CallCase& one, const Program& program, bool packed) {
  std::vector<Part> parts;
  parts.push_back({"through", one.prepare(program.outermost), {}, {}});
  parts.push_back({"stub", one.prepare(program.stub.functions), {}, {}});
  if (packed) {
    const auto copy = [&one] {
      one.boxes->pack(one.boxes_used);
      if (one.receives) one.boxes->unpack(one.boxes_used);
    };
    parts.push_back({"copy", copy, {}, {}});
  }
  for (Part& part : parts) {
    for (int i = 0; i < kWarmUp; ++i) part.body();
  }
  return parts;
}

// Nanoseconds of each operation beyond the stub's and the copy's, a value for each turn.
std::vector<double> measure(std::vector<Part>& parts, const Budget& budget, int operations) {
  int turns = budget.max_samples;
  std::vector<Plan> plans;
  for (Part& part : parts) {
    plans.push_back(plan_of(budget, part.body));
    turns = std::min(turns, plans.back().samples);
  }
  for (Plan& plan : plans) plan.samples = turns;
  const auto seconds = sample_by_turns(
      plans, {turns}, [&](std::size_t which, const Plan& part, std::vector<double>& to) {
        take_samples(part, parts[which].body, to);
      });
  std::vector<double> beyond(static_cast<std::size_t>(turns));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].ns = scaled(seconds[i], 1e9 / operations);
    for (std::size_t turn = 0; turn < beyond.size(); ++turn)
      beyond[turn] += i == 0 ? parts[i].ns[turn] : -parts[i].ns[turn];
  }
  return beyond;
}

void measure_and_report(const CallCase& one, const Program& program, const Budget& budget,
                        const InstructionCounter& counter, const Report& report) {
  Seen through = {};
  Seen beneath = {};
  {
    const Body body = one.prepare(program.outermost);
    body();
    through = see(*program.stub.control, one.boxes, body);
    beneath = see(*program.stub.control, one.boxes, one.prepare(program.stub.functions));
  }
  std::vector<Part> parts = parts_of(one, program, through.packed);
  if (under_valgrind()) {
    for (const Part& part : parts) {
      callgrind_start();
      for (int i = 0; i < kCounted; ++i) part.body();
      callgrind_stop(one.name + " " + part.name + " " + std::to_string(kCounted * one.operations));
    }
    return;
  }
  const std::vector<double> beyond = measure(parts, budget, one.operations);
  const char* const method = std::getenv("STRAKE_METHOD");
  std::vector<Field> fields = {{"op", std::string(through.packed ? "packed" : "passed")},
                               {"method", std::string(method != nullptr ? method : "auto")},
                               {"operations", std::int64_t{one.operations}},
                               {"calls_added", (through.calls - beneath.calls) / one.operations}};
  double instructions = 0;
  for (Part& part : parts) {
    fields.push_back({std::string(part.name) + "_ns", summarize(part.ns).median});
    part.instructions = instructions_per_call(counter, kCounted, part.body);
    if (part.instructions) {
      const double each = *part.instructions / one.operations;
      fields.push_back({std::string(part.name) + "_instructions", each});
      instructions += &part == parts.data() ? each : -each;
    }
  }
  if (counter.works()) fields.push_back({"instructions", instructions});
  report.line(one.name, summarize(beyond), "-ns", fields);
}

// Until every rank is here. Past the interposer and the stub; the rank that waits leaves its core.
// (A program that calls PMPI_Test by its name would share no messages.)
void meet() {
  static const auto test = bench::find_beneath<decltype(&MPI_Test)>("PMPI_Test");
  MPI_Request request;
  PMPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int done = 0; done == 0;) {
    test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0) usleep(10000);
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Options options = bench::parse_options(
      argc, argv, "What an interposer costs for each message, above a stub of the MPI library");
  options.budget.sample_seconds = options.quick ? 50e-6 : 200e-6;
  bench::Environment mpi(&argc, &argv);
  mpi.require_ranks(2);
  const bool measures = mpi.rank() == 0;
  Program program{outermost_functions(), loaded_stub(BENCH_STUB_LIBRARY)};
  const char* const sends = std::getenv("BENCH_STUB_SENDS");
  program.stub.control->own_send_requests = sends != nullptr && std::string(sends) == "own";
  const InstructionCounter counter;
  const bench::Report report("call_cost", mpi.ranks(), mpi.library());
  std::vector<bench::Boxes> boxes;
  for (const int edge : {2, 4, 8}) boxes.emplace_back(edge);  // 64 B, 512 B, 4 KiB
  bool right = true;
  const std::vector<bench::CallCase> cases = bench::call_cases(boxes);
  const Body first = cases.front().prepare(program.outermost);
  for (int i = 0; measures && i < kFirstMessages; ++i) first();
  for (const bench::CallCase& one : cases) {
    if (options.list && measures) std::puts(one.name.c_str());
    if (options.list || !options.selects(one.name)) continue;
    Turns::instance().next();
    if (!measures) continue;
    program.stub.control->message_bytes = one.boxes != nullptr ? one.boxes->box_bytes() : 8;
    if (check(one, program)) {
      measure_and_report(one, program, options.budget, counter, report);
    } else {
      right = false;
    }
  }
  meet();
  return right ? 0 : 1;
}
