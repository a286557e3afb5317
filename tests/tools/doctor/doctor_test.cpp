// `strake doctor` as built, on this machine: what it finds by doing.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/run_fixture.hpp"

namespace strake::tools_test {
namespace {

using Json = nlohmann::json;

struct Checked {
  int status = 0;
  Json report;
  std::string err;

  /// The first finding whose topic begins so; null: none.
  [[nodiscard]] Json finding(const std::string& topic) const {
    for (const Json& finding : report["findings"])
      if (finding["topic"].get<std::string>().starts_with(topic)) return finding;
    return nullptr;
  }
  /// "state text" of it.
  [[nodiscard]] std::string said(const std::string& topic) const {
    const Json found = finding(topic);
    return found.is_null()
               ? ""
               : found["state"].get<std::string>() + " " + found["text"].get<std::string>();
  }
};

/// `before strake doctor --json -- command`; without a command if that is empty.
Checked doctor(const Words& command, const Words& environment = {}, const Words& before = {}) {
  const Words dashes = command.empty() ? Words{} : Words{"--"};
  const Outcome outcome =
      run(join({before, {STRAKE_PREFIX "/bin/strake", "doctor", "--json"}, dashes, command}),
          environment);
  // Strake's probe takes the place of the program, which must not run.
  EXPECT_EQ(lines_with(outcome.out, "hello "), 0) << outcome.out;
  return {outcome.status, Json::parse(outcome.out, nullptr, false), outcome.err};
}

class Doctor : public Run {};

TEST_P(Doctor, a_job_that_is_well_is_reached) {
  const Checked checked = doctor(join({ranks(2), {hello(), "7"}}));
  EXPECT_EQ(checked.status, 0);
  EXPECT_EQ(checked.report["reached"], true) << checked.report.dump(2) << checked.err;
  EXPECT_TRUE(checked.said("ranks").starts_with("good 2 found each other"));
  EXPECT_EQ(checked.said("interposer"), "good in every rank");
  // The program sends contiguous bytes only.
  EXPECT_TRUE(checked.said("datatypes").starts_with("limited " + hello() + " makes none"))
      << checked.report.dump(2);
}

TEST_P(Doctor, a_program_that_is_no_job_of_this_library_is_several_jobs) {
  const std::string other = GetParam() == "openmpi" ? "mpich" : "openmpi";
  if (lines_with(STRAKE_FLAVORS, other) == 0) GTEST_SKIP() << "needs both MPI libraries";
  const std::string program = kPrograms + "/hello_" + other;
  // Without more options, so that the whole command is known.
  const Words command = {mpirun()[0], "-n", "2", program};
  if (lines_with(run(command).out, "of 2") == 2) GTEST_SKIP() << "it is started by both launchers";
  const Checked checked = doctor(command);
  EXPECT_EQ(checked.status, 1);
  EXPECT_EQ(checked.report["reached"], false);
  EXPECT_TRUE(checked.said("ranks").starts_with("broken 2 jobs of one rank")) << checked.err;
  const auto remedy = checked.finding("ranks")["remedy"].get<std::string>();
  EXPECT_TRUE(remedy.ends_with("-n 2 " + program)) << remedy;
  // The remedy works.
  EXPECT_EQ(lines_with(run(split(remedy)).out, "of 2"), 2) << remedy;

  const Outcome outcome = job({"--quiet"}, command);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(lines_with(outcome.err, "each rank of this job was a job of its own"), 1);
  EXPECT_NE(outcome.err.find(remedy), std::string::npos) << outcome.err;
}

TEST_P(Doctor, run_does_not_warn_of_jobs_that_are_well) {
  EXPECT_EQ(job({"--quiet"}, join({ranks(2), {hello()}})).err, "");
  EXPECT_EQ(job({"--quiet"}, join({ranks(1), {hello()}})).err, "");
}

TEST_P(Doctor, a_program_that_can_not_be_reached_is_not_started) {
  const Checked missing = doctor(join({ranks(2), {"./nothing"}}));
  EXPECT_EQ(missing.status, 1);
  EXPECT_TRUE(missing.said("program ./nothing").starts_with("broken there is no such program"));
  EXPECT_TRUE(missing.finding("ranks").is_null());
  const std::string program = kPrograms + "/strake_static";
  if (!std::filesystem::exists(program)) return;
  const Checked still = doctor(join({ranks(2), {program}}));
  EXPECT_EQ(still.status, 1);
  EXPECT_TRUE(still.said("program").starts_with("broken it is linked statically"));
}

TEST_P(Doctor, a_script_shows_only_when_it_runs) {
  const TemporaryFile script("job.sh", "#!/bin/sh\nexec " + hello() + "\n");
  const Checked checked = doctor(join({ranks(2), {script.path()}}));
  EXPECT_EQ(checked.status, 0);
  EXPECT_TRUE(checked.report["reached"].is_null());
  EXPECT_TRUE(checked.said("program").starts_with("limited a script"));
}

TEST_P(Doctor, what_the_launcher_says_of_a_job_that_does_not_start_is_shown) {
  const Checked checked = doctor({mpirun()[0], "-frob", "-n", "2", hello()});
  EXPECT_EQ(checked.status, 1);
  EXPECT_NE(checked.said("start").find("frob"), std::string::npos) << checked.report.dump(2);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Doctor);  // built without MPI
INSTANTIATE_TEST_SUITE_P(Flavors, Doctor, testing::ValuesIn(split(STRAKE_FLAVORS)),
                         [](const auto& flavor) { return flavor.param; });

TEST(DoctorOfMachine, reports_in_text_and_json) {
  const Checked checked = doctor({});
  EXPECT_EQ(checked.status, 0);
  EXPECT_EQ(checked.report["reached"], true) << checked.report.dump(2);
  const Outcome text = strake({"doctor"});
  EXPECT_EQ(text.status, 0);
  for (const Json& finding : checked.report["findings"]) {
    EXPECT_GE(lines_with(text.out, finding["state"].get<std::string>() + " "), 1);
    EXPECT_GE(lines_with(text.out, finding["topic"].get<std::string>() + ": "), 1);
  }
}

TEST(DoctorOfMachine, finds_that_processes_can_not_read_each_other) {
  const Checked free = doctor({});
  if (!free.said("memory of other processes").starts_with("good"))
    GTEST_SKIP() << "not permitted on this machine";
  const Checked denied = doctor({}, {}, {kPrograms + "/strake_denied"});
  EXPECT_EQ(denied.status, 0);
  EXPECT_TRUE(denied.said("memory of other processes").starts_with("limited process_vm_readv: "))
      << denied.report.dump(2);
}

TEST(DoctorOfMachine, finds_that_profiles_have_no_place) {
  const Checked none = doctor({}, {"HOME=", "XDG_CACHE_HOME="});
  EXPECT_EQ(none.status, 0);
  EXPECT_TRUE(none.said("place of profiles").starts_with("limited none"));
  EXPECT_TRUE(doctor({}, {"XDG_CACHE_HOME=/tmp"}).finding("place of profiles").is_null());
}

TEST(DoctorOfMachine, finds_settings_and_what_else_is_preloaded) {
  const Checked checked =
      doctor({}, {"STRAKE_LGO=1", "STRAKE_DISABLE=1", "LD_PRELOAD=/no/such/object.so"});
  EXPECT_NE(checked.said("settings").find("did you mean STRAKE_LOG?"), std::string::npos);
  EXPECT_TRUE(checked.said("LD_PRELOAD").starts_with("limited /no/such/object.so is not there"));
  EXPECT_EQ(checked.report["reached"], false);
}

TEST(DoctorOfMachine, refuses_what_is_no_command) {
  const Checked missing = doctor({"no-such-launcher", "-n", "2"});
  EXPECT_EQ(missing.status, 1);
  EXPECT_EQ(missing.said("command"), "broken no-such-launcher: command not found");
  EXPECT_EQ(strake({"doctor", "--"}).status, 2);
  EXPECT_EQ(strake({"doctor", "mpirun"}).status, 2);
}

TEST(DoctorOfSanitizers, a_program_that_insists_on_being_first_is_said_to_be_ended) {
  const std::string program = kPrograms + "/strake_sanitized";
  if (!std::filesystem::exists(program)) GTEST_SKIP() << "needs the address sanitizer";
  const Words launcher = mpirun_of(split(STRAKE_FLAVORS).back());
  const Words command = join({launcher, {"-n", "1", program}});
  const Words under_strake = join({{"run", "--quiet", "--"}, command});
  const Checked checked = doctor(command);
  EXPECT_EQ(checked.status, 1);
  const auto remedy = checked.finding("program")["remedy"].get<std::string>();
  const Outcome ended = strake(under_strake);
  EXPECT_NE(ended.status, 0);
  EXPECT_NE(ended.err.find(remedy), std::string::npos) << ended.err;
  // The remedy works.
  const std::string setting = remedy.substr(remedy.find(' ') + 1);
  EXPECT_EQ(strake(under_strake, {setting}).status, 0);
  EXPECT_EQ(doctor(command, {setting}).status, 0);
}

/// With a stand-in for the driver.
TEST(DoctorOfGpus, tries_whether_mpi_takes_device_memory) {
  if (std::filesystem::exists("/dev/nvidiactl")) GTEST_SKIP() << "there is a driver here";
  const std::string flavor = split(STRAKE_FLAVORS).back();
  const std::string driver = std::string("LD_LIBRARY_PATH=") + STRAKE_FAKE_DRIVER;
  const Words command = join({mpirun_of(flavor), {"-n", "2", kPrograms + "/hello_" + flavor}});
  const Checked plain = doctor(command, {driver, "FAKE_DEVICE=plain"});
  EXPECT_TRUE(plain.said("GPU-aware MPI").starts_with("good yes")) << plain.report.dump(2);
  const Checked hidden = doctor(command, {driver, "FAKE_DEVICE=hidden"});
  EXPECT_TRUE(hidden.said("GPU-aware MPI").starts_with("limited no")) << hidden.report.dump(2);
}

/// Which MPI library mpi4py has is asked of python itself.
TEST(DoctorOfPython, knows_the_library_of_mpi4py) {
  const std::string python = STRAKE_PYTHON;
  if (python.empty() || run({python, "-c", "import mpi4py.MPI"}).status != 0)
    GTEST_SKIP() << "needs mpi4py";
  const Words flavors = split(STRAKE_FLAVORS);
  const Checked checked = doctor(join({mpirun_of(flavors[0]), {"-n", "1", python, "x.py"}}));
  EXPECT_TRUE(checked.said("program").starts_with("good mpi4py uses ")) << checked.report.dump(2);
}

}  // namespace
}  // namespace strake::tools_test
