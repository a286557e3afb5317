// A profile has one sentence for each state.
#include "machine/profile_state.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "../support/made_up_profile.hpp"

namespace strake::machine {
namespace {

using Kind = ProfileState::Kind;
constexpr const char* kBusy = "other processes used 1.3 of 2 CPUs";

/// Four results of a library and four without, the first `doubtful` of each disturbed.
Profile profile_with(int doubtful) {
  Profile profile;
  profile.key = "key";
  profile.host = "node1";
  profile.date = "2026-11-27";
  for (int i = 0; i < 4; ++i) {
    for (const char* name : {"mpi/node/host", "pack/cpu/box"}) {
      profile.results.push_back(result(name, kKi << i, 0, 0, 1e-6));
      if (i < doubtful) profile.results.back().doubtful = kBusy;
    }
  }
  return profile;
}

TEST(ProfileState, has_one_sentence_for_each_state) {
  struct {
    int doubtful;
    const char* mpi;
    Kind kind;
    const char* sentence;
  } rows[] = {
      {0, kMpi, Kind::Measured, "measured with Some MPI 1.2 on node1, 2026-11-27"},
      {0, "", Kind::Measured, "measured with Some MPI 1.2 on node1, 2026-11-27"},
      {1, kMpi, Kind::Measured,
       "measured with Some MPI 1.2 on node1, 2026-11-27; 2 of 8 results are doubtful and not used"},
      {2, kMpi, Kind::Doubtful,
       "doubtful: measured with Some MPI 1.2 on node1, 2026-11-27, while other processes used 1.3 "
       "of 2 CPUs; 4 of 8 results are not used, so built-in rules choose in their place"},
      {4, "", Kind::Doubtful,
       "doubtful: measured with Some MPI 1.2 on node1, 2026-11-27, while other processes used 1.3 "
       "of 2 CPUs; 8 of 8 results are not used, so built-in rules choose in their place"},
      {0, "MPICH 4.0", Kind::NotMeasured,
       "not measured with MPICH 4.0, only with Some MPI 1.2 on node1, 2026-11-27, so built-in "
       "rules choose"},
  };
  for (const auto& row : rows) {
    const ProfileState state = state_of(profile_with(row.doubtful), row.mpi);
    EXPECT_EQ(state.kind, row.kind) << state.sentence;
    EXPECT_EQ(state.sentence, row.sentence);
  }
}

TEST(ProfileState, a_library_all_of_whose_results_are_doubtful_is_not_measured_by_the_rest) {
  Profile profile = profile_with(0);
  for (int i = 0; i < 100; ++i) profile.results.push_back(result("pack/cpu/box", kKi, 0, 0, 1e-6));
  profile.results.push_back(result("mpi/node/host", kKi, 0, 0, 1e-6));
  profile.results.back().mpi = "MPICH 4.0";
  EXPECT_EQ(state_of(profile, "MPICH 4.0").kind, Kind::Measured);
  profile.results.back().doubtful = kBusy;
  EXPECT_EQ(state_of(profile, "MPICH 4.0").kind, Kind::Doubtful);
  EXPECT_EQ(state_of(profile, kMpi).kind, Kind::Measured);
}

TEST(ProfileState, without_mpi_no_message_was_measured) {
  Profile profile = profile_with(0);
  std::erase_if(profile.results, [](const Result& r) { return !r.mpi.empty(); });
  EXPECT_EQ(state_of(profile).kind, Kind::NotMeasured);
  EXPECT_EQ(state_of(profile).sentence,
            "not measured with any MPI library, only without MPI on node1, 2026-11-27, so "
            "built-in rules choose");
}

TEST(ProfileState, says_what_to_do) {
  EXPECT_EQ(state_of(profile_with(0)).remedy("M"), "");
  EXPECT_EQ(state_of(profile_with(4)).remedy("M"),
            "M  # when top shows that nothing else uses the CPUs; it takes a minute");
  EXPECT_EQ(state_of(profile_with(0), "MPICH 4.0").remedy("M"), "M  # takes a minute");
  EXPECT_EQ(state_of(locate("none", "", "key")).remedy("M"), "unset STRAKE_PROFILE");
  EXPECT_EQ(state_of(locate("", "", "key")).remedy("M"), "M  # takes a minute");
}

TEST(ProfileState, of_files_that_can_not_be_used_says_what_is_wrong) {
  const std::string path = "/tmp/strake-state-" + std::to_string(getpid()) + ".profile";
  write_compact(profile_with(0), path);
  EXPECT_EQ(state_of(locate(path, "", "key")).kind, Kind::Measured);
  EXPECT_EQ(state_of(locate(path, "", "lock")).sentence,
            "not measured: the profile " + path +
                " is of another machine (key; this one: lock), so built-in rules choose");
  std::ifstream in(path, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  const auto sentence_with = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    return state_of(locate(path, "", "key")).sentence;
  };
  EXPECT_EQ(sentence_with(whole.substr(0, whole.size() / 2)),
            "not measured: " + path + " is cut off or has bytes too many: " +
                std::to_string(whole.size()) + " expected, so built-in rules choose");
  std::string newer = whole;
  newer[8] = 2;
  EXPECT_EQ(sentence_with(newer),
            "not measured: " + path +
                " was written by another version of Strake (form 2; form 1 is read here), so "
                "built-in rules choose");
  std::remove(path.c_str());
}

}  // namespace
}  // namespace strake::machine
