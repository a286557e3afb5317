#include "gpu_aware.hpp"

#include <unistd.h>

namespace strake::probe {
namespace {

constexpr int kTimeout = 20;  // [s]

// Lines that the probe prints.
constexpr const char* kSpeaks = "strake-probe: ";
constexpr const char* kBegins = "strake-probe: begins";
constexpr const char* kRight = "strake-probe: right";
constexpr const char* kEnds = "strake-probe: ends";

/// Why this launcher's job never began.
std::string problem_of(const std::string& launcher, const JobEnd& job) {
  const std::string text = summary_of(job.output, kSpeaks);
  if (!text.empty()) return launcher + " printed: " + text;
  if (job.status == kNotInTime) {
    return launcher + " printed nothing and did not end within " + std::to_string(kTimeout) + " s";
  }
  return launcher + " ended with status " + std::to_string(job.status) + " and printed nothing";
}

}  // namespace

std::string probe_program(std::string_view flavor, const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    std::string path = folder + "/strake-probe-" + std::string(flavor);
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

Tried try_gpu_aware(const std::vector<Words>& commands, const std::string& program,
                    const Words& environment) {
  std::string problem;
  for (const Words& command : commands) {
    Words whole = command;
    whole.insert(whole.end(), {program, "gpu"});
    const JobEnd job = run_trial(whole, environment, kTimeout, kEnds);
    const auto printed = [&](const std::string& line) {
      return job.output.find(line) != std::string::npos;
    };
    // Another library's launcher starts ranks that do not find each other: they never begin.
    if (!printed(kBegins)) {
      if (problem.empty()) problem = problem_of(command[0], job);
      continue;
    }
    Awareness answer{printed(kRight) ? 1 : 0, 0};
    for (std::size_t i = 0; i < kTriedCollectives.size(); ++i) {
      if (printed(std::string(kRight) + " " + kTriedCollectives[i])) answer.collectives |= 1U << i;
    }
    return {answer, {}};
  }
  return {{}, problem};
}

}  // namespace strake::probe
