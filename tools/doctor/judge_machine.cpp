// Findings about the machine, its GPUs and this process's limits.
#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <cstring>

#include "judge.hpp"

namespace strake::doctor {
namespace {

constexpr std::int64_t kMega = 1 << 20;

/// "64 MiB", "7.8 GiB".
std::string size_text(std::int64_t bytes) {
  const double mega = static_cast<double>(bytes) / kMega;
  if (mega < 1024) return fmt::format("{:.0f} MiB", mega);
  return fmt::format("{:.1f} GiB", mega / 1024);
}

std::string cores_text(double cores) {
  return fmt::format("{:.3g} core{}", cores, cores == 1 ? "" : "s");
}

Finding reading_finding(const Machine& machine) {
  Finding finding{State::Good, "memory of other processes",
                  "processes read each other's memory (CMA), so the MPI library copies long "
                  "messages within the node once",
                  ""};
  if (machine.reading == 0) return finding;
  finding.state = State::Limited;
  finding.text = fmt::format(
      "process_vm_readv: {}, so the MPI library copies long messages within the node twice; those "
      "that Strake packs do not need it",
      std::strerror(machine.reading));
  finding.remedy =
      machine.reading == EPERM && machine.ptrace_scope > 0
          ? fmt::format("sysctl kernel.yama.ptrace_scope=0 (it is {}), as root on the machine",
                        machine.ptrace_scope)
          : "start the container with --cap-add=SYS_PTRACE, or with a seccomp profile that allows "
            "process_vm_readv";
  return finding;
}

Finding shm_finding(const Machine& machine) {
  constexpr std::int64_t kLeast = 64 * kMega;  // Docker's default; MPI libraries want more of it
  Finding finding{State::Good, "/dev/shm", "", ""};
  if (machine.shm_kind.empty()) {
    finding.state = State::Limited;
    finding.text = "absent: MPI libraries keep their queues there and fall back to files or TCP";
    finding.remedy = "mount -t tmpfs tmpfs /dev/shm";
    return finding;
  }
  finding.text = fmt::format("{} of {} free, {}", size_text(machine.shm_free_bytes),
                             size_text(machine.shm_bytes), machine.shm_kind);
  if (machine.shm_kind != "tmpfs") {
    finding.state = State::Limited;
    finding.text += ": the MPI library's queues between ranks go through a file system";
    finding.remedy = "mount -t tmpfs tmpfs /dev/shm";
  } else if (machine.shm_free_bytes <= kLeast) {
    finding.state = State::Limited;
    finding.text += ": jobs of many ranks end with a bus error where it is full";
    finding.remedy = "docker run --shm-size=1g (or mount -o remount,size=1g /dev/shm)";
  }
  return finding;
}

Finding huge_pages_finding(const Machine& machine) {
  if (machine.huge_pages == "never") {
    return {State::Limited, "huge pages",
            "never used: copies of large arrays miss the TLB more often",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (as root)"};
  }
  return {State::Good, "huge pages",
          machine.huge_pages.empty() ? "the kernel does not say" : machine.huge_pages, ""};
}

Finding limits_finding(const Machine& machine) {
  Finding finding{State::Good, "cores and memory", "", ""};
  finding.text = machine.cores == machine.machine_cores
                     ? cores_text(machine.cores)
                     : fmt::format("{} of {}", machine.cores, cores_text(machine.machine_cores));
  if (machine.cpu_quota > 0 && machine.cpu_quota < machine.cores) {
    finding.state = State::Limited;
    finding.text += fmt::format(
        ", of which the control group gives the time of {}: ranks stand still when it is used up",
        cores_text(machine.cpu_quota));
    finding.remedy = "raise the container's limit (docker run --cpus), or start fewer ranks";
  }
  finding.text += fmt::format(", {}", size_text(machine.memory_bytes));
  if (machine.memory_limit > 0 && machine.memory_limit < machine.memory_bytes)
    finding.text +=
        fmt::format(" of which the control group allows {}", size_text(machine.memory_limit));
  return finding;
}

std::string pair_text(const std::vector<Gpus::Pair>& pairs) {
  std::string text;
  for (const Gpus::Pair& pair : pairs)
    text += fmt::format("{}{}-{}", text.empty() ? "" : ", ", pair.from, pair.to);
  return text;
}

void judge_each_gpu(const Gpus& gpus, std::vector<Finding>& findings) {
  for (std::size_t i = 0; i < gpus.gpus.size(); ++i) {
    const Gpus::Gpu& gpu = gpus.gpus[i];
    Finding finding{
        State::Good, fmt::format("GPU {}", i),
        fmt::format("{}, kernels for its compute capability {}.{}", gpu.name, gpu.major, gpu.minor),
        ""};
    if (!gpu.usable) {
      finding.state = State::Limited;
      finding.text = fmt::format(
          "{}: Strake has no kernels for compute capability {}.{}, so messages in its memory are "
          "left to the MPI library",
          gpu.name, gpu.major, gpu.minor);
      finding.remedy =
          fmt::format("build Strake with -DCMAKE_CUDA_ARCHITECTURES={}{}", gpu.major, gpu.minor);
    }
    findings.push_back(finding);
  }
}

}  // namespace

void judge_machine(const Facts& facts, std::vector<Finding>& findings) {
  const Machine& machine = facts.machine;
  if (!facts.interposer_problem.empty()) {
    findings.push_back({State::Broken, "Strake's libraries", facts.interposer_problem,
                        "install Strake again, all of it"});
  } else {
    findings.push_back(
        {State::Good, "Strake's libraries",
         fmt::format("there are interposers for {}", fmt::join(facts.libraries, " and ")), ""});
  }
  if (machine.shared_memory_problem.empty()) {
    findings.push_back(
        {State::Good, "shared memory", "ranks of a node can share packed messages", ""});
  } else {
    findings.push_back(
        {State::Limited, "shared memory",
         fmt::format("{}: packed messages within a node go through the MPI library",
                     machine.shared_memory_problem),
         "allow memfd_create (seccomp), larger files (ulimit -f), and directories in "
         "/dev/shm or /tmp"});
  }
  findings.push_back(reading_finding(machine));
  findings.push_back(
      {State::Good, "XPMEM",
       machine.xpmem ? "there, for the MPI library" : "absent; Strake does not need it", ""});
  findings.push_back(shm_finding(machine));
  findings.push_back(huge_pages_finding(machine));
  findings.push_back(limits_finding(machine));
}

void judge_gpus(const Facts& facts, std::vector<Finding>& findings) {
  const Gpus& gpus = facts.gpus;
  if (!gpus.driver) {
    findings.push_back({State::Good, "GPUs", "none: there is no NVIDIA driver", ""});
    return;
  }
  if (!gpus.problem.empty()) {
    findings.push_back(
        {State::Limited, "GPUs",
         fmt::format("the driver can't be used ({}), so programs that use GPUs fail", gpus.problem),
         "nvidia-smi says more; in a container: docker run --gpus all"});
    return;
  }
  if (!gpus.plugin_problem.empty()) {
    findings.push_back(
        {State::Limited, "GPU plug-in",
         fmt::format("{}: messages in GPU memory are left to the MPI library", gpus.plugin_problem),
         "build Strake with -DSTRAKE_CUDA=ON"});
  } else {
    judge_each_gpu(gpus, findings);
  }
  if (gpus.gpus.size() > 1 && !gpus.without_peer_access.empty()) {
    findings.push_back({State::Limited, "peer access",
                        fmt::format("GPUs {} can't reach each other's memory: messages between "
                                    "them go by way of the host",
                                    pair_text(gpus.without_peer_access)),
                        "turn off the IOMMU or ACS for them, or choose GPUs with a link (strake "
                        "topo)"});
  } else if (gpus.gpus.size() > 1) {
    findings.push_back({State::Good, "peer access", "all GPUs reach each other's memory", ""});
  }
  if (gpus.ipc_problem.empty()) {
    findings.push_back({State::Good, "CUDA IPC", "processes open each other's GPU memory", ""});
  } else {
    findings.push_back(
        {State::Limited, "CUDA IPC",
         fmt::format("{}: messages between GPU memory of two ranks go by way of the "
                     "host",
                     gpus.ipc_problem),
         "let all ranks see the same GPUs, in one container (docker run --ipc=host)"});
  }
  constexpr std::int64_t kLocked = 64 * kMega;
  if (facts.machine.locked_limit >= 0 && facts.machine.locked_limit < kLocked) {
    findings.push_back({State::Limited, "locked memory",
                        fmt::format("{} a process: network cards can't register what GPUs send",
                                    size_text(facts.machine.locked_limit)),
                        "ulimit -l unlimited (docker run --ulimit memlock=-1)"});
  } else {
    findings.push_back(
        {State::Good, "locked memory",
         facts.machine.locked_limit < 0 ? "no limit" : size_text(facts.machine.locked_limit), ""});
  }
}

}  // namespace strake::doctor
