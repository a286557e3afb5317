#include "aware.hpp"

#include <dlfcn.h>
#include <limits.h>
#include <mpi.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "cuda_driver.hpp"
#include "launch.hpp"
#include "mpi/quirks.hpp"

namespace strake::measure {
namespace {

/// The helper program.
const std::string kProbe = "strake-gpu-probe-" + std::string(mpi::quirks::kFlavor);

constexpr int kTimeout = 20;  // [s]

// What the helper program prints.
constexpr const char* kSpeaks = "strake-gpu-probe: ";
constexpr const char* kBegins = "strake-gpu-probe: begins";
constexpr const char* kRight = "strake-gpu-probe: right";
constexpr const char* kEnds = "strake-gpu-probe: ends";

/// Of this object.
std::string own_folder() {
  Dl_info info{};
  char real[PATH_MAX] = "";
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 ||
      realpath(info.dli_fname, real) == nullptr) {
    return {};
  }
  const std::string path = real;
  return path.substr(0, path.rfind('/'));
}

/// The helper program, beside this object or where the build puts it; empty: missing.
std::string probe_program() {
  const std::string folder = own_folder();
  for (const std::string& path : {folder + "/" + kProbe, folder + "/../bin/" + kProbe}) {
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

struct Tried {
  Awareness answer;
  std::string problem;
};

/// Why this launcher's job never began.
std::string problem_of(const std::string& launcher, const JobEnd& job) {
  const std::string text = summary_of(job.output, kSpeaks);
  if (!text.empty()) return launcher + " printed: " + text;
  if (job.status == kNotInTime) {
    return launcher + " printed nothing and did not end within " + std::to_string(kTimeout) + " s";
  }
  return launcher + " ended with status " + std::to_string(job.status) + " and printed nothing";
}

Tried try_it() {
  if (CudaDriver::find() == nullptr) return {};
  const std::string program = probe_program();
  if (program.empty()) {
    return {{}, "the program " + kProbe + " is missing beside " + own_folder()};
  }
  std::string problem;
  for (const std::string& launcher : launchers(mpi::quirks::kLaunchers)) {
    const JobEnd job = run_job({launcher, "-n", "2", program}, kTimeout, kEnds);
    const auto printed = [&](const std::string& line) {
      return job.output.find(line) != std::string::npos;
    };
    // Another library's launcher starts ranks that do not find each other: they never begin.
    if (!printed(kBegins)) {
      if (problem.empty()) problem = problem_of(launcher, job);
      continue;
    }
    Awareness answer{printed(kRight) ? 1 : 0, 0};
    for (std::size_t i = 0; i < kTriedCollectives.size(); ++i) {
      if (printed(std::string(kRight) + " " + kTriedCollectives[i])) answer.collectives |= 1U << i;
    }
    return {answer, {}};
  }
  if (problem.empty()) {
    problem = "no launcher (" + std::string(mpi::quirks::kLaunchers[1]) +
              ") was found beside the process that started this one, nor on the PATH";
  }
  return {{}, problem};
}

const Tried& tried() {
  static const Tried once = try_it();
  return once;
}

}  // namespace

Awareness tried_job_of_two() { return tried().answer; }

std::string why_not_tried() { return tried().problem; }

}  // namespace strake::measure
