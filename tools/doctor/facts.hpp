/// \file  Facts that `strake doctor` finds on a machine and about a job, as plain values: judge.hpp
/// says what they mean, so that tests can make them up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "machine/locate.hpp"
#include "preload/mpi_library.hpp"

namespace strake::doctor {

struct Machine {
  int reading = 0;        ///< errno of one process that reads a sibling's memory; 0: it could
  int ptrace_scope = -1;  ///< of Yama; -1: the kernel has none
  bool xpmem = false;
  std::string shm_kind;  ///< file system of /dev/shm: "tmpfs", "other"; empty: absent
  std::int64_t shm_bytes = 0;
  std::int64_t shm_free_bytes = 0;
  std::string shared_memory_problem;  ///< why Strake can't share memory; empty: it can
  std::string huge_pages;             ///< "always", "madvise", "never"; empty: not known
  int cores = 1;                      ///< hardware threads that this process may use
  int machine_cores = 1;
  double cpu_quota = 0;           ///< of the control group, in cores; 0: none
  std::int64_t memory_bytes = 0;  ///< of the machine
  std::int64_t memory_limit = 0;  ///< of the control group [bytes]; 0: none
  std::int64_t locked_limit = 0;  ///< RLIMIT_MEMLOCK [bytes]; -1: none
};

struct Gpus {
  bool driver = false;  ///< libcuda.so.1 is there
  std::string problem;  ///< why the driver can't be used
  struct Gpu {
    std::string name;
    int major = 0;  ///< compute capability
    int minor = 0;
    bool usable = false;  ///< Strake has kernels for it
  };
  std::vector<Gpu> gpus;
  std::string plugin_problem;  ///< why Strake's GPU plug-in can't be used; empty: it can
  struct Pair {
    int from = 0;
    int to = 0;
  };
  std::vector<Pair> without_peer_access;
  std::string ipc_problem;  ///< why memory of one process can't be opened by another; empty: it can
};

/// The profile of this machine.
struct ProfileFacts {
  machine::Located located;
  std::string folder;     ///< where profiles go; empty: no place
  bool writable = false;  ///< the folder, or what it would be made in
};

struct Environment {
  std::vector<std::string> complaints;  ///< of settings
  std::vector<std::string> unusual;     ///< settings that are not the default: "STRAKE_SHARE=0"
  bool disabled = false;                ///< STRAKE_DISABLE=1
  struct Companion {
    std::string path;
    bool found = true;
  };
  std::vector<Companion> companions;  ///< what LD_PRELOAD names
};

/// One program of a job.
struct ProgramFacts {
  std::string word;  ///< as on the command line; empty: the line could not be read up to it
  std::string path;  ///< empty: not found
  bool elsewhere = false;
  enum class Kind : std::uint8_t { Binary, Static, Script, Python };
  Kind kind = Kind::Binary;
  /// Open MPI or MPICH, or None: it uses none, or one that is not known.
  preload::MpiLibrary library = preload::MpiLibrary::None;
  std::string library_path;  ///< its file
  std::string problem;       ///< why `strake run` refuses it
  int ranks = 0;             ///< by -n; 0: not said
  /// Built with the address sanitizer, which ends a program that another object is loaded before.
  bool insists_on_first = false;
  /// Neither it nor a library of its own makes datatypes, so all its messages are contiguous. False
  /// also where that is not known.
  bool only_contiguous = false;

  [[nodiscard]] bool has_library() const { return library != preload::MpiLibrary::None; }
};

/// One rank of the probe.
struct RankFacts {
  int rank = 0;
  int ranks = 1;  ///< of its MPI_COMM_WORLD
  std::string host;
  std::string network;
  int cores = 0;
  bool interposed = false;
  int reading = -1;  ///< errno of reading a neighbour's memory; -1: no neighbour
  std::string library;
};

struct Job {
  std::string problem;   ///< why `strake run` refuses the command
  std::string launcher;  ///< as on the command line; empty: the program itself
  std::string launcher_title;
  std::vector<ProgramFacts> programs;
  std::string probe;  ///< flavor of the probe; empty: none was started
  std::vector<RankFacts> ranks;
  std::string probe_problem;
  std::string why_alone;  ///< if each rank is a job of its own
  std::string alone_remedy;
  int gpu_aware = -1;  ///< 1: yes, 0: no, -1: not tried
  std::string gpu_aware_problem;
};

struct Facts {
  Machine machine;
  Gpus gpus;
  ProfileFacts profile;
  Environment environment;
  std::string interposer_problem;      ///< why `strake run` can't work at all
  std::vector<std::string> libraries;  ///< MPI libraries that there is an interposer for
  std::optional<Job> job;
  std::string strake = "strake";  ///< how a user starts this command
};

}  // namespace strake::doctor
