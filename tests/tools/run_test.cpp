// `strake run`, with stand-ins for the interposers that print a line in MPI_Init: which processes
// get one.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "run_fixture.hpp"

namespace strake::tools_test {
namespace {

/// MPICH 4.0's Hydra loses the output of one in a hundred programs that end at once on a busy
/// machine.
const Words kShownEnvironment = {"sh", "-c", "env; sleep 0.2"};

TEST_P(Run, every_rank_gets_the_interposer_of_its_library) {
  const Outcome outcome = job({}, join({ranks(2), {hello()}}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(lines_with(outcome.out, line() + "summary=1 json=- disable=- job=32 chunk=- hidden=1"),
            2)
      << outcome.out;
  EXPECT_EQ(lines_with(outcome.out, "hello 0 of 2"), 1) << outcome.out;
  EXPECT_EQ(lines_with(outcome.out, "hello 1 of 2"), 1) << outcome.out;
}

TEST_P(Run, options_and_settings_reach_the_ranks) {
  const Outcome quiet =
      job({"--quiet", "--disable"}, join({ranks(1), {hello()}}), {"STRAKE_CHUNK=64K"});
  EXPECT_EQ(lines_with(quiet.out, line() + "summary=0 json=- disable=1 job=32 chunk=64K"), 1)
      << quiet.out;
  const std::string json = std::filesystem::current_path() / "s.json";
  const Outcome written = job({"--json", "s.json"}, join({ranks(1), {hello()}}));
  EXPECT_EQ(lines_with(written.out, "summary=1 json=" + json + " "), 1) << written.out;
}

TEST_P(Run, every_program_of_an_mpmd_line_gets_it) {
  const Outcome outcome = job({}, join({ranks(1), {hello(), ":", "-n", "1", hello()}}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(lines_with(outcome.out, line()), 2) << outcome.out;
  EXPECT_EQ(lines_with(outcome.out, "of 2"), 2) << outcome.out;
}

TEST_P(Run, fortran_programs_get_it) {
  if (!std::filesystem::exists(hello_fortran()))
    GTEST_SKIP() << "no Fortran compiler of " << GetParam();
  const Outcome outcome = job({}, join({ranks(2), {hello_fortran()}}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(lines_with(outcome.out, "standin " + GetParam() + " mpi_init_ "), 2) << outcome.out;
}

TEST_P(Run, a_job_described_in_a_file_gets_it) {
  const TemporaryFile file("job", "-n 1 " + hello() + "\n-n 1 " + hello() + "\n");
  const Words options = !hydra() ? Words{"--app", file.path()} : Words{"-configfile", file.path()};
  const Outcome outcome = job({}, join({mpirun(), options}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(lines_with(outcome.out, line()), 2) << outcome.out;
}

TEST_P(Run, only_the_program_inside_a_wrapper_gets_it) {
  const TemporaryFile script("wrap.sh",
                             "#!/bin/bash\n"
                             "echo interposed shell $(grep -c strake-mpi /proc/$$/maps)\n"
                             "echo launcher $(grep -c strake /proc/$PPID/maps)\n"
                             "echo tool $(grep -c strake-mpi /proc/self/maps)\n"
                             "\"$@\"\n"
                             "exit $?\n");
  const Outcome outcome = job({}, join({ranks(2), {script.path(), hello(), "4"}}));
  EXPECT_EQ(outcome.status, 4) << outcome.err;
  EXPECT_EQ(lines_with(outcome.out, line()), 2) << outcome.out;
  EXPECT_EQ(lines_with(outcome.out, "interposed shell 0"), 2) << outcome.out;
  EXPECT_EQ(lines_with(outcome.out, "launcher 0"), 2) << outcome.out;
  EXPECT_EQ(lines_with(outcome.out, "tool 0"), 2) << outcome.out;
}

TEST_P(Run, a_wrapper_that_sets_or_drops_the_preload_loses_nothing) {
  const std::string other = kPrograms + "/plugins/libbare.so";
  for (const std::string& wrapped :
       {"export LD_PRELOAD=" + other + "\nexec \"$@\"", std::string("unset LD_PRELOAD\n\"$@\""),
        "LD_PRELOAD=" + other + " \"$@\"", std::string("exec env -u LD_PRELOAD \"$@\""),
        std::string("exec nice env LD_PRELOAD= \"$@\"")}) {
    const TemporaryFile script("wrap.sh", "#!/bin/sh\n" + wrapped + "\n");
    const Outcome outcome = job({}, join({ranks(2), {script.path(), hello(), "4"}}));
    EXPECT_EQ(outcome.status, 4) << wrapped << outcome.err;
    EXPECT_EQ(lines_with(outcome.out, line()), 2) << wrapped << outcome.out;
  }
  // Without the job's variables it is no rank.
  const TemporaryFile clean("clean.sh", "#!/bin/sh\nexec env -i /usr/bin/env\n");
  const Outcome outcome = job({}, join({ranks(1), {clean.path()}}));
  EXPECT_EQ(lines_with(outcome.out, "LD_PRELOAD"), 0) << outcome.out;
}

TEST_P(Run, a_library_loaded_by_its_bare_name_is_known) {
  const std::string python = STRAKE_PYTHON;
  const std::string load = std::string("import ctypes; ctypes.CDLL('") +
                           (hydra() ? "libmpich.so" : "libmpi.so.40") + "')";
  if (run({python, "-c", load}).status != 0) GTEST_SKIP() << "not here: " << load;
  const Outcome outcome = job({}, join({ranks(1),
                                        {python, "-c",
                                         load + "\nprint('mapped', any('strake-mpi-" + GetParam() +
                                             "' in line for line in open('/proc/self/maps')))"}}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(lines_with(outcome.out, "mapped True"), 1) << outcome.out;
}

TEST_P(Run, a_program_that_becomes_another_loses_nothing) {
  for (const std::string how : {"execl", "execlp", "execle", "execv", "fexecve"}) {
    const Outcome outcome = job({}, join({ranks(1), {kPrograms + "/strake_starts", how, hello()}}));
    EXPECT_EQ(outcome.status, 5) << how << outcome.err;
    EXPECT_EQ(lines_with(outcome.out, line()), 1) << how << outcome.out;
  }
}

TEST_P(Run, what_can_not_be_loaded_is_the_programs_to_see) {
  const Outcome outcome = job(
      {}, join({ranks(1),
                {kPrograms + "/strake_loads", kPrograms + "/plugins/libbroken.so", library()}}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(lines_with(outcome.out, "absent"), 1) << outcome.out;
  EXPECT_EQ(lines_with(outcome.out, "refused"), 1) << outcome.out;
  EXPECT_EQ(lines_with(outcome.out, line()), 1) << outcome.out;
}

TEST_P(Run, a_program_that_another_runs_in_its_place_gets_it) {
  const Words valgrind = {"valgrind", "-q", "--tool=none", "--trace-children=yes"};
  if (run({"sh", "-c", "command -v valgrind"}).status != 0) GTEST_SKIP() << "no valgrind";
  const Outcome outcome = job({}, join({{"timeout", "60"}, ranks(1), valgrind, {hello(), "4"}}));
  EXPECT_EQ(outcome.status, 4) << outcome.err;
  EXPECT_EQ(lines_with(outcome.out, line()), 1) << outcome.out;
}

TEST_P(Run, a_program_that_the_loader_is_given_gets_it) {
  const std::string loader = "/lib64/ld-linux-x86-64.so.2";
  if (!std::filesystem::exists(loader)) GTEST_SKIP() << "no " << loader;
  const Outcome outcome = job({}, join({ranks(1), {loader, hello(), "4"}}));
  EXPECT_EQ(outcome.status, 4) << outcome.err;
  EXPECT_EQ(lines_with(outcome.out, line()), 1) << outcome.out;
}

TEST_P(Run, a_program_is_looked_for_where_the_launcher_does) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() + "/there");
  std::filesystem::create_symlink("/bin/true", folder.path() + "/program");
  std::filesystem::create_symlink(hello(), folder.path() + "/there/program");
  std::string command = "cd " + folder.path() + " && " STRAKE_PREFIX "/bin/strake run --";
  for (const std::string& word :
       join({ranks(1), {"-wdir", folder.path() + "/there", "./program", "4"}})) {
    command += " " + word;
  }
  const Outcome outcome = run({"sh", "-c", command});
  EXPECT_EQ(outcome.status, 4) << outcome.err;
  EXPECT_EQ(lines_with(outcome.out, line()), 1) << outcome.out;
}

TEST_P(Run, programs_behind_env_and_before_the_launcher_do_no_harm) {
  const Outcome outcome = job({}, join({{"timeout", "60"}, ranks(1), {"env", "A=b", hello()}}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(lines_with(outcome.out, line()), 1) << outcome.out;
}

TEST_P(Run, a_preload_of_the_user_stays) {
  const std::string other = kPrograms + "/plugins/libbare.so";
  const Words option =
      !hydra() ? Words{"-x", "LD_PRELOAD=" + other} : Words{"-genv", "LD_PRELOAD", other};
  const std::string expected = "LD_PRELOAD=" STRAKE_PREFIX "/lib/libstrake-preload.so:" + other;
  for (const Outcome& outcome :
       {job({}, join({ranks(1), kShownEnvironment}), {"LD_PRELOAD=" + other}),
        job({}, join({mpirun(), option, {"-n", "1"}, kShownEnvironment}))}) {
    EXPECT_EQ(lines_with(outcome.out, expected), 1) << outcome.out << outcome.err;
  }
  const Outcome outcome = job({}, join({mpirun(), option, {"-n", "1", hello()}}));
  EXPECT_EQ(lines_with(outcome.out, line()), 1) << outcome.out << outcome.err;
}

TEST_P(Run, a_tool_that_wraps_mpi_stays_between_strake_and_the_library) {
  const Outcome outcome = job(
      {}, join({ranks(1), {"env", "LD_PRELOAD=" + kPrograms + "/plugins/libtool.so", hello()}}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(lines_with(outcome.out, line()), 1) << outcome.out;
  EXPECT_EQ(lines_with(outcome.out, "tool MPI_Init"), 1) << outcome.out;
  EXPECT_LT(outcome.out.find(line()), outcome.out.find("tool MPI_Init")) << outcome.out;
}

TEST_P(Run, a_plugin_that_a_library_finds_through_its_own_path_gets_it) {
  const Outcome outcome = job({}, join({ranks(1), {kPrograms + "/plugin_" + GetParam() + "_0"}}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(lines_with(outcome.out, line()), 1) << outcome.out;
  EXPECT_EQ(lines_with(outcome.out, "plugin"), 1) << outcome.out;
}

TEST_P(Run, the_library_has_the_interposer_for_its_name) {
  if (GetParam() != "mpich") GTEST_SKIP() << "has one name";
  for (const Words& options : {Words{}, Words{"--mpi", GetParam()}}) {
    const Outcome outcome = job(options, join({ranks(2), {kPrograms + "/hello_renamed"}}));
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(lines_with(outcome.out, "standin mpich-lib"), 2) << outcome.out;
    EXPECT_EQ(lines_with(outcome.out, "hidden=1"), 2) << outcome.out;
    EXPECT_EQ(lines_with(outcome.out, "of 2"), 2) << outcome.out;
  }
}

TEST_P(Run, a_program_alone_is_one_rank) {
  const Outcome outcome = job({}, {hello()});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(lines_with(outcome.out, line()), 1) << outcome.out;
  EXPECT_EQ(lines_with(outcome.out, "hello 0 of 1"), 1) << outcome.out;
}

TEST_P(Run, a_program_with_a_launchers_name_is_one_rank) {
  const TemporaryFolder folder;
  const std::string program = folder.path() + "/mpirun-bench";
  std::filesystem::copy_file(hello(), program);
  const Outcome outcome = job({}, {program});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(lines_with(outcome.out, line()), 1) << outcome.out;
}

TEST_P(Run, srun_exports_to_the_ranks) {
  const TemporaryFolder folder;
  std::filesystem::copy_file(STRAKE_SOURCE "/tests/tools/programs/srun.sh",
                             folder.path() + "/srun");
  const Outcome outcome = job({}, {folder.path() + "/srun", hello()});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(lines_with(outcome.out, line()), 1) << outcome.out;
}

TEST_P(Run, the_cache_folder_reaches_ranks_that_do_not_inherit_it) {
  // As on another node: the launcher does not have it in its own environment.
  const Words command = join({{"env", "-u", "XDG_CACHE_HOME"}, ranks(1), kShownEnvironment});
  const Outcome outcome = job({}, command, {"XDG_CACHE_HOME=/some/cache"});
  EXPECT_EQ(lines_with(outcome.out, "XDG_CACHE_HOME=/some/cache"), 1) << outcome.out << outcome.err;
  EXPECT_EQ(lines_with(job({}, command, {"XDG_CACHE_HOME="}).out, "XDG_CACHE_HOME"), 0);
}

TEST_P(Run, a_list_of_variables_in_the_environment_stays) {
  for (const char* list : {"MYVAR=1", ""}) {
    const Outcome outcome =
        job({}, join({ranks(2), {"sh", "-c", "echo MYVAR=$MYVAR; exec " + hello()}}),
            {std::string("OMPI_MCA_mca_base_env_list=") + list, "STRAKE_CHUNK=64K"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(lines_with(outcome.out, line()), 2) << outcome.out;
    EXPECT_EQ(lines_with(outcome.out, "chunk=64K"), 2) << outcome.out;
    if (hydra()) continue;
    EXPECT_EQ(lines_with(outcome.out, "MYVAR=1"), *list == '\0' ? 0 : 2) << outcome.out;
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Run);  // built without MPI
INSTANTIATE_TEST_SUITE_P(Flavors, Run, testing::ValuesIn(split(STRAKE_FLAVORS)),
                         [](const auto& test) { return test.param; });

TEST(RunPython, mpi4py_gets_it_when_it_is_imported) {
  const std::string python = STRAKE_PYTHON;
  const Outcome library =
      run({python, "-c", "from mpi4py import MPI; print(MPI.Get_library_version())"});
  if (library.status != 0) GTEST_SKIP() << "no mpi4py for " << python;
  const std::string flavor =
      library.out.find("Open MPI") != std::string::npos ? "openmpi" : "mpich";
  const Words mpirun = mpirun_of(flavor);
  if (mpirun.empty()) GTEST_SKIP() << "not built for " << library.out;
  const Outcome outcome = strake(join({{"run", "--"},
                                       mpirun,
                                       {"-n", "2", python, "-c",
                                        "import sys\nfrom mpi4py import MPI\nsys.stdout.write('py "
                                        "%d\\n' % MPI.COMM_WORLD.size)"}}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(lines_with(outcome.out, "standin " + flavor + " MPI_Init_thread"), 2) << outcome.out;
  EXPECT_EQ(lines_with(outcome.out, "py 2"), 2) << outcome.out;
  EXPECT_EQ(lines_with(outcome.err, "mpi4py.rc.thread_level = \"serialized\""), 1) << outcome.err;
  for (const std::string level : {"serialized", "funneled", "single"}) {
    const Outcome fewer =
        strake(join({{"run", "--"},
                     mpirun,
                     {"-n", "1", python, "-c",
                      "import mpi4py\nmpi4py.rc.thread_level = '" + level +
                          "'\nfrom mpi4py import MPI\nassert MPI.Query_thread() < "
                          "MPI.THREAD_MULTIPLE"}}));
    EXPECT_EQ(fewer.status, 0) << fewer.err;
    EXPECT_EQ(lines_with(fewer.err, "mpi4py"), 0) << fewer.err;
  }
  const Outcome without =
      strake(join({{"run", "--"}, mpirun, {"-n", "1", python, "-c", "print('py')"}}));
  EXPECT_EQ(without.status, 0);
  EXPECT_EQ(lines_with(without.err, "no process of this job used MPI"), 1) << without.err;
}

TEST(Preload, dlopen_still_searches_the_callers_own_path) {
  const Outcome outcome = run({kPrograms + "/strake_bare_dlopen"},
                              {"LD_PRELOAD=" STRAKE_PREFIX "/lib/libstrake-preload.so"});
  EXPECT_EQ(outcome.out, "found\n");
}

}  // namespace
}  // namespace strake::tools_test
