#include "run/launcher.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "strake/error.hpp"

namespace strake::run {
namespace {

const Variables kVariables = {{"LD_PRELOAD", "/s.so"}, {"STRAKE_JOB", "7"}};

/// The programs that stand in a command line, "?" where that is not known.
std::vector<std::string> programs(Launcher launcher, const Arguments& command) {
  std::vector<std::string> names;
  for (const Segment& segment : segments_of(launcher, command)) {
    names.push_back(segment.program ? command[*segment.program] : "?");
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(Launcher, is_told_by_its_version) {
  EXPECT_EQ(launcher_of_version("mpirun.openmpi (OpenRTE) 4.1.4\n"), Launcher::OpenMpi);
  EXPECT_EQ(launcher_of_version("mpirun (Open MPI) 5.0.3\n"), Launcher::OpenMpi);
  EXPECT_EQ(launcher_of_version("prterun (PRRTE) 3.0.5\n"), Launcher::OpenMpi);
  EXPECT_EQ(launcher_of_version("HYDRA build details:\n    Version: 4.0.2\n"), Launcher::Hydra);
  EXPECT_EQ(launcher_of_version("slurm 23.02.4\n"), Launcher::Srun);
  EXPECT_EQ(launcher_of_version("Intel(R) MPI Library for Linux* OS, Version 2021.9\n"),
            std::nullopt);
  EXPECT_EQ(launcher_of_version(""), std::nullopt);
}

TEST(Launcher, is_recognised_by_name) {
  for (const char* name : {"mpirun", "/usr/bin/mpirun.mpich", "mpiexec.hydra",
                           "mpirun-openmpi-x86_64", "orterun", "prterun", "srun"}) {
    EXPECT_TRUE(is_launcher_name(name)) << name;
  }
  for (const char* name : {"./a.out", "bash", "/mpirun/a", "sruns", "mpirunner", "mpiexecutable"})
    EXPECT_FALSE(is_launcher_name(name)) << name;
}

TEST(Launcher, finds_the_program_behind_openmpi_options) {
  EXPECT_EQ(programs(Launcher::OpenMpi, {"mpirun", "./a"}), Names{"./a"});
  EXPECT_EQ(programs(Launcher::OpenMpi,
                     {"mpirun", "-n", "2", "--mca", "btl", "self", "--oversubscribe", "./a", "-n"}),
            Names{"./a"});
  EXPECT_EQ(
      programs(Launcher::OpenMpi, {"mpirun", "-n", "1", "a", ":", "-n", "3", "-x", "V", "b", "-q"}),
      (Names{"a", "b"}));
  EXPECT_EQ(programs(Launcher::OpenMpi, {"mpirun", "--new-option", "2", "./a"}), Names{"?"});
  EXPECT_EQ(programs(Launcher::OpenMpi, {"mpirun", "-n"}), Names{"?"});
  EXPECT_EQ(programs(Launcher::OpenMpi, {"mpirun"}), Names{"?"});
}

TEST(Launcher, finds_the_program_behind_hydra_options) {
  EXPECT_EQ(
      programs(Launcher::Hydra, {"mpirun", "-genv", "A", "b", "-ppn=2", "-n", "2", "./a", "-f"}),
      Names{"./a"});
  EXPECT_EQ(programs(Launcher::Hydra, {"mpirun", "-n", "1", "a", ":", "-env", "X", "1", "b"}),
            (Names{"a", "b"}));
  EXPECT_EQ(programs(Launcher::Hydra, {"mpirun", "-genv", "A=b", "-n", "1", "./a", "c=d"}),
            Names{"./a"});
  EXPECT_EQ(programs(Launcher::Hydra, {"mpirun", "-genv=A", "b", "-env=A=b", "./a"}), Names{"./a"});
  EXPECT_EQ(programs(Launcher::Hydra, {"mpirun", "-configfile", "f"}), Names{"?"});
}

TEST(Launcher, openmpi_ranks_get_variables_in_every_segment) {
  EXPECT_EQ(with_environment(Launcher::OpenMpi, {"mpirun", "-n", "1", "a", ":", "b"}, kVariables),
            (Arguments{"mpirun", "-x", "LD_PRELOAD=/s.so", "-x", "STRAKE_JOB=7", "-n", "1", "a",
                       ":", "-x", "LD_PRELOAD=/s.so", "-x", "STRAKE_JOB=7", "b"}));
}

TEST(Launcher, openmpi_preload_of_the_user_stays) {
  EXPECT_EQ(
      with_environment(Launcher::OpenMpi, {"mpirun", "-x", "LD_PRELOAD=/u.so", "a"}, kVariables),
      (Arguments{"mpirun", "-x", "STRAKE_JOB=7", "-x", "LD_PRELOAD=/s.so:/u.so", "a"}));
  EXPECT_EQ(with_environment(Launcher::OpenMpi, {"mpirun", "-x", "LD_PRELOAD", "a"}, kVariables),
            (Arguments{"mpirun", "-x", "STRAKE_JOB=7", "-x", "LD_PRELOAD=/s.so", "a"}));
  EXPECT_EQ(
      with_environment(Launcher::OpenMpi, {"mpirun", "a", "-x", "LD_PRELOAD=/u.so"}, kVariables),
      (Arguments{"mpirun", "-x", "LD_PRELOAD=/s.so", "-x", "STRAKE_JOB=7", "a", "-x",
                 "LD_PRELOAD=/u.so"}));
}

TEST(Launcher, openmpi_jobs_from_a_file_use_the_list) {
  EXPECT_EQ(with_environment(Launcher::OpenMpi, {"mpirun", "--app", "f"}, kVariables),
            (Arguments{"mpirun", "--mca", "mca_base_env_list", "LD_PRELOAD=/s.so;STRAKE_JOB=7",
                       "--app", "f"}));
  EXPECT_EQ(
      with_environment(Launcher::OpenMpi, {"mpirun", "--mca", "mca_base_env_list", "A", "a"},
                       kVariables),
      (Arguments{"mpirun", "--mca", "mca_base_env_list", "A;LD_PRELOAD=/s.so;STRAKE_JOB=7", "a"}));
}

TEST(Launcher, openmpi_programs_keep_their_own_arguments) {
  for (const Arguments& own : {Arguments{"mca_base_env_list", "foo"}, Arguments{"--app", "foo"},
                               Arguments{"-app", "foo"}}) {
    Arguments command = {"mpirun", "-x", "FOO=1", "-n", "1", "a"};
    command.insert(command.end(), own.begin(), own.end());
    Arguments expected = {
        "mpirun", "-x", "LD_PRELOAD=/s.so", "-x", "STRAKE_JOB=7", "-x", "FOO=1", "-n", "1", "a"};
    expected.insert(expected.end(), own.begin(), own.end());
    EXPECT_EQ(with_environment(Launcher::OpenMpi, command, kVariables), expected);
  }
}

TEST(Launcher, openmpi_list_of_the_environment_takes_the_place_of_x) {
  constexpr const char* kName = "OMPI_MCA_mca_base_env_list";
  const auto with_list = [&](const char* list, const Arguments& command) {
    setenv(kName, list, 1);
    const Arguments out = with_environment(Launcher::OpenMpi, command, kVariables);
    unsetenv(kName);
    return out;
  };
  EXPECT_EQ(with_list("A=1;B", {"mpirun", "a", ":", "b"}),
            (Arguments{"mpirun", "--mca", "mca_base_env_list",
                       "A=1;B;LD_PRELOAD=/s.so;STRAKE_JOB=7", "a", ":", "b"}));
  EXPECT_EQ(with_list("A=1", {"mpirun", "--app", "f"}),
            (Arguments{"mpirun", "--mca", "mca_base_env_list", "A=1;LD_PRELOAD=/s.so;STRAKE_JOB=7",
                       "--app", "f"}));
  // Empty, it forbids -x all the same.
  EXPECT_EQ(with_list("", {"mpirun", "a"}), (Arguments{"mpirun", "--mca", "mca_base_env_list",
                                                       "LD_PRELOAD=/s.so;STRAKE_JOB=7", "a"}));
  // The command line's own goes before it.
  EXPECT_EQ(
      with_list("A=1", {"mpirun", "--mca", "mca_base_env_list", "B", "a"}),
      (Arguments{"mpirun", "--mca", "mca_base_env_list", "B;LD_PRELOAD=/s.so;STRAKE_JOB=7", "a"}));
}

TEST(Launcher, lists_name_no_variable_twice) {
  const auto listed = [&](const char* list) {
    return with_environment(Launcher::OpenMpi, {"mpirun", "--mca", "mca_base_env_list", list, "a"},
                            kVariables)[3];
  };
  EXPECT_EQ(listed("LD_PRELOAD=/u.so;A"), "LD_PRELOAD=/s.so:/u.so;A;STRAKE_JOB=7");
  EXPECT_EQ(listed("A;LD_PRELOAD;"), "A;LD_PRELOAD=/s.so;STRAKE_JOB=7");
  EXPECT_EQ(listed("STRAKE_JOB=8"), "STRAKE_JOB=8;LD_PRELOAD=/s.so");
  EXPECT_EQ(
      with_environment(Launcher::Srun, {"srun", "--export=A,LD_PRELOAD=/u.so", "a"}, kVariables)[1],
      "--export=A,LD_PRELOAD=/s.so:/u.so,STRAKE_JOB=7");
  EXPECT_EQ(with_environment(Launcher::OpenMpi, {"mpirun", "-x", "STRAKE_JOB=8", "a"}, kVariables),
            (Arguments{"mpirun", "-x", "LD_PRELOAD=/s.so", "-x", "STRAKE_JOB=8", "a"}));
}

TEST(Launcher, a_cache_folder_that_a_list_cannot_hold_is_left_out) {
  const Variables variables = {{"LD_PRELOAD", "/s.so"}, {"XDG_CACHE_HOME", "/a,b;c"}};
  EXPECT_EQ(with_environment(Launcher::Srun, {"srun", "a"}, variables),
            (Arguments{"srun", "--export=ALL,LD_PRELOAD=/s.so", "a"}));
  EXPECT_EQ(with_environment(Launcher::OpenMpi, {"mpirun", "--app", "f"}, variables),
            (Arguments{"mpirun", "--mca", "mca_base_env_list", "LD_PRELOAD=/s.so", "--app", "f"}));
  EXPECT_EQ(with_environment(Launcher::OpenMpi, {"mpirun", "a"}, variables),
            (Arguments{"mpirun", "-x", "LD_PRELOAD=/s.so", "-x", "XDG_CACHE_HOME=/a,b;c", "a"}));
}

TEST(Launcher, hydra_ranks_get_variables_once) {
  EXPECT_EQ(with_environment(Launcher::Hydra, {"mpirun", "-n", "1", "a", ":", "b"}, kVariables),
            (Arguments{"mpirun", "-genv", "LD_PRELOAD", "/s.so", "-genv", "STRAKE_JOB", "7", "-n",
                       "1", "a", ":", "b"}));
}

TEST(Launcher, hydra_preload_of_the_user_stays) {
  EXPECT_EQ(with_environment(Launcher::Hydra,
                             {"mpirun", "a", ":", "-env", "LD_PRELOAD", "/u.so", "b"}, kVariables),
            (Arguments{"mpirun", "-genv", "LD_PRELOAD", "/s.so", "-genv", "STRAKE_JOB", "7", "a",
                       ":", "-env", "LD_PRELOAD", "/s.so:/u.so", "b"}));
  EXPECT_EQ(with_environment(Launcher::Hydra,
                             {"mpirun", "-genv", "LD_PRELOAD=/u.so", "-n", "1", "a"}, kVariables),
            (Arguments{"mpirun", "-genv", "LD_PRELOAD", "/s.so", "-genv", "STRAKE_JOB", "7",
                       "-genv", "LD_PRELOAD=/s.so:/u.so", "-n", "1", "a"}));
  EXPECT_EQ(
      with_environment(Launcher::Hydra, {"mpirun", "-genv=LD_PRELOAD=/u.so", "a"}, kVariables),
      (Arguments{"mpirun", "-genv", "LD_PRELOAD", "/s.so", "-genv", "STRAKE_JOB", "7",
                 "-genv=LD_PRELOAD=/s.so:/u.so", "a"}));
  EXPECT_EQ(
      with_environment(Launcher::Hydra, {"mpirun", "--env=LD_PRELOAD", "/u.so", "a"}, kVariables),
      (Arguments{"mpirun", "-genv", "LD_PRELOAD", "/s.so", "-genv", "STRAKE_JOB", "7",
                 "--env=LD_PRELOAD", "/s.so:/u.so", "a"}));
}

TEST(Launcher, srun_exports_them_with_the_users) {
  EXPECT_EQ(with_environment(Launcher::Srun, {"srun", "-n", "2", "a"}, kVariables),
            (Arguments{"srun", "--export=ALL,LD_PRELOAD=/s.so,STRAKE_JOB=7", "-n", "2", "a"}));
  setenv("SLURM_EXPORT_ENV", "B,none,A", 1);
  EXPECT_EQ(with_environment(Launcher::Srun, {"srun", "a"}, kVariables),
            (Arguments{"srun", "--export=B,LD_PRELOAD=/s.so,STRAKE_JOB=7", "a"}));
  unsetenv("SLURM_EXPORT_ENV");
  EXPECT_EQ(with_environment(Launcher::Srun, {"srun", "--export=NONE", "a"}, kVariables),
            (Arguments{"srun", "--export=LD_PRELOAD=/s.so,STRAKE_JOB=7", "a"}));
  EXPECT_THROW(static_cast<void>(with_environment(
                   Launcher::Srun, {"srun", "-n", "2", "--export=NONE", "a"}, kVariables)),
               InvalidArgument);
  EXPECT_THROW(static_cast<void>(with_environment(Launcher::Srun, {"srun", "a"},
                                                  {{"STRAKE_SUMMARY_JSON", "/a,b"}})),
               InvalidArgument);
}

}  // namespace
}  // namespace strake::run
