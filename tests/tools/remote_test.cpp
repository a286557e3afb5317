// `strake explain --remote`, with a profile that the test makes up.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>

#include "command.hpp"
#include "machine/profile.hpp"

namespace strake::tools_test {
namespace {

using Json = nlohmann::json;

/// A profile of this machine, for as long as the object lives.
class ProfileFile {
 public:
  explicit ProfileFile(const std::string& key, const std::string& doubt = {}, double whole_us = 0,
                       double shared_us = 0) {
    machine::Profile profile;
    profile.key = key;
    profile.aware = {{"Aware MPI 1", true}, {"Plain MPI 2", false}};
    for (const std::int64_t bytes : {64, 1 << 24}) {
      const auto add = [&](const char* name, const char* mpi, std::int64_t block, double us) {
        machine::Result result;
        result.name = name;
        result.mpi = mpi;
        result.bytes = bytes;
        result.block = block;
        result.pitch = 2 * block;
        result.median = us * 1e-6;
        result.doubtful = doubt;
        profile.results.push_back(result);
      };
      add("pack/cpu/box", "", 8, 1);
      add("unpack/cpu/box", "", 8, 2);
      add("pack/device/box", "", 8, 3);
      add("unpack/device/box", "", 8, 4);
      add("pack/one-shot/box", "", 8, 5);
      add("unpack/one-shot/box", "", 8, 20);
      add("copy/device-to-pinned", "", 0, 6);
      add("copy/pinned-to-device", "", 0, 7);
      for (const char* mpi : {"Aware MPI 1", "Plain MPI 2"}) add("mpi/node/host", mpi, 0, 8);
      add("mpi/node/device", "Aware MPI 1", 0, 2);
      add("mpi/node/system/box", "Plain MPI 2", 8, 30);
      add("mpi/net/host", "Plain MPI 2", 0, 40);
      if (whole_us > 0) add("mpi/node/pack/box", "Plain MPI 2", 8, whole_us);
      if (shared_us > 0) add("mpi/node/shared/box", "Plain MPI 2", 8, shared_us);
    }
    machine::write_compact(profile, path_);
  }
  ~ProfileFile() { std::remove(path_.c_str()); }
  ProfileFile(const ProfileFile&) = delete;
  ProfileFile& operator=(const ProfileFile&) = delete;
  [[nodiscard]] std::string setting() const { return "STRAKE_PROFILE=" + path_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/strake-explain-" + std::to_string(getpid()) + ".profile";
};

constexpr const char* kType = "vector(512,8,16,byte)";

Json remote(const Words& options, const Words& environment) {
  const Outcome outcome =
      strake(join({{"explain", "--remote", "--json"}, options, {kType}}), environment);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return Json::parse(outcome.out)["remote"];
}

const Json& find(const Json& list, const char* key, const std::string& value,
                 const char* link = nullptr) {
  for (const Json& entry : list) {
    if (entry[key] == value && (link == nullptr || entry["link"] == link)) return entry;
  }
  ADD_FAILURE() << "no " << value << " in " << list.dump(1);
  static const Json nothing;
  return nothing;
}

std::string chosen(const Json& end) {
  std::string method = "none";
  for (const Json& candidate : end["candidates"]) {
    if (!candidate["chosen"]) continue;
    EXPECT_EQ(method, "none");
    method = candidate["method"];
  }
  return method;
}

TEST(ExplainRemote, shows_the_candidates_with_their_times_and_the_choice) {
  const ProfileFile file(machine::machine_key());
  const Json messages =
      remote({"--from", "device", "--to", "device"}, {file.setting()})["messages"];
  ASSERT_EQ(messages.size(), 3U) << messages.dump(
      1);  // two libraries, and one of them between nodes
  const Json& aware = find(messages, "mpi", "Aware MPI 1");
  EXPECT_TRUE(aware["gpu_aware"]);
  EXPECT_EQ(aware["send"]["decided"], "profile");
  EXPECT_EQ(chosen(aware["send"]), "device");
  const Json& device = find(aware["send"]["candidates"], "method", "device");
  EXPECT_NEAR(device["end_us"], 3, 1e-6);
  EXPECT_NEAR(device["mpi_us"], 2, 1e-6);
  EXPECT_NEAR(device["other_end_us"], 4, 1e-6);
  EXPECT_NEAR(device["total_us"], 9, 1e-6);
  const Json& plain = find(messages, "mpi", "Plain MPI 2", "node");
  EXPECT_FALSE(plain["gpu_aware"]);
  EXPECT_EQ(chosen(plain["send"]), "one-shot");
  EXPECT_EQ(chosen(plain["receive"]), "staged");
  EXPECT_EQ(find(plain["send"]["candidates"], "method", "device")["why_not"],
            "the MPI library is not GPU-aware");
  const Json& net = find(messages, "mpi", "Plain MPI 2", "net");
  EXPECT_NEAR(find(net["send"]["candidates"], "method", "one-shot")["mpi_us"], 40, 1e-6);
}

TEST(ExplainRemote, text_marks_the_choice) {
  const ProfileFile file(machine::machine_key());
  const Outcome outcome =
      strake({"explain", "--remote", "--from", "device", kType}, {file.setting()});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(lines_with(outcome.out, "> device"), 1) << outcome.out;
  EXPECT_EQ(lines_with(outcome.out, "> one-shot"), 2) << outcome.out;
  EXPECT_EQ(lines_with(outcome.out, "message by Plain MPI 2, not GPU-aware, on one node"), 1);
}

TEST(ExplainRemote, lines_fit_a_terminal) {
  const ProfileFile file(machine::machine_key());
  for (const char* memory : {"host", "device"}) {
    std::istringstream lines(
        strake({"explain", "--remote", "--from", memory, kType}, {file.setting()}).out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
  }
}

TEST(ExplainRemote, the_verdict_has_the_times_of_the_profile) {
  const ProfileFile file(machine::machine_key());
  const Words setting = {file.setting(), "STRAKE_SHARE=0"};
  const Json all = Json::parse(strake({"explain", "--json", kType}, setting).out);
  EXPECT_EQ(all["verdict"],
            "packed for Aware MPI 1: the MPI library copies such short blocks more slowly, by a "
            "built-in rule; packed for Plain MPI 2: 30.00 us in the "
            "library's own way, 11.10 us packed, by the profile of this machine");
}

/// Returns what `--remote` says of the message by "Plain MPI 2" on a node.
Json on_node(const ProfileFile& file, const Words& environment = {}) {
  return find(remote({}, join({{file.setting()}, environment}))["messages"], "mpi", "Plain MPI 2",
              "node");
}

std::string verdict(const ProfileFile& file) {
  return Json::parse(strake({"explain", "--json", kType}, {file.setting()}).out)["verdict"];
}

TEST(ExplainRemote, shared_memory_is_chosen_where_it_was_measured_to_be_faster) {
  const ProfileFile file(machine::machine_key(), {}, 11, 5);
  const Json message = on_node(file);
  for (const char* side : {"send", "receive"}) {
    EXPECT_EQ(message[side]["decided"], "profile");
    EXPECT_EQ(chosen(message[side]), "shared");
    const Json& shared = find(message[side]["candidates"], "method", "shared");
    EXPECT_NEAR(shared["total_us"], 5, 1e-6);
    for (const char* part : {"end_us", "mpi_us", "other_end_us"})
      EXPECT_TRUE(shared[part].is_null()) << shared.dump(1);
  }
  const std::string text = strake({"explain", "--remote", kType}, {file.setting()}).out;
  EXPECT_EQ(lines_with(text, "> shared                     -         -         -      5.00"), 2)
      << text;
  EXPECT_EQ(verdict(file),
            "packed into memory that both ranks share for Aware MPI 1: 512 blocks of 8 bytes, and "
            "a built-in rule takes that way from 4096 bytes on; packed into memory that both ranks "
            "share for Plain MPI 2: 30.00 us in the library's own way, 11.00 us packed, 5.00 us "
            "shared, by the profile of this machine");
}

TEST(ExplainRemote, shared_memory_is_not_chosen_where_it_was_measured_to_be_slower) {
  const ProfileFile file(machine::machine_key(), {}, 11, 12);
  const Json message = on_node(file);
  EXPECT_EQ(message["send"]["decided"], "profile");
  EXPECT_EQ(chosen(message["send"]), "pack");
  EXPECT_NE(verdict(file).find("; packed for Plain MPI 2: 30.00 us in the library's own way, 11.00 "
                               "us packed, 12.00 us shared, by the profile of this machine"),
            std::string::npos)
      << verdict(file);
}

TEST(ExplainRemote, shared_memory_that_was_not_measured_is_taken_by_a_rule) {
  const ProfileFile file(machine::machine_key());
  const Json message = on_node(file);
  EXPECT_EQ(message["send"]["decided"], "built-in");
  EXPECT_EQ(chosen(message["send"]), "shared");
  const Json& shared = find(message["send"]["candidates"], "method", "shared");
  EXPECT_TRUE(shared["total_us"].is_null());
  EXPECT_EQ(shared["why_not"], "not measured");
  EXPECT_EQ(verdict(file),
            "packed into memory that both ranks share: 512 blocks of 8 bytes, and a built-in rule "
            "takes that way from 4096 bytes on");
}

TEST(ExplainRemote, shared_memory_is_not_for_what_the_settings_forbid_nor_for_other_nodes) {
  const ProfileFile file(machine::machine_key(), {}, 11, 5);
  for (const auto& [setting, why] : {std::pair{"STRAKE_SHARE=0", "STRAKE_SHARE is 0"},
                                     {"STRAKE_SHARE_LIMIT=8K", "below STRAKE_SHARE_LIMIT"}}) {
    const Json message = on_node(file, {setting});
    EXPECT_EQ(chosen(message["send"]), "pack");
    const Json& shared = find(message["send"]["candidates"], "method", "shared");
    EXPECT_EQ(shared["why_not"], why);
    EXPECT_NEAR(shared["total_us"], 5, 1e-6);
  }
  const Json net = find(remote({}, {file.setting()})["messages"], "mpi", "Plain MPI 2", "net");
  for (const Json& candidate : net["send"]["candidates"]) EXPECT_NE(candidate["method"], "shared");
}

TEST(ExplainRemote, host_memory_and_what_is_settled) {
  const ProfileFile file(machine::machine_key());
  const Words unshared = {file.setting(), "STRAKE_SHARE=0"};
  const Json free = find(remote({}, unshared)["messages"], "mpi", "Plain MPI 2", "node");
  EXPECT_EQ(chosen(free["send"]), "pack");  // 1 + 8 + 2 against 30
  const Json lacking = find(remote({}, unshared)["messages"], "mpi", "Aware MPI 1");
  EXPECT_EQ(lacking["send"]["decided"], "built-in");
  EXPECT_EQ(chosen(lacking["send"]), "none");
  const Json forced = find(remote({}, {file.setting(), "STRAKE_METHOD=system"})["messages"], "mpi",
                           "Plain MPI 2", "node");
  EXPECT_EQ(forced["send"]["decided"], "settled");
  EXPECT_EQ(forced["send"]["reason"], "forced by STRAKE_METHOD");
  EXPECT_EQ(chosen(forced["send"]), "library");
}

Json profile_of(const Words& environment) {
  return Json::parse(strake({"explain", "--json", kType}, environment).out)["profile"];
}

TEST(ExplainRemote, without_a_profile_it_says_how_to_measure) {
  const Words empty_cache = {"XDG_CACHE_HOME=/nonexistent"};
  EXPECT_TRUE(remote({}, empty_cache)["messages"].empty());
  EXPECT_EQ(profile_of(empty_cache)["state"], "not measured");
  EXPECT_EQ(profile_of(empty_cache)["text"],
            "not measured: there is no profile of this machine, so built-in rules choose");
  EXPECT_EQ(lines_with(strake({"explain", "--remote", kType}, empty_cache).out, "strake measure"),
            1);
}

TEST(ExplainRemote, a_busy_machine_s_results_predict_and_choose_nothing) {
  constexpr const char* kBusy = "other processes used 1.3 of 2 CPUs";
  const ProfileFile file(machine::machine_key(), kBusy);
  EXPECT_EQ(profile_of({file.setting()})["state"], "doubtful");
  for (const char* memory : {"host", "device"}) {
    const Json messages = remote({"--from", memory, "--to", memory}, {file.setting()})["messages"];
    EXPECT_FALSE(messages.empty());
    for (const Json& message : messages) {
      for (const char* side : {"send", "receive"}) {
        EXPECT_EQ(message[side]["decided"], "built-in") << message.dump(1);
        for (const Json& candidate : message[side]["candidates"]) {
          for (const char* part : {"end_us", "mpi_us", "other_end_us", "total_us"})
            EXPECT_TRUE(candidate[part].is_null()) << candidate.dump(1);
        }
      }
    }
    const Outcome outcome = strake({"explain", "--remote", "--from", memory, kType},
                                   {file.setting(), "STRAKE_SHARE=0"});
    EXPECT_EQ(lines_with(outcome.out, "0.00"), 0) << outcome.out;
    EXPECT_EQ(lines_with(outcome.out, "profile   doubtful: measured with Aware MPI 1 and"), 1)
        << outcome.out;
    EXPECT_EQ(lines_with(outcome.out, "when top shows that nothing else uses the CPUs"), 1);
  }
}

TEST(ExplainRemote, a_whole_message_that_took_less_than_its_ends_leaves_mpi_s_part_unknown) {
  const ProfileFile file(machine::machine_key(), {}, 2.5);  // the ends: 1 and 2 us, alone
  const Json plain = find(remote({}, {file.setting()})["messages"], "mpi", "Plain MPI 2", "node");
  const Json& pack = find(plain["send"]["candidates"], "method", "pack");
  EXPECT_TRUE(pack["mpi_us"].is_null()) << pack.dump(1);
  EXPECT_NEAR(pack["total_us"], 2.5, 1e-6);
}

TEST(ExplainRemote, what_the_mpi_library_does_itself_has_no_time_at_the_ends) {
  const ProfileFile file(machine::machine_key());
  const Json plain = find(remote({}, {file.setting()})["messages"], "mpi", "Plain MPI 2", "node");
  const Json& system = find(plain["send"]["candidates"], "method", "library");
  EXPECT_TRUE(system["end_us"].is_null() && system["other_end_us"].is_null()) << system.dump(1);
  EXPECT_NEAR(system["total_us"], 30, 1e-6);
}

TEST(ExplainRemote, another_machine_s_profile_is_warned_of) {
  const ProfileFile file("another machine");
  const Outcome outcome = strake({"explain", "--remote", kType}, {file.setting()});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(lines_with(outcome.err, file.path()), 1) << outcome.err;
  EXPECT_EQ(lines_with(outcome.out, "is of another machine"), 1) << outcome.out;
}

TEST(ExplainRemote, one_pair_of_memories_or_a_usage_error) {
  const Outcome pair = strake({"explain", "--json", "--to", "device", kType});
  const Json copies = Json::parse(pair.out)["copies"];
  ASSERT_EQ(copies.size(), 2U);
  EXPECT_EQ(copies[0]["from"], "host");
  EXPECT_EQ(copies[0]["to"], "device");
  for (const char* bad : {"tape", "7", ""}) {
    EXPECT_EQ(strake({"explain", "--from", bad, kType}).status, 2) << bad;
  }
}

}  // namespace
}  // namespace strake::tools_test
