// Judgement of facts: tables of made-up ones.
#include "doctor/judge.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <functional>

#include "doctor/doctor_command.hpp"

namespace strake::doctor {
namespace {

using preload::MpiLibrary;

/// A profile of 60 results.
machine::Located measured() {
  machine::Located located;
  located.outcome = machine::Located::Outcome::Found;
  located.profile.emplace();
  located.profile->host = "node1";
  located.profile->date = "2026-11-27T10:00:00Z";
  machine::Result result;
  result.name = "mpi/node/host";
  result.mpi = "Open MPI 4.1.4";
  result.bytes = 64;
  result.median = 1e-6;
  located.profile->results.assign(60, result);
  return located;
}

/// No profile, for a reason.
void lose(Facts& facts, machine::Located::Outcome outcome, const char* problem) {
  facts.profile.located = {};
  facts.profile.located.outcome = outcome;
  facts.profile.located.problem = problem;
}

/// A machine without a fault.
Facts good_machine() {
  Facts facts;
  facts.libraries = {"Open MPI"};
  facts.machine.shm_kind = "tmpfs";
  facts.machine.shm_bytes = facts.machine.shm_free_bytes = std::int64_t{8} << 30;
  facts.machine.huge_pages = "madvise";
  facts.machine.cores = facts.machine.machine_cores = 8;
  facts.machine.memory_bytes = std::int64_t{16} << 30;
  facts.machine.locked_limit = -1;
  facts.profile.located = measured();
  facts.profile.folder = "/home/u/.cache/strake";
  facts.profile.writable = true;
  return facts;
}

/// A machine without a fault, with a job of two ranks that nothing is wrong with.
Facts good_job() {
  Facts facts = good_machine();
  Job job;
  job.launcher = "mpirun";
  job.launcher_title = "Open MPI";
  job.probe = "openmpi";
  ProgramFacts program;
  program.word = program.path = "./heat";
  program.library = MpiLibrary::OpenMpi;
  program.library_path = "/usr/lib/libmpi.so.40";
  program.ranks = 2;
  job.programs = {program};
  for (int rank = 0; rank < 2; ++rank)
    job.ranks.push_back({rank, 2, "node1", "4026531833", 8, true, 0, "Open MPI 4.1.4"});
  facts.job = job;
  return facts;
}

const Finding* finding_of(const Report& report, const std::string& topic) {
  for (const Finding& finding : report.findings)
    if (finding.topic == topic) return &finding;
  return nullptr;
}

struct Row {
  const char* name;
  std::function<void(Facts&)> change;
  const char* topic;
  State state;
  const char* text;    ///< in the finding's text
  const char* remedy;  ///< in its remedy
};

void expect_rows(const std::vector<Row>& rows, const Facts& start) {
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Facts facts = start;
    row.change(facts);
    const Report report = judge(facts);
    const Finding* finding = finding_of(report, row.topic);
    if (finding == nullptr) {
      ADD_FAILURE() << "no finding about " << row.topic;
      continue;
    }
    EXPECT_EQ(finding->state, row.state) << finding->text;
    EXPECT_NE(finding->text.find(row.text), std::string::npos) << finding->text;
    EXPECT_NE(finding->remedy.find(row.remedy), std::string::npos) << finding->remedy;
    if (row.state == State::Broken) {
      EXPECT_EQ(report.reached, false);
    }
  }
}

TEST(Judge, all_is_good_without_a_fault) {
  for (const Facts& facts : {good_machine(), good_job()}) {
    const Report report = judge(facts);
    for (const Finding& finding : report.findings)
      EXPECT_EQ(finding.state, State::Good) << finding.topic << ": " << finding.text;
    EXPECT_EQ(report.reached, true);
  }
}

TEST(Judge, faults_of_the_machine) {
  expect_rows({{"Yama", [](Facts& f) { f.machine.reading = EPERM, f.machine.ptrace_scope = 1; },
                "memory of other processes", State::Limited, "not permitted", "ptrace_scope=0"},
               {"container", [](Facts& f) { f.machine.reading = EPERM; },
                "memory of other processes", State::Limited, "twice", "SYS_PTRACE"},
               {"small shm", [](Facts& f) { f.machine.shm_free_bytes = 60 << 20; }, "/dev/shm",
                State::Limited, "60 MiB", "--shm-size"},
               {"no shm", [](Facts& f) { f.machine.shm_kind.clear(); }, "/dev/shm", State::Limited,
                "absent", "mount"},
               {"no memfd", [](Facts& f) { f.machine.shared_memory_problem = "memfd_create: no"; },
                "shared memory", State::Limited, "memfd_create", "seccomp"},
               {"huge pages", [](Facts& f) { f.machine.huge_pages = "never"; }, "huge pages",
                State::Limited, "TLB", "madvise"},
               {"quota", [](Facts& f) { f.machine.cpu_quota = 1.5; }, "cores and memory",
                State::Limited, "1.5 cores", "--cpus"},
               {"no interposer", [](Facts& f) { f.interposer_problem = "nothing there"; },
                "Strake's libraries", State::Broken, "nothing there", "install"}},
              good_machine());
}

Facts with_gpus() {
  Facts facts = good_machine();
  facts.gpus.driver = true;
  facts.gpus.gpus = {{"H100", 9, 0, true}, {"H100", 9, 0, true}};
  return facts;
}

TEST(Judge, faults_of_gpus) {
  expect_rows({{"driver", [](Facts& f) { f.gpus.problem = "no device"; }, "GPUs", State::Limited,
                "no device", "nvidia-smi"},
               {"kernels",
                [](Facts& f) {
                  f.gpus.gpus[1] = {"B200", 10, 0, false};
                },
                "GPU 1", State::Limited, "10.0", "CMAKE_CUDA_ARCHITECTURES=100"},
               {"plug-in", [](Facts& f) { f.gpus.plugin_problem = "missing"; }, "GPU plug-in",
                State::Limited, "missing", "STRAKE_CUDA"},
               {"peers",
                [](Facts& f) {
                  f.gpus.without_peer_access = {{0, 1}};
                },
                "peer access", State::Limited, "0-1", "IOMMU"},
               {"IPC", [](Facts& f) { f.gpus.ipc_problem = "invalid context"; }, "CUDA IPC",
                State::Limited, "invalid context", "--ipc=host"},
               {"locked", [](Facts& f) { f.machine.locked_limit = 8 << 20; }, "locked memory",
                State::Limited, "8 MiB", "ulimit -l"}},
              with_gpus());
}

TEST(Judge, faults_of_profile_and_environment) {
  const std::string measure = "mpirun -n 2 strake measure --quick";
  expect_rows(
      {{"missing",
        [](Facts& f) { lose(f, machine::Located::Outcome::Missing, "there is no profile"); },
        "profile", State::Limited, "not measured: there is no profile, so built-in rules choose",
        measure.c_str()},
       {"other machine",
        [](Facts& f) { lose(f, machine::Located::Outcome::Unusable, "/p is of another machine"); },
        "profile", State::Limited, "not measured: /p is of another machine", measure.c_str()},
       {"busy",
        [](Facts& f) {
          for (std::size_t i = 0; i < 30; ++i)
            f.profile.located.profile->results[i].doubtful = "other processes used 1.3 of 2 CPUs";
        },
        "profile", State::Limited,
        "doubtful: measured with Open MPI 4.1.4 on node1, 2026-11-27T10:00:00Z, while other "
        "processes used 1.3 of 2 CPUs; 30 of 60 results are not used",
        "mpirun -n 2 strake measure --quick  # when top shows that nothing else uses the CPUs"},
       {"another library", [](Facts& f) { f.job->ranks[0].library = "Open MPI 5.0.1"; }, "profile",
        State::Limited, "not measured with Open MPI 5.0.1, only with Open MPI 4.1.4 on node1",
        measure.c_str()},
       {"off", [](Facts& f) { lose(f, machine::Located::Outcome::Off, "STRAKE_PROFILE=none"); },
        "profile", State::Limited, "STRAKE_PROFILE=none", "unset STRAKE_PROFILE"},
       {"no HOME", [](Facts& f) { f.profile.folder.clear(); }, "place of profiles", State::Limited,
        "HOME", "export HOME"},
       {"read-only", [](Facts& f) { f.profile.writable = false; }, "place of profiles",
        State::Limited, "/home/u/.cache/strake", "XDG_CACHE_HOME"},
       {"misspelt", [](Facts& f) { f.environment.complaints = {"STRAKE_LGO is not a setting"}; },
        "settings", State::Limited, "STRAKE_LGO", ""},
       {"sanitizer",
        [](Facts& f) {
          f.environment.companions = {{"/usr/lib/libasan.so", true}};
        },
        "LD_PRELOAD", State::Limited, "first", "ASAN_OPTIONS"}},
      good_job());
}

TEST(Judge, faults_of_a_job) {
  const auto alone = [](Facts& f) {
    for (RankFacts& rank : f.job->ranks) rank.rank = 0, rank.ranks = 1;
    f.job->why_alone = "mpirun is MPICH's";
    f.job->alone_remedy = "mpirun.openmpi -n 2 ./heat";
  };
  expect_rows(
      {{"foreign launcher", alone, "ranks", State::Broken, "2 jobs of one rank",
        "mpirun.openmpi -n 2"},
       {"missing", [](Facts& f) { f.job->programs[0].path.clear(); }, "program ./heat",
        State::Broken, "no such program", "path"},
       {"static", [](Facts& f) { f.job->programs[0].kind = ProgramFacts::Kind::Static; },
        "program ./heat", State::Broken, "statically", "dynamically"},
       {"sanitized", [](Facts& f) { f.job->programs[0].insists_on_first = true; }, "program ./heat",
        State::Broken, "address sanitizer", "ASAN_OPTIONS"},
       {"refused", [](Facts& f) { f.job->programs[0].problem = "its library is not known"; },
        "program ./heat", State::Broken, "not known", ""},
       {"start",
        [](Facts& f) { f.job->ranks.clear(), f.job->probe_problem = "mpirun printed: slots"; },
        "start", State::Broken, "slots", ""},
       {"not interposed", [](Facts& f) { f.job->ranks[1].interposed = false; }, "interposer",
        State::Broken, "rank 1", "install"},
       {"more ranks than cores", [](Facts& f) { f.job->programs[0].ranks = 9; }, "cores",
        State::Limited, "9 ranks share 8 cores", "8 ranks"},
       {"neighbour", [](Facts& f) { f.job->ranks[1].reading = EPERM; }, "memory of other ranks",
        State::Limited, "rank 1", ""},
       {"containers", [](Facts& f) { f.job->ranks[1].network = "7"; }, "network namespaces",
        State::Limited, "one host", "--network=host"},
       {"not GPU-aware", [](Facts& f) { f.job->gpu_aware = 0; }, "GPU-aware MPI", State::Limited,
        "pinned host memory", "CUDA"}},
      good_job());
}

TEST(Judge, a_script_shows_only_when_it_runs) {
  Facts facts = good_job();
  facts.job->programs[0].kind = ProgramFacts::Kind::Script;
  facts.job->programs[0].library = MpiLibrary::None;
  const Report report = judge(facts);
  EXPECT_EQ(finding_of(report, "program ./heat")->state, State::Limited);
  EXPECT_FALSE(report.reached.has_value()) << report.verdict;
}

TEST(Judge, what_is_disabled_is_not_reached_though_nothing_is_broken) {
  Facts facts = good_job();
  facts.environment.disabled = true;
  EXPECT_EQ(judge(facts).reached, false);
}

TEST(Judge, a_program_without_datatypes_is_told_that_nothing_changes) {
  Facts facts = good_job();
  facts.job->programs[0].only_contiguous = true;
  const Report report = judge(facts);
  EXPECT_EQ(report.reached, true);
  EXPECT_EQ(report.verdict,
            "Strake would be in every rank, and would change no message: see datatypes.");
  const Finding* finding = finding_of(report, "datatypes");
  ASSERT_NE(finding, nullptr);
  EXPECT_NE(finding->text.find("./heat makes none"), std::string::npos) << finding->text;
}

TEST(Judge, no_verdict_claims_a_gain) {
  Facts disabled = good_job();
  disabled.environment.disabled = true;
  Facts broken = good_job();
  broken.interposer_problem = "nothing there";
  Facts open = good_job();
  open.job->programs[0].library = MpiLibrary::None;
  for (const Facts& facts : {good_machine(), good_job(), disabled, broken, open}) {
    const std::string text = to_text(judge(facts)) + to_json(judge(facts));
    for (const char* word : {"accelerat", "faster"})
      EXPECT_EQ(text.find(word), std::string::npos) << text;
  }
  EXPECT_NE(judge(good_job()).verdict.find("Whether that helps: strake run --compare 5"),
            std::string::npos);
}

TEST(Report, text_has_a_hundred_columns) {
  Facts facts = good_job();
  facts.machine.reading = EPERM;
  const std::string text = to_text(judge(facts));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const bool remedy = text.compare(at + 9, 2, "->") == 0;
    EXPECT_TRUE(remedy || end - at <= 100) << text.substr(at, end - at);
    at = end + 1;
  }
}

}  // namespace
}  // namespace strake::doctor
