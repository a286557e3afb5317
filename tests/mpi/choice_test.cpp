// choose(), with a profile that this program invents before any setting is read.
#include "exchange/choice/choice.hpp"

#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "../support/made_up_profile.hpp"
#include "machine/profile.hpp"
#include "mpi/elements.hpp"
#include "strake/layout.hpp"

namespace strake::exchange {
namespace {

/// Packing takes 1 us and the MPI library 10 us for blocks of 8 bytes; the other way round for
/// blocks of 64. The built-in rules choose otherwise. Memory that ranks share takes 1 us for blocks
/// of 8, and 100 us for blocks of 64.
machine::Profile made_up_profile() {
  machine::Profile profile;
  profile.key = machine::machine_key();
  for (const std::int64_t block : {8, 64}) {
    for (const std::int64_t bytes : {64, 1 << 24}) {
      const auto add = [&](const char* name, std::int64_t blocklength, double time) {
        profile.results.push_back(
            machine::result(name, bytes, blocklength, 2 * blocklength, time, mpi_library()));
      };
      for (const char* name : {"pack/cpu/box", "unpack/cpu/box"}) {
        add(name, block, block == 8 ? 1e-6 : 10e-6);
      }
      add("mpi/node/host", 0, 1e-6);
      add("mpi/node/system/box", block, block == 8 ? 10e-6 : 1e-6);
      add("mpi/node/shared/box", block, block == 8 ? 1e-6 : 100e-6);
      add("pack/one-shot/box", block, 9e-6);
      add("unpack/one-shot/box", block, 1e-6);
      add("pack/device/box", block, 1e-6);
      add("unpack/device/box", block, 4e-6);
      add("copy/device-to-pinned", 0, 1e-6);
      add("copy/pinned-to-device", 0, 4e-6);
    }
  }
  return profile;
}

/// The profile's file, from before the first setting is read to the end.
struct ProfileFile {
  std::string path;
  ProfileFile() {
    char name[] = "/tmp/strake-choice-XXXXXX";
    const int file = mkstemp(name);
    if (file >= 0) close(file);
    path = name;
    machine::write_compact(made_up_profile(), path);
    setenv("STRAKE_PROFILE", path.c_str(), 1);
    setenv("STRAKE_GPU_AWARE", "no", 1);
  }
  ~ProfileFile() { std::remove(path.c_str()); }
};
const ProfileFile g_file;

Message message(MessageDirection direction, MemoryKind kind, std::int64_t bytes,
                std::int64_t block) {
  return {direction, false,         {kind, kind == MemoryKind::Host ? -1 : 0},
          bytes,     bytes / block, Spread::Near,
          false,     2 * block};
}

TEST(Choice, follows_the_profile_where_the_built_in_rules_would_not) {
  ASSERT_NE(machine::this_machine(), nullptr);
  // 64 bytes: too short for the built-in rules to pack.
  EXPECT_EQ(choose(message(MessageDirection::Send, MemoryKind::Host, 64, 8)).transport,
            Transport::Pack);
  const Choice system = choose(message(MessageDirection::Send, MemoryKind::Host, 4096, 64));
  EXPECT_EQ(system.transport, Transport::Library);
  EXPECT_EQ(system.reason, Reason::LibraryIsFaster);
  // 64 KiB: the built-in rules take one-shot both ways.
  EXPECT_EQ(choose(message(MessageDirection::Send, MemoryKind::Device, 1 << 16, 8)).transport,
            Transport::Staged);
  EXPECT_EQ(choose(message(MessageDirection::Receive, MemoryKind::Device, 1 << 16, 8)).transport,
            Transport::OneShot);
}

TEST(Choice, falls_back_on_the_built_in_rules_where_the_profile_lacks_a_part) {
  Message listed = message(MessageDirection::Send, MemoryKind::Host, 64, 8);
  listed.pitch = 0;
  EXPECT_EQ(choose(listed).transport, Transport::Library);  // too short
  listed.bytes = 1 << 16;
  listed.blocks = listed.bytes / 8;
  EXPECT_EQ(choose(listed).transport, Transport::Pack);
  listed.place = {MemoryKind::Device, 0};
  EXPECT_EQ(choose(listed).transport, Transport::OneShot);
}

TEST(Choice, shares_memory_by_the_profile_and_by_the_rules_where_that_lacks_it) {
  for (const MessageDirection direction : {MessageDirection::Send, MessageDirection::Receive}) {
    EXPECT_TRUE(choose(message(direction, MemoryKind::Host, 4096, 8)).shares);
    const Choice unshared = choose(message(direction, MemoryKind::Host, 4096, 64));
    EXPECT_FALSE(unshared.shares);
    EXPECT_EQ(unshared.transport, Transport::Library);
    EXPECT_EQ(unshared.reason, Reason::LibraryIsFaster);
    Message listed = message(direction, MemoryKind::Host, 4096, 64);
    listed.pitch = 0;
    EXPECT_TRUE(choose(listed).shares);
    EXPECT_TRUE(choose(message(direction, MemoryKind::Device, 4096, 64)).shares);
  }
}

TEST(Choice, contiguous_host_memory_is_left_to_the_mpi_library) {
  Message dense = message(MessageDirection::Send, MemoryKind::Host, 4096, 4096);
  dense.dense = true;
  EXPECT_EQ(choose(dense).reason, Reason::Contiguous);
}

TEST(Choice, those_kept_with_elements_are_those_made_anew_in_any_thread) {
  std::mt19937 random(7);
  std::vector<std::shared_ptr<mpi::Elements>> all;
  for (int i = 0; i < 500; ++i) {
    const std::int64_t block = std::int64_t{1} << random() % 11;
    const std::vector<Dim> dims = {{2 + static_cast<std::int64_t>(random() % 10000),
                                    block * (1 + static_cast<std::int64_t>(random() % 40))}};
    all.push_back(std::make_shared<mpi::Elements>(Layout::box(0, block, dims)));
  }
  const auto wrong_of = [](mpi::Elements& elements, int which) {
    const auto direction = static_cast<MessageDirection>(which & 1);
    const bool nonblocking = (which & 2) != 0;
    const auto kind = static_cast<MemoryKind>(which >> 2);
    const Place place = {kind, kind == MemoryKind::Host ? -1 : 0};
    const Choice kept = choose(elements, direction, place, nonblocking);
    const Choice anew = choose(message_of(elements, direction, place, nonblocking));
    const bool same = kept.transport == anew.transport && kept.reason == anew.reason;
    return same && kept.shares == anew.shares ? 0 : 1;
  };
  std::vector<int> wrong(2);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int turn = 0; turn < 2; ++turn) {
        for (const auto& elements : all) {
          for (int which = 0; which < 16; ++which) wrong[i] += wrong_of(*elements, which);
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(2));
}

TEST(Choice, the_library_is_named_with_its_version) {
  const std::string name = mpi_library();
#ifdef OPEN_MPI
  EXPECT_EQ(name, "Open MPI " + std::to_string(OMPI_MAJOR_VERSION) + "." +
                      std::to_string(OMPI_MINOR_VERSION) + "." +
                      std::to_string(OMPI_RELEASE_VERSION));
#else
  EXPECT_EQ(name, "MPICH " MPICH_VERSION);
#endif
}

}  // namespace
}  // namespace strake::exchange
