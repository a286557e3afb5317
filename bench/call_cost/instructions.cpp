#include "call_cost/instructions.hpp"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else  // counts by the CPU's counter alone
#define RUNNING_ON_VALGRIND 0
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS_AT(label) (void)(label)
#endif

namespace bench {

InstructionCounter::InstructionCounter() {
  perf_event_attr wanted{};
  wanted.type = PERF_TYPE_HARDWARE;
  wanted.size = sizeof wanted;
  wanted.config = PERF_COUNT_HW_INSTRUCTIONS;
  wanted.exclude_kernel = 1;
  wanted.exclude_hv = 1;
  file_ = static_cast<int>(syscall(SYS_perf_event_open, &wanted, 0, -1, -1, 0));
}

InstructionCounter::~InstructionCounter() {
  if (works()) close(file_);
}

std::int64_t InstructionCounter::read() const {
  std::int64_t count = 0;
  return ::read(file_, &count, sizeof count) == sizeof count ? count : 0;
}

bool under_valgrind() { return RUNNING_ON_VALGRIND != 0; }

void callgrind_start() {
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_ZERO_STATS;
}

void callgrind_stop(const std::string& label) {
  CALLGRIND_DUMP_STATS_AT(label.c_str());
  CALLGRIND_STOP_INSTRUMENTATION;
}

}  // namespace bench
