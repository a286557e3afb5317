/// \file  The profile on disk: merged by identity, written whole, refused where it is not its own.
#include "measure/profile_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

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
  int files = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(fs::path(path_).parent_path()))
    ++files;
  EXPECT_EQ(files, 2);
}

}  // namespace
}  // namespace strake::measure
