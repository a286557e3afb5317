/// \file  Instructions that this thread executes, in user mode: by the CPU's counter, or by
/// callgrind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace bench {

/// The CPU's counter, where the machine has one and the kernel lets this process read it.
class InstructionCounter {
 public:
  InstructionCounter();
  ~InstructionCounter();
  InstructionCounter(const InstructionCounter&) = delete;
  InstructionCounter& operator=(const InstructionCounter&) = delete;
  [[nodiscard]] bool works() const { return file_ >= 0; }
  /// Since it was made. Costs a system call.
  [[nodiscard]] std::int64_t read() const;

 private:
  int file_;
};

/// Instructions of one call of `body`, the mean of `calls`; nothing where the counter doesn't work.
template <typename Body>
std::optional<double> instructions_per_call(const InstructionCounter& counter, int calls,
                                            Body&& body) {
  if (!counter.works()) return std::nullopt;
  const std::int64_t begin = counter.read();
  for (int i = 0; i < calls; ++i) body();
  return static_cast<double>(counter.read() - begin) / calls;
}

/// Whether the process runs under valgrind, where times say nothing.
bool under_valgrind();
/// Callgrind counts from here to `callgrind_stop`, which writes the count to a file, under `label`.
void callgrind_start();
void callgrind_stop(const std::string& label);

}  // namespace bench
