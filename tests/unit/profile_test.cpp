// The compact form on disk, the key of a machine, and which profile a process takes.
#include "machine/profile.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <tuple>

#include "machine/key.hpp"
#include "machine/locate.hpp"
#include "strake/error.hpp"

namespace strake::machine {
namespace {

namespace fs = std::filesystem;

/// A folder of the test's own, gone with it.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("strake-profile-" + std::to_string(getpid()))) {
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

Profile made_up(int results) {
  Profile profile{"some CPU, 2 CPUs", "host", "2026-01-02T03:04:05Z", {}, {}};
  for (int i = 0; i < results; ++i) {
    Result r;
    r.name = "pack/device/kind-" + std::to_string(i % 60);
    r.mpi = i % 3 == 0 ? "Open MPI 4.1.4" : "";
    r.bytes = std::int64_t{64} << (i % 20);
    r.block = i;
    r.pitch = 2 * i;
    r.count = i % 7;
    r.median = 1e-6 * (i + 1);
    r.p10 = 0.9e-6 * (i + 1);
    r.p90 = 1.1e-6 * (i + 1);
    r.samples = 7 + i;
    r.iid = i % 2 == 0;
    r.tries = 1 + i % 10;
    r.limit = 1e9 * i;
    if (i % 5 == 0) r.doubtful = "reason " + std::to_string(i % 3);
    profile.results.push_back(r);
  }
  profile.aware = {{"Open MPI 4.1.4", false}, {"MPICH 4.0.2", true}};
  return profile;
}

void expect_equal(const Profile& a, const Profile& b) {
  EXPECT_EQ(a.key, b.key);
  EXPECT_EQ(a.host, b.host);
  EXPECT_EQ(a.date, b.date);
  ASSERT_EQ(a.results.size(), b.results.size());
  for (std::size_t i = 0; i < a.results.size(); ++i) {
    const Result& x = a.results[i];
    const Result& y = b.results[i];
    EXPECT_EQ(std::tie(x.name, x.mpi, x.bytes, x.block, x.pitch, x.count, x.median, x.p10, x.p90,
                       x.samples, x.iid, x.tries, x.limit, x.doubtful),
              std::tie(y.name, y.mpi, y.bytes, y.block, y.pitch, y.count, y.median, y.p10, y.p90,
                       y.samples, y.iid, y.tries, y.limit, y.doubtful))
        << i;
  }
  ASSERT_EQ(a.aware.size(), b.aware.size());
  for (std::size_t i = 0; i < a.aware.size(); ++i) {
    EXPECT_EQ(a.aware[i].mpi, b.aware[i].mpi);
    EXPECT_EQ(a.aware[i].aware, b.aware[i].aware);
  }
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void overwrite(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Error text of read_compact for a file; empty where it reads the file.
std::string complaint(const std::string& path) {
  try {
    (void)read_compact(path);
    return {};
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
    return error.what();
  }
}

TEST(Compact, reads_what_was_written_and_leaves_nothing_else) {
  const Folder folder;
  for (const int results : {0, 1, 500}) {
    const std::string path = folder / "deep/er/a.profile";
    write_compact(made_up(results), path);
    expect_equal(read_compact(path), made_up(results));
    EXPECT_EQ(std::distance(fs::directory_iterator(folder / "deep/er"), {}), 1);
  }
}

TEST(Compact, a_profile_of_5000_results_is_read_in_2_ms) {
  const Folder folder;
  write_compact(made_up(5000), folder / "a.profile");
  double best_ms = 1e9;  // of several goes: other processes may take the core away
  for (int go = 0; go < 20; ++go) {
    const auto begin = std::chrono::steady_clock::now();
    const Profile profile = read_compact(folder / "a.profile");
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    ASSERT_EQ(profile.results.size(), 5000U);
    best_ms = std::min(best_ms, took.count());
  }
  std::printf("read: %.3f ms\n", best_ms);
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  EXPECT_LT(best_ms, 2);
#endif
}

TEST(Compact, any_damaged_byte_is_noticed) {
  const Folder folder;
  const std::string path = folder / "a.profile";
  write_compact(made_up(20), path);
  const std::string whole = contents(path);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    if (at >= 12 && at < 16) continue;  // reserved: means nothing
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    overwrite(path, damaged);
    EXPECT_NE(complaint(path), "") << "byte " << at;
  }
}

TEST(Compact, says_what_is_wrong) {
  const Folder folder;
  const std::string path = folder / "a.profile";
  EXPECT_NE(complaint(path).find("No such file"), std::string::npos);
  write_compact(made_up(3), path);
  const std::string whole = contents(path);
  overwrite(path, whole.substr(0, whole.size() - 1));
  EXPECT_NE(complaint(path).find("cut off"), std::string::npos);
  overwrite(path, whole + "x");
  EXPECT_NE(complaint(path).find("bytes too many"), std::string::npos);
  std::string damaged = whole;
  damaged.back() = static_cast<char>(~damaged.back());
  overwrite(path, damaged);
  EXPECT_NE(complaint(path).find("checksum"), std::string::npos);
  damaged = whole;
  damaged[8] = 2;
  overwrite(path, damaged);
  EXPECT_NE(complaint(path).find("form 2"), std::string::npos);
  overwrite(path, "{\"key\": \"a JSON file that is longer than the header\"}");
  EXPECT_NE(complaint(path).find("not the compact form"), std::string::npos);
  overwrite(path, "");
  EXPECT_NE(complaint(path).find("not the compact form"), std::string::npos);
}

TEST(Compact, a_folder_that_can_not_be_made_is_an_error) {
  const Folder folder;
  overwrite(folder / "file", "");
  EXPECT_THROW(write_compact(made_up(1), folder / "file/a.profile"), Error);
}

void put(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  overwrite(path, text);
}

TEST(MachineKey, names_gpus_their_nodes_and_the_driver) {
  const Folder root;
  const std::string none = machine_key_below(root / "");
  EXPECT_NE(none.find(" CPUs"), std::string::npos);
  EXPECT_EQ(none.find("driver"), std::string::npos);
  EXPECT_EQ(driver_version_below(root / ""), "unknown");
  put(root / "proc/driver/nvidia/version",
      "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Release Build\nGCC version:\n");
  const std::string gpus = root / "proc/driver/nvidia/gpus/";
  put(gpus + "0000:0a:00.0/information", "Model: \t\t NVIDIA H200\nIRQ: 5\nGPU UUID: GPU-1\n");
  put(gpus + "0000:1b:00.0/information", "Model: \t\t NVIDIA H200\nIRQ: 9\nGPU UUID: GPU-2\n");
  put(root / "sys/bus/pci/devices/0000:0a:00.0/numa_node", "0\n");
  put(root / "sys/bus/pci/devices/0000:1b:00.0/numa_node", "-1\n");
  put(root / "sys/devices/system/node/online", "0-1\n");
  const std::string key = machine_key_below(root / "");
  EXPECT_NE(key.find(", NUMA nodes 0-1, NVIDIA H200 on node 0, NVIDIA H200, driver 570.86.15"),
            std::string::npos)
      << key;
  EXPECT_EQ(driver_version_below(root / ""), "570.86.15");
  // Details that differ from node to node of one cluster are no part of the key.
  put(gpus + "0000:0a:00.0/information", "Model: \t\t NVIDIA H200\nIRQ: 7\nGPU UUID: GPU-3\n");
  EXPECT_EQ(machine_key_below(root / ""), key);
}

TEST(MachineKey, names_the_links_of_gpus) {
  const Folder root;
  const std::string port = root / "sys/devices/pci0000:00/0000:00:01.0/";
  const std::string device = port + "0000:0a:00.0/";
  put(root / "proc/driver/nvidia/version", "NVRM version: Kernel Module  570.86.15\n");
  put(root / "proc/driver/nvidia/gpus/0000:0a:00.0/information", "Model: NVIDIA H200\n");
  const auto link = [&](const char* speed, const char* width, const char* port_speed,
                        const char* port_width) {
    put(device + "max_link_speed", speed);
    put(device + "max_link_width", width);
    put(port + "max_link_speed", port_speed);
    put(port + "max_link_width", port_width);
    const std::string key = machine_key_below(root / "");
    return key.substr(key.find(", NVIDIA"));
  };
  fs::create_directories(root / "sys/bus/pci/devices");
  fs::create_directory_symlink(device, root / "sys/bus/pci/devices/0000:0a:00.0");
  const std::string end = ", driver 570.86.15";
  EXPECT_EQ(link("32.0 GT/s PCIe\n", "16\n", "32.0 GT/s PCIe\n", "16\n"),
            ", NVIDIA H200 by 32.0 GT/s PCIe x16" + end);
  // The slot is what limits the link.
  EXPECT_EQ(link("32.0 GT/s PCIe\n", "16\n", "16.0 GT/s PCIe\n", "8\n"),
            ", NVIDIA H200 by 16.0 GT/s PCIe x8" + end);
  EXPECT_EQ(link("32.0 GT/s PCIe\n", "16\n", "Unknown\n", "0\n"),
            ", NVIDIA H200 by 32.0 GT/s PCIe x16" + end);
  EXPECT_EQ(link("Unknown\n", "255\n", "32.0 GT/s PCIe\n", "16\n"), ", NVIDIA H200" + end);
  fs::create_directories(root / "proc/driver/nvidia-nvswitch/devices/0000:05:00.0");
  fs::create_directories(root / "proc/driver/nvidia-nvswitch/devices/0000:06:00.0");
  EXPECT_EQ(link("Unknown\n", "0\n", "Unknown\n", "0\n"), ", NVIDIA H200, 2 NVSwitches" + end);
}

TEST(MachineKey, is_stable_quick_and_hashes_to_16_digits) {
  EXPECT_EQ(machine_key(), machine_key());
  double best_ms = 1e9;
  for (int go = 0; go < 10; ++go) {
    const auto begin = std::chrono::steady_clock::now();
    (void)machine_key();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    best_ms = std::min(best_ms, took.count());
  }
  std::printf("key: %s (%.3f ms)\n", machine_key().c_str(), best_ms);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  EXPECT_LT(best_ms, 1);
#endif
  EXPECT_EQ(hash_of_key(""), "cbf29ce484222325");  // FNV-1a's own test values
  EXPECT_EQ(hash_of_key("a"), "af63dc4c8601ec8c");
  EXPECT_EQ(hash_of_key("foobar"), "85944171f73967e8");
}

TEST(ProfileFolder, follows_the_environment) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const std::string before = cache == nullptr ? "" : cache;
  setenv("XDG_CACHE_HOME", "/some/cache", 1);
  EXPECT_EQ(profile_folder(), "/some/cache/strake");
  setenv("XDG_CACHE_HOME", "not/absolute", 1);
  const char* home = std::getenv("HOME");
  EXPECT_EQ(profile_folder(), home == nullptr ? "" : std::string(home) + "/.cache/strake");
  if (cache == nullptr) {
    unsetenv("XDG_CACHE_HOME");
  } else {
    setenv("XDG_CACHE_HOME", before.c_str(), 1);
  }
}

using Outcome = Located::Outcome;

TEST(Locate, finds_the_profile_of_this_key) {
  const Folder folder;
  const Profile profile = made_up(5);
  write_compact(profile, folder / (hash_of_key(profile.key) + ".profile"));
  const Located found = locate("", folder / "", profile.key);
  ASSERT_EQ(found.outcome, Outcome::Found) << found.problem;
  expect_equal(found.profile.value(), profile);
  write_compact(profile, folder / "named");
  EXPECT_EQ(locate(folder / "named", "", profile.key).outcome, Outcome::Found);
}

TEST(Locate, none_is_none_and_a_missing_one_is_missing) {
  const Folder folder;
  const Located missing = locate("", folder / "", "key");
  EXPECT_EQ(missing.outcome, Outcome::Missing);
  EXPECT_EQ(missing.problem, "there is no profile of this machine");
  EXPECT_EQ(locate("", "", "key").outcome, Outcome::Missing);
  write_compact(made_up(5), folder / (hash_of_key(made_up(5).key) + ".profile"));
  const Located off = locate("none", folder / "", made_up(5).key);
  EXPECT_EQ(off.outcome, Outcome::Off);
  EXPECT_FALSE(off.profile);
}

TEST(Locate, another_machine_s_or_a_damaged_one_is_not_used) {
  const Folder folder;
  const std::string path = folder / "a.profile";
  EXPECT_EQ(locate(path, "", "key").outcome, Outcome::Unusable);  // named, and not there
  write_compact(made_up(5), path);
  const Located other = locate(path, "", "another key");
  EXPECT_EQ(other.outcome, Outcome::Unusable);
  EXPECT_FALSE(other.profile);
  for (const std::string& part : {path, made_up(5).key, std::string("another key")}) {
    EXPECT_NE(other.problem.find(part), std::string::npos) << other.problem;
  }
  overwrite(path, contents(path).substr(0, 100));
  const Located damaged = locate(path, "", made_up(5).key);
  EXPECT_EQ(damaged.outcome, Outcome::Unusable);
  EXPECT_NE(damaged.problem.find(path), std::string::npos) << damaged.problem;
}

}  // namespace
}  // namespace strake::machine
