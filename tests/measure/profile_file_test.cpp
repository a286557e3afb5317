/// \file  The profile on disk: merged by identity, written whole, refused where it is not its own.
#include "measure/profile_file.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "strake/error.hpp"

namespace strake::measure {
namespace fs = std::filesystem;
namespace {

constexpr const char* kKey = "a machine";
const RunMode kQuick{true, "1.2.3", "2025-11-21T10:00:00Z"};
const RunMode kFull{false, "1.2.3", "2025-11-22T10:00:00Z"};

machine::Result result(const std::string& name, std::int64_t bytes, double median) {
  machine::Result r;
  r.name = name;
  r.mpi = "Open MPI 4.1.4";
  r.bytes = bytes;
  r.block = 8;
  r.pitch = 16;
  r.count = 3;
  r.median = median;
  r.p10 = median * 0.9;
  r.p90 = median * 1.1;
  r.samples = 41;
  r.iid = true;
  r.tries = 2;
  r.limit = 5e10;
  return r;
}

Case case_of(const std::string& name, std::int64_t bytes) {
  Case c;
  c.name = name;
  c.bytes = bytes;
  c.block = 8;
  c.pitch = 16;
  c.count = 3;
  return c;
}

class ProfileFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("strake-profile-" + std::to_string(getpid()));
    path_ = (folder_ / "deep" / "p.json").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
  std::string path_;
};

TEST_F(ProfileFileTest, holds_what_was_merged) {
  ProfileFile file(path_, kKey);
  file.describe("node1", kFull, {{"cores", 2}});
  file.merge(result("a", 64, 1e-6), kFull);
  file.set_aware("MPICH 4.0.2", true);
  file.save();

  const machine::Profile profile = ProfileFile(path_, kKey).profile();
  EXPECT_EQ(profile.key, kKey);
  EXPECT_EQ(profile.host, "node1");
  EXPECT_EQ(profile.date, kFull.date);
  ASSERT_EQ(profile.aware.size(), 1U);
  EXPECT_EQ(profile.aware[0].mpi, "MPICH 4.0.2");
  EXPECT_TRUE(profile.aware[0].aware);
  ASSERT_EQ(profile.results.size(), 1U);
  const machine::Result& read = profile.results[0];
  const machine::Result wrote = result("a", 64, 1e-6);
  EXPECT_EQ(read.name, wrote.name);
  EXPECT_EQ(read.mpi, wrote.mpi);
  EXPECT_EQ(read.bytes, wrote.bytes);
  EXPECT_EQ(read.block, wrote.block);
  EXPECT_EQ(read.pitch, wrote.pitch);
  EXPECT_EQ(read.count, wrote.count);
  EXPECT_EQ(read.median, wrote.median);
  EXPECT_EQ(read.p10, wrote.p10);
  EXPECT_EQ(read.p90, wrote.p90);
  EXPECT_EQ(read.samples, wrote.samples);
  EXPECT_EQ(read.iid, wrote.iid);
  EXPECT_EQ(read.tries, wrote.tries);
  EXPECT_EQ(read.limit, wrote.limit);

  // Ranks read the same.
  const machine::Profile compact = machine::read_compact(file.compact_path());
  EXPECT_EQ(compact.key, kKey);
  ASSERT_EQ(compact.results.size(), 1U);
  EXPECT_EQ(compact.results[0].median, wrote.median);
  EXPECT_EQ(file.compact_path(), (folder_ / "deep" / "p.profile").string());
}

TEST_F(ProfileFileTest, measuring_again_replaces_only_what_was_measured) {
  {
    ProfileFile file(path_, kKey);
    file.merge(result("a", 64, 1), kQuick);
    file.merge(result("a", 128, 2), kQuick);
    file.merge(result("b", 64, 3), kQuick);
    file.describe("node1", kQuick, {{"cores", 2}, {"clocks", "free"}});
    file.save();
  }
  {
    ProfileFile file(path_, kKey);
    file.merge(result("a", 128, 4), kFull);
    machine::Result other = result("a", 128, 5);
    other.mpi = "MPICH 4.0.2";
    file.merge(other, kFull);
    file.describe("node2", kFull, {{"clocks", "held"}});
    file.save();
  }
  const machine::Profile profile = ProfileFile(path_, kKey).profile();
  ASSERT_EQ(profile.results.size(), 4U);
  EXPECT_EQ(profile.results[0].median, 1);
  EXPECT_EQ(profile.results[1].median, 4);
  EXPECT_EQ(profile.results[2].median, 3);
  EXPECT_EQ(profile.results[3].mpi, "MPICH 4.0.2");
  EXPECT_EQ(profile.host, "node2");
  std::ifstream text(path_);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["machine"]["cores"], 2);
  EXPECT_EQ(json["machine"]["clocks"], "held");
  EXPECT_EQ(json["results"][0]["mode"], "quick");
  EXPECT_EQ(json["results"][1]["mode"], "full");
}

TEST_F(ProfileFileTest, resumes_runs_of_the_same_parameters) {
  ProfileFile file(path_, kKey);
  file.merge(result("a", 64, 1), kQuick);
  EXPECT_TRUE(file.has(case_of("a", 64), "Open MPI 4.1.4", kQuick));
  EXPECT_FALSE(file.has(case_of("a", 128), "Open MPI 4.1.4", kQuick));
  EXPECT_FALSE(file.has(case_of("a", 64), "MPICH 4.0.2", kQuick));
  EXPECT_FALSE(file.has(case_of("a", 64), "Open MPI 4.1.4", kFull));
  RunMode newer = kQuick;
  newer.strake = "1.2.4";
  EXPECT_FALSE(file.has(case_of("a", 64), "Open MPI 4.1.4", newer));
}

TEST_F(ProfileFileTest, doubtful_results_are_marked_and_measured_again) {
  machine::Result doubtful = result("a", 64, 9e-6);
  doubtful.doubtful = "other processes used 1.3 of 2 CPUs";
  const RunMode mode{false, "0.1.0", "2025-11-21T09:30:00Z"};
  {
    ProfileFile file(path_, kKey);
    EXPECT_TRUE(file.merge(doubtful, mode));
    EXPECT_TRUE(file.merge(result("b", 64, 1e-6), mode));
    file.save();
  }
  ProfileFile file(path_, kKey);
  EXPECT_EQ(file.profile().results[0].doubtful, doubtful.doubtful);
  EXPECT_EQ(machine::read_compact(file.compact_path()).results[0].doubtful, doubtful.doubtful);
  EXPECT_FALSE(file.has(case_of("a", 64), "Open MPI 4.1.4", mode));
  EXPECT_TRUE(file.has(case_of("b", 64), "Open MPI 4.1.4", mode));

  EXPECT_TRUE(file.merge(result("a", 64, 2e-6), mode));
  EXPECT_TRUE(file.has(case_of("a", 64), "Open MPI 4.1.4", mode));
  // A result that nothing disturbed stays.
  EXPECT_FALSE(file.merge(doubtful, mode));
  file.save();
  EXPECT_EQ(ProfileFile(path_, kKey).profile().results[0].median, 2e-6);
}

TEST_F(ProfileFileTest, of_another_machine_is_refused_and_left_alone) {
  {
    ProfileFile file(path_, "another machine");
    file.merge(result("a", 64, 1), kQuick);
    file.save();
  }
  EXPECT_THROW(ProfileFile(path_, kKey), Error);
  EXPECT_EQ(ProfileFile(path_, "another machine").profile().results.size(), 1U);
}

TEST_F(ProfileFileTest, that_can_not_be_read_is_kept_aside) {
  fs::create_directories(fs::path(path_).parent_path());
  for (const char* text :
       {"{\"version\": 1, \"resul", "[]", "{\"version\": 2, \"key\": \"a machine\"}",
        "{\"version\": 1, \"key\": \"a machine\", \"gpu_aware\": [], \"results\": [{\"name\": "
        "7}]}"}) {
    std::ofstream(path_) << text;
    const ProfileFile file(path_, kKey);
    EXPECT_NE(file.complaint().find("it is kept as " + path_ + ".old"), std::string::npos) << text;
    EXPECT_TRUE(file.profile().results.empty());
    std::ifstream old(path_ + ".old");
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(old), {}), text);
  }
}

TEST_F(ProfileFileTest, that_can_not_be_written_says_why) {
  fs::create_directories(folder_);
  std::ofstream(folder_ / "deep") << "a file where the folder should be";
  ProfileFile file(path_, kKey);
  EXPECT_THROW(file.save(), Error);
}

TEST_F(ProfileFileTest, leaves_no_parts_behind) {
  ProfileFile file(path_, kKey);
  file.save();
  file.save();
  std::set<std::string> files;
  for (const auto& entry : fs::directory_iterator(fs::path(path_).parent_path()))
    files.insert(entry.path().filename().string());
  EXPECT_EQ(files, (std::set<std::string>{"p.json", "p.json.lock", "p.profile"}));
}

TEST_F(ProfileFileTest, of_two_runs_at_once_keeps_what_both_measured) {
  {
    ProfileFile before(path_, kKey);
    before.merge(result("a", 64, 1), kQuick);
    before.merge(result("b", 64, 2), kQuick);
    before.save();
  }
  ProfileFile one(path_, kKey);
  ProfileFile two(path_, kKey);
  one.describe("node1", kQuick, {{"driver", "1.0"}});
  one.set_aware("Open MPI 4.1.4", true);
  one.merge(result("a", 64, 3), kQuick);
  two.describe("node2", kFull, {{"clocks", "held"}});
  two.set_aware("MPICH 4.0.2", false);
  two.merge(result("b", 64, 4), kFull);
  one.save();
  two.save();
  one.merge(result("c", 64, 5), kQuick);
  one.save();
  two.merge(result("d", 64, 6), kFull);
  two.save();

  const machine::Profile profile = ProfileFile(path_, kKey).profile();
  const machine::Profile compact = machine::read_compact(two.compact_path());
  ASSERT_EQ(profile.results.size(), 4U);
  ASSERT_EQ(compact.results.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(profile.results[i].name, std::string(1, static_cast<char>('a' + i)));
    EXPECT_EQ(profile.results[i].median, static_cast<double>(i + 3));
    EXPECT_EQ(compact.results[i].median, profile.results[i].median);
  }
  ASSERT_EQ(profile.aware.size(), 2U);
  EXPECT_TRUE(profile.aware[0].aware);
  EXPECT_EQ(profile.host, "node2");
  std::ifstream text(path_);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["machine"]["driver"], "1.0");
  EXPECT_EQ(json["machine"]["clocks"], "held");
}

TEST_F(ProfileFileTest, of_processes_that_save_all_the_time_keeps_every_result) {
  constexpr int kProcesses = 4;
  constexpr int kSaves = 10;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = fork();
    if (child == 0) {
      ProfileFile file(path_, kKey);
      for (int i = 1; i <= kSaves; ++i) {
        file.merge(result("of " + std::to_string(p), i, 1), kFull);
        file.save();
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  const ProfileFile file(path_, kKey);
  EXPECT_EQ(file.profile().results.size(), static_cast<std::size_t>(kProcesses * kSaves));
  EXPECT_EQ(machine::read_compact(file.compact_path()).results.size(),
            file.profile().results.size());
}

TEST_F(ProfileFileTest, that_was_removed_meanwhile_is_written_again) {
  ProfileFile file(path_, kKey);
  file.merge(result("a", 64, 1), kFull);
  file.save();
  fs::remove(path_);
  file.merge(result("b", 64, 2), kFull);
  file.save();
  EXPECT_EQ(ProfileFile(path_, kKey).profile().results.size(), 2U);
}

TEST_F(ProfileFileTest, that_went_bad_meanwhile_is_left_alone_and_nothing_is_lost) {
  const auto contents = [](const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  ProfileFile(path_, "another machine").save();
  const std::string other_machine = contents(path_);
  for (const auto& [now, why] :
       {std::pair<std::string, std::string>(other_machine, "of another machine (another machine)"),
        {"{\"version\": 1, \"resul", "is no JSON"}}) {
    fs::remove(path_);
    ProfileFile file(path_, kKey);
    file.merge(result("b", 64, 2), kFull);
    std::ofstream(path_) << now;
    const std::string compact = contents(file.compact_path());
    try {
      file.save();
      ADD_FAILURE() << now;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(path_ + ".new"), std::string::npos) << error.what();
    }
    EXPECT_EQ(contents(path_), now);
    EXPECT_EQ(contents(file.compact_path()), compact);
    const ProfileFile kept(path_ + ".new", kKey);
    ASSERT_EQ(kept.profile().results.size(), 1U);
    EXPECT_EQ(kept.profile().results[0].name, "b");
    // After the bad file is removed, the next save succeeds.
    fs::remove(path_);
    file.save();
    EXPECT_EQ(ProfileFile(path_, kKey).profile().results.size(), 1U);
  }
}

TEST_F(ProfileFileTest, that_is_a_folder_or_a_device_stays_in_place) {
  fs::create_directories(path_);
  EXPECT_THROW(ProfileFile(path_, kKey), Error);
  EXPECT_TRUE(fs::is_directory(path_));
  EXPECT_THROW(ProfileFile("/dev/null", kKey), Error);
}

TEST_F(ProfileFileTest, of_2000_results_is_saved_in_100_ms) {
  ProfileFile file(path_, kKey);
  for (int i = 1; i <= 2000; ++i)
    file.merge(result("copy/of/" + std::to_string(i % 100), i, 1e-6 / i), kFull);
  file.save();
  double best_ms = 1e9;  // of several goes: other processes may take the core or the disk away
  for (int go = 0; go < 5; ++go) {
    const auto begin = std::chrono::steady_clock::now();
    file.save();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    best_ms = std::min(best_ms, took.count());
  }
  std::printf("saved: %.1f ms\n", best_ms);
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  EXPECT_LT(best_ms, 100);
#endif
}

}  // namespace
}  // namespace strake::measure
