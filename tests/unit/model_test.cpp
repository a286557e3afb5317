// The model, by made-up profiles: what it adds up, and what it chooses.
#include "machine/model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>

#include "../support/made_up_profile.hpp"
#include "machine/transports.hpp"

namespace strake::machine {
namespace {

constexpr double kRounding = 1e-9;

/// Seconds by name of a part, the same for all sizes, blocks and pitches.
using Times = std::map<std::string, double>;

Times all_parts() {
  Times times;
  for (const char* operation : {"pack", "unpack"}) {
    for (const char* memory : {"cpu", "device", "one-shot"}) {
      for (const char* kind : {"box", "indexed"}) {
        times[std::string(operation) + "/" + memory + "/" + kind] = 1e-6;
      }
    }
    times[std::string(operation) + "/cpu/transpose"] = 1e-6;
  }
  for (const char* name : {"copy/device-to-pinned", "copy/pinned-to-device", "mpi/node/host",
                           "mpi/node/packed", "mpi/node/device", "mpi/node/system/box",
                           "mpi/node/system/indexed", "mpi/node/system/transpose"}) {
    times[name] = 1e-6;
  }
  return times;
}

Profile profile_of(const Times& times) {
  Profile profile;
  for (const auto& [name, time] : times) {
    for (const std::int64_t bytes : {std::int64_t{1}, 64 * kMi}) {
      if (name.starts_with("copy/") || name.ends_with("/host") || name.ends_with("/packed") ||
          name == "mpi/node/device") {
        profile.results.push_back(result(name, bytes, 0, 0, time));
        continue;
      }
      for (const std::int64_t ratio : {2, 16}) {
        profile.results.push_back(result(name, bytes, 8, 8 * ratio, time));
      }
    }
  }
  return profile;
}

Model model_of(const Times& times) { return {profile_of(times), kMpi, Reach::Node, kMi}; }

Message box(MessageDirection direction, Place place, std::int64_t bytes = 64 * kKi) {
  return {direction, false, place, bytes, bytes / 8, Spread::Near, false, 16};
}
Message dense(MessageDirection direction, Place place, std::int64_t bytes = 64 * kKi) {
  return {direction, true, place, bytes, 1, Spread::Near, false, 0};
}

TEST(Model, host_memory_is_packed_where_that_is_clearly_sooner) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> time(1e-6, 30e-6);
  int packed = 0;
  for (int turn = 0; turn < 1000; ++turn) {
    Times times = all_parts();
    for (auto& [name, value] : times) value = time(random);
    times["mpi/node/system/box"] *= 3;  // one part against three
    const bool whole = turn % 2 == 0;
    if (whole) times["mpi/node/pack/box"] = 2 * time(random);
    const Model model = model_of(times);
    for (const MessageDirection direction : {MessageDirection::Send, MessageDirection::Receive}) {
      for (const Place place : {kHost, kPinned}) {
        const double ends = times["pack/cpu/box"] + times["unpack/cpu/box"] + 2 * Model::kPacked;
        const double pack = whole ? times["mpi/node/pack/box"] : ends + times["mpi/node/packed"];
        const double system = times["mpi/node/system/box"];
        const Message message = box(direction, place);
        // The time that is told is the one that chooses.
        EXPECT_NEAR(model.time(Transport::Pack, message).value() / pack, 1, kRounding);
        EXPECT_NEAR(model.time(Transport::Library, message).value() / system, 1, kRounding);
        const Transport choice = model.choose(message, {}).value();
        const bool sooner = pack < Model::kWorthPacking * system;
        EXPECT_EQ(choice, sooner ? Transport::Pack : Transport::Library);
        packed += sooner ? 1 : 0;
      }
    }
  }
  EXPECT_GT(packed, 100);
  EXPECT_LT(packed, 3900);
}

TEST(Model, packed_bytes_have_a_wire_of_their_own_unless_the_profile_is_older) {
  Times times = all_parts();
  times["mpi/node/packed"] = 5e-6;
  const Message message = box(MessageDirection::Send, kHost);
  const auto wire = [&] { return model_of(times).parts(Transport::Pack, message)->wire.value(); };
  EXPECT_NEAR(wire(), 5e-6, 1e-12);
  EXPECT_NEAR(
      model_of(times).time(Transport::Library, dense(MessageDirection::Send, kHost)).value(), 1e-6,
      1e-12);
  times.erase("mpi/node/packed");
  EXPECT_NEAR(wire(), 1e-6, 1e-12);
  times.erase("mpi/node/host");
  EXPECT_FALSE(model_of(times).time(Transport::Pack, message));
  EXPECT_FALSE(model_of(times).choose(message, {}));
}

TEST(Model, device_memory_goes_the_way_with_the_smallest_sum) {
  std::mt19937 random(2);
  std::uniform_real_distribution<double> time(1e-6, 30e-6);
  std::map<Transport, int> chosen;
  for (int turn = 0; turn < 2000; ++turn) {
    Times times = all_parts();
    for (auto& [name, value] : times) value = time(random);
    const Model model = model_of(times);
    constexpr double kOrder = Model::kStagedOrder;
    const double staged[] = {kOrder + times["pack/device/box"] + times["copy/device-to-pinned"],
                             kOrder + times["copy/pinned-to-device"] + times["unpack/device/box"]};
    const double one_shot[] = {times["pack/one-shot/box"], times["unpack/one-shot/box"]};
    const double device =
        times["pack/device/box"] + times["mpi/node/device"] + times["unpack/device/box"];
    for (const MessageDirection direction : {MessageDirection::Send, MessageDirection::Receive}) {
      const int here = direction == MessageDirection::Send ? 0 : 1;
      const double host = times["mpi/node/packed"] + std::min(staged[1 - here], one_shot[1 - here]);
      const std::map<double, Transport> sums = {{staged[here] + host, Transport::Staged},
                                                {one_shot[here] + host, Transport::OneShot},
                                                {device, Transport::Device}};
      const Message message = box(direction, kDevice);
      for (const auto& [sum, transport] : sums) {
        EXPECT_NEAR(model.time(transport, message).value() / sum, 1, kRounding);
      }
      EXPECT_EQ(model.choose(message, {true, 0}), sums.begin()->second);
      EXPECT_EQ(model.choose(message, {false, 0}),
                staged[here] < one_shot[here] ? Transport::Staged : Transport::OneShot);
      ++chosen[sums.begin()->second];
    }
  }
  for (const auto& [transport, count] : chosen) EXPECT_GT(count, 100) << name_of(transport);
  EXPECT_EQ(chosen.size(), 3U);
}

TEST(Model, a_library_that_is_not_gpu_aware_is_never_given_device_memory) {
  Times times = all_parts();
  for (const char* name : {"mpi/node/device", "pack/device/box", "unpack/device/box"}) {
    times[name] = 1e-12;
  }
  times["copy/device-to-pinned"] = 1;
  const Model model = model_of(times);
  EXPECT_EQ(model.choose(box(MessageDirection::Send, kDevice), {false, 0}), Transport::OneShot);
  EXPECT_EQ(model.choose(box(MessageDirection::Send, kDevice), {true, 0}), Transport::Device);
  EXPECT_EQ(model.choose(dense(MessageDirection::Send, kDevice), {false, 0}), Transport::Staged);
  const Transport aware = model.choose(dense(MessageDirection::Send, kDevice), {true, 0}).value();
  EXPECT_EQ(aware, Transport::Library);
}

TEST(Model, the_two_directions_are_kept_apart) {
  Times times = all_parts();
  times["unpack/one-shot/box"] = 1e-5;
  const Model reads_are_slow = model_of(times);
  EXPECT_EQ(reads_are_slow.choose(box(MessageDirection::Send, kDevice), {}), Transport::OneShot);
  EXPECT_EQ(reads_are_slow.choose(box(MessageDirection::Receive, kDevice), {}), Transport::Staged);
}

TEST(Model, one_shot_limit_overrides_the_times) {
  Times times = all_parts();
  times["pack/one-shot/box"] = 1;
  const Model model = model_of(times);
  const auto chosen = [&](std::int64_t limit, std::int64_t bytes) {
    return model.choose(box(MessageDirection::Send, kDevice, bytes), {false, limit});
  };
  EXPECT_EQ(chosen(0, 4096), Transport::Staged);
  EXPECT_EQ(chosen(4096, 4096), Transport::OneShot);
  EXPECT_EQ(chosen(4096, 4104), Transport::Staged);
}

TEST(Model, nothing_is_said_where_a_part_was_not_measured) {
  const Message host = box(MessageDirection::Send, kHost);
  const Message device = box(MessageDirection::Receive, kDevice);
  const auto without = [](const char* name) {
    Times times = all_parts();
    EXPECT_EQ(times.erase(name), 1U) << name;
    return model_of(times);
  };
  for (const char* name : {"pack/cpu/box", "unpack/cpu/box"}) {
    EXPECT_FALSE(without(name).time(Transport::Pack, host)) << name;
    EXPECT_FALSE(without(name).choose(host, {})) << name;
  }
  EXPECT_FALSE(without("mpi/node/system/box").choose(host, {}));
  for (const char* name : {"unpack/one-shot/box", "unpack/device/box", "copy/pinned-to-device"}) {
    EXPECT_FALSE(without(name).choose(device, {false, 0})) << name;
  }
  EXPECT_FALSE(without("mpi/node/device").choose(device, {true, 0}));
  EXPECT_TRUE(without("mpi/node/device").choose(device, {false, 0}));
  EXPECT_FALSE(model_of({}).choose(host, {}));
  EXPECT_FALSE(model_of({}).choose(device, {true, 0}));
  EXPECT_FALSE(Model(profile_of(all_parts()), "Other MPI 1", Reach::Node, kMi).choose(host, {}));
  EXPECT_FALSE(Model(profile_of(all_parts()), kMpi, Reach::Net, kMi).choose(host, {}));
}

TEST(Model, a_whole_message_that_was_measured_needs_no_times_of_its_ends) {
  Times times = all_parts();
  times["mpi/node/pack/box"] = 5e-7;
  for (const char* name : {"pack/cpu/box", "unpack/cpu/box"}) times.erase(name);
  const Message message = box(MessageDirection::Send, kHost);
  EXPECT_FALSE(model_of(times).parts(Transport::Pack, message));
  EXPECT_NEAR(model_of(times).time(Transport::Pack, message).value() * 1e6, 0.5, 1e-6);
  EXPECT_EQ(model_of(times).choose(message, {}), Transport::Pack);
}

TEST(Model, one_process_s_measurement_is_enough_where_mpi_is_the_same_for_all) {
  Times times = all_parts();
  std::erase_if(times, [](const auto& part) { return part.first.starts_with("mpi/"); });
  times["copy/device-to-pinned"] = 1e-5;
  const Model model = model_of(times);
  const Message message = box(MessageDirection::Send, kDevice);
  EXPECT_EQ(model.choose(message, {false, 0}), Transport::OneShot);
  EXPECT_FALSE(model.time(Transport::OneShot, message));
  const auto parts = model.parts(Transport::OneShot, message);
  ASSERT_TRUE(parts);
  EXPECT_FALSE(parts->wire);
  EXPECT_NEAR(parts->end / times["pack/one-shot/box"], 1, kRounding);
}

TEST(Model, transports_that_can_not_carry_a_transfer_have_no_time) {
  const Model model = model_of(all_parts());
  for (const Transport transport : {Transport::Device, Transport::OneShot, Transport::Staged}) {
    EXPECT_FALSE(model.parts(transport, box(MessageDirection::Send, kHost))) << name_of(transport);
    EXPECT_TRUE(model.parts(transport, box(MessageDirection::Send, kDevice))) << name_of(transport);
  }
  EXPECT_FALSE(model.parts(Transport::Pack, box(MessageDirection::Send, kDevice)));
  EXPECT_FALSE(model.time(Transport::Library, box(MessageDirection::Send, kDevice)));
  EXPECT_TRUE(model.time(Transport::Library, dense(MessageDirection::Send, kDevice)));
}

TEST(Model, pieces_of_a_staged_message_overlap) {
  // Pack: 1 us and 10 us/MiB; copy: 1 us and 20 us/MiB.
  Profile profile;
  for (std::int64_t bytes = kKi; bytes <= 64 * kMi; bytes *= 2) {
    const double mib = static_cast<double>(bytes) / static_cast<double>(kMi);
    profile.results.push_back(result("pack/device/box", bytes, 8, 16, 1e-6 + 10e-6 * mib));
    profile.results.push_back(result("unpack/device/box", bytes, 8, 16, 1e-6 + 30e-6 * mib));
    profile.results.push_back(result("copy/device-to-pinned", bytes, 0, 0, 1e-6 + 20e-6 * mib));
    profile.results.push_back(result("copy/pinned-to-device", bytes, 0, 0, 1e-6 + 20e-6 * mib));
  }
  const Model model(profile, kMpi, Reach::Node, kMi);
  const auto end = [&](Message message) {
    return model.parts(Transport::Staged, message).value().end * 1e6;
  };
  constexpr double kOrder = Model::kStagedOrder * 1e6;
  EXPECT_NEAR(end(box(MessageDirection::Send, kDevice, kMi)), kOrder + 11 + 21, 1e-6);
  // The slower of the two sets the pace: the copy when packing, the kernel when unpacking.
  EXPECT_NEAR(end(box(MessageDirection::Send, kDevice, 8 * kMi)), kOrder + 11 + 21 + 7 * 20, 1e-6);
  EXPECT_NEAR(end(box(MessageDirection::Receive, kDevice, 8 * kMi)), kOrder + 31 + 21 + 7 * 30,
              1e-6);
  // Contiguous bytes are copied at once, from where they lie.
  EXPECT_NEAR(end(dense(MessageDirection::Send, kDevice, 8 * kMi)), 161, 1e-6);
}

TEST(Model, long_rows_are_left_to_the_library) {
  Times times = all_parts();
  times["mpi/node/system/box"] = 1;  // whatever was measured
  const Model model = model_of(times);
  Message message = box(MessageDirection::Send, kHost);
  message.pitch = 4 * kPackMaxMeanBlock;
  message.blocks = message.bytes / kPackMaxMeanBlock;
  EXPECT_EQ(model.choose(message, {}), Transport::Pack);
  --message.blocks;
  EXPECT_EQ(model.choose(message, {}), Transport::Library);
  // And shorter ones that nearly touch.
  message.blocks = message.bytes / 256;
  message.pitch = 320;
  EXPECT_EQ(model.choose(message, {}), Transport::Pack);
  --message.pitch;
  EXPECT_EQ(model.choose(message, {}), Transport::Library);
  message.blocks *= 2;
  message.pitch = 136;
  EXPECT_EQ(model.choose(message, {}), Transport::Pack);
}

TEST(Model, only_nonblocking_messages_of_device_memory_pay_for_an_operation) {
  const Model model = model_of(all_parts());
  const auto paid = [&](Transport transport, Place place) {
    Message message = box(MessageDirection::Send, place);
    const double blocking = model.parts(transport, message).value().end;
    message.nonblocking = true;
    return model.parts(transport, message).value().end - blocking;
  };
  EXPECT_EQ(paid(Transport::Pack, kHost), 0);
  EXPECT_NEAR(paid(Transport::OneShot, kDevice), 1e-6, 1e-12);
  EXPECT_NEAR(paid(Transport::Staged, kDevice), 1e-6, 1e-12);
}

TEST(Model, listed_blocks_and_transposes_have_curves_of_their_own) {
  Times times = all_parts();
  times["pack/cpu/indexed"] = 5e-6;
  times["pack/cpu/transpose"] = 7e-6;
  times["mpi/node/system/transpose"] = 70e-6;
  times["mpi/node/system/indexed"] = 50e-6;
  Profile profile = profile_of(times);
  // Lists at other pitches are there for people.
  for (Result& result : profile.results) {
    if (result.name == "pack/cpu/indexed" && result.pitch > 2 * result.block) result.median = 1;
  }
  const Model model(profile, kMpi, Reach::Node, kMi);
  Message message = box(MessageDirection::Send, kHost);
  message.pitch = 0;
  EXPECT_NEAR((model.parts(Transport::Pack, message)->end - Model::kPacked) * 1e6, 5, 1e-6);
  EXPECT_NEAR(model.time(Transport::Library, message).value() * 1e6, 50, 1e-6);
  EXPECT_EQ(model.choose(message, {}), Transport::Pack);
  times.erase("mpi/node/system/indexed");
  EXPECT_FALSE(model_of(times).choose(message, {}));
  message = box(MessageDirection::Send, kHost);
  message.spread = Spread::Transpose;
  EXPECT_NEAR((model.parts(Transport::Pack, message)->end - Model::kPacked) * 1e6, 7, 1e-6);
  EXPECT_NEAR(model.time(Transport::Library, message).value() * 1e6, 70, 1e-6);
}

TEST(Model, shared_memory_is_chosen_where_it_is_clearly_faster_than_the_way_without_it) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> time(1e-6, 30e-6);
  std::map<Transport, int> chosen;
  for (int turn = 0; turn < 1000; ++turn) {
    Times times = all_parts();
    for (const char* name : {"mpi/node/system/box", "mpi/node/pack/box", "mpi/node/shared/box"})
      times[name] = time(random);
    const double shared = times["mpi/node/shared/box"];
    const Model model = model_of(times);
    for (const MessageDirection direction : {MessageDirection::Send, MessageDirection::Receive}) {
      for (const Place place : {kHost, kPinned}) {
        const Message message = box(direction, place);
        EXPECT_NEAR(model.time(Transport::Shared, message).value() / shared, 1, kRounding);
        const Transport without = model.choose(message, {}).value();
        EXPECT_NE(without, Transport::Shared);
        const bool faster = shared < Model::kWorthSharing * model.time(without, message).value();
        EXPECT_EQ(model.shares(message, without), faster);
        ++chosen[faster ? Transport::Shared : without];
      }
    }
  }
  for (const auto& [transport, count] : chosen) EXPECT_GT(count, 400) << name_of(transport);
  EXPECT_EQ(chosen.size(), 3U);
}

/// Where shared memory would be the fastest by far.
Times parts_with_sharing() {
  Times times = all_parts();
  for (const char* kind : {"box", "indexed", "transpose"})
    times[std::string("mpi/node/shared/") + kind] = 1e-9;
  return times;
}

TEST(Model, only_host_memory_with_gaps_and_ranks_of_a_node_share) {
  const Profile profile = profile_of(parts_with_sharing());
  const Model node(profile, kMpi, Reach::Node, kMi);
  const Model net(profile, kMpi, Reach::Net, kMi);
  const Message message = box(MessageDirection::Send, kHost);
  EXPECT_EQ(node.shares(message, Transport::Library), true);
  EXPECT_FALSE(net.time(Transport::Shared, message));
  EXPECT_FALSE(net.shares(message, Transport::Library));
  for (const Message& other :
       {dense(MessageDirection::Send, kHost), box(MessageDirection::Send, kDevice)}) {
    EXPECT_FALSE(node.time(Transport::Shared, other));
    EXPECT_FALSE(node.shares(other, Transport::Library));
  }
  // The two ends of a message by shared memory overlap: neither has a time of its own.
  EXPECT_FALSE(node.parts(Transport::Shared, message));
}

TEST(Model, each_kind_of_layout_has_times_of_its_own_by_shared_memory) {
  Message transpose = box(MessageDirection::Send, kHost);
  transpose.spread = Spread::Transpose;
  Message listed = box(MessageDirection::Send, kHost);
  listed.pitch = 0;
  const std::map<std::string, Message> kinds = {
      {"box", box(MessageDirection::Send, kHost)}, {"indexed", listed}, {"transpose", transpose}};
  for (const auto& [kind, message] : kinds) {
    Times times = parts_with_sharing();
    EXPECT_EQ(model_of(times).shares(message, Transport::Library), true) << kind;
    times["mpi/node/shared/" + kind] = 1;
    EXPECT_EQ(model_of(times).shares(message, Transport::Library), false) << kind;
    times.erase("mpi/node/shared/" + kind);
    EXPECT_FALSE(model_of(times).shares(message, Transport::Library)) << kind;
    EXPECT_TRUE(model_of(times).choose(message, {})) << kind;
  }
}

TEST(Model, shared_memory_is_neither_chosen_nor_refused_where_nothing_sure_was_measured) {
  const Message message = box(MessageDirection::Send, kHost);
  for (const char* name : {"mpi/node/shared/box", "mpi/node/system/box"}) {
    Profile profile = profile_of(parts_with_sharing());
    for (Result& result : profile.results)
      if (result.name == name) result.doubtful = "other processes used 2.0 of 2 CPUs";
    const Model model(profile, kMpi, Reach::Node, kMi);
    EXPECT_FALSE(model.shares(message, Transport::Library)) << name;
  }
  // Rows that nearly touch: the library moves them faster than was measured.
  Message close = box(MessageDirection::Send, kHost, 64 * kKi);
  close.blocks = 256;
  close.pitch = 300;
  EXPECT_FALSE(model_of(parts_with_sharing()).shares(close, Transport::Library));
  // Long rows were measured.
  close.blocks = 64;
  close.pitch = 2048;
  EXPECT_EQ(model_of(parts_with_sharing()).shares(close, Transport::Library), true);
}

/// Each part at all sizes from 1 byte to 16 MiB.
Profile by_size(const Times& times) {
  Profile profile;
  for (const Result& only : profile_of(times).results) {
    if (only.bytes != 1) continue;
    for (std::int64_t bytes = 1; bytes <= 16 * kMi; bytes *= 16) {
      profile.results.push_back(only);
      profile.results.back().bytes = bytes;
      profile.results.back().median = only.median * std::pow(static_cast<double>(bytes), 0.6);
    }
  }
  return profile;
}

TEST(Model, no_choice_rests_on_a_doubtful_point) {
  Times times = all_parts();
  times["mpi/node/system/box"] = 4e-6;
  times["mpi/node/device"] = 4e-6;
  const Profile sound = by_size(times);
  const Model all(sound, kMpi, Reach::Node, kMi);
  int lost = 0;
  for (std::size_t i = 0; i < sound.results.size(); ++i) {
    Profile doubtful = sound;
    doubtful.results[i].doubtful = "other processes used 2.0 of 2 CPUs";
    doubtful.results[i].median = 1e-12;
    const Model fast(doubtful, kMpi, Reach::Node, kMi);
    doubtful.results[i].median = 1e3;
    const Model slow(doubtful, kMpi, Reach::Node, kMi);
    for (std::int64_t bytes = 64; bytes <= 16 * kMi; bytes *= 8) {
      for (const Place place : {kHost, kDevice}) {
        for (const MessageDirection direction :
             {MessageDirection::Send, MessageDirection::Receive}) {
          const Message message = box(direction, place, bytes);
          const auto chosen = fast.choose(message, {.gpu_aware = true});
          EXPECT_EQ(chosen, slow.choose(message, {.gpu_aware = true}))
              << sound.results[i].name << ' ' << sound.results[i].bytes << ' ' << bytes;
          lost += chosen ? 0 : 1;
          if (!chosen) continue;
          EXPECT_EQ(chosen, all.choose(message, {.gpu_aware = true}))
              << sound.results[i].name << ' ' << sound.results[i].bytes << ' ' << bytes;
        }
      }
    }
  }
  EXPECT_GT(lost, 0);  // the last point of a curve has none after it
}

TEST(Model, a_profile_of_a_busy_machine_chooses_nothing_and_predicts_nothing) {
  Profile busy = by_size(parts_with_sharing());
  for (Result& result : busy.results) result.doubtful = "other processes used 2.0 of 2 CPUs";
  const Model model(busy, kMpi, Reach::Node, kMi);
  // Long rows, rows that nearly touch, and a size that a setting names have rules of their own.
  Message rows = box(MessageDirection::Send, kHost, 64 * kKi);
  rows.blocks = 16;
  Message close = box(MessageDirection::Send, kHost, 64 * kKi);
  close.blocks = 256;
  close.pitch = 300;
  for (const Message& message :
       {rows, close, box(MessageDirection::Send, kHost), box(MessageDirection::Send, kDevice)}) {
    for (const std::int64_t limit : {std::int64_t{0}, kMi}) {
      EXPECT_FALSE(model.choose(message, {false, limit}));
      EXPECT_FALSE(model.choose(message, {true, limit}));
    }
    for (int i = 0; i < kTransports; ++i)
      EXPECT_FALSE(model.time(static_cast<Transport>(i), message)) << i;
  }
}

}  // namespace
}  // namespace strake::machine
