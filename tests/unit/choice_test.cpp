// Choices that do not depend on times: contiguous host memory, and STRAKE_METHOD.
#include "exchange/choice/choice.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "machine/transports.hpp"

namespace strake::exchange {
namespace {

Message message(MemoryKind kind, bool dense) {
  return {MessageDirection::Send, dense,        {kind, 0}, 4096,
          dense ? 1 : 512,        Spread::Near, false,     dense ? 0 : 16};
}

TEST(SettledChoice, contiguous_host_memory_is_left_to_the_mpi_library_even_when_forced) {
  for (const MemoryKind kind : {MemoryKind::Host, MemoryKind::Pinned}) {
    for (const auto& forced : {static_cast<const Forced*>(nullptr), forced_by(Transport::Pack)}) {
      const auto choice = settled_choice(message(kind, true), forced, true);
      ASSERT_TRUE(choice);
      EXPECT_EQ(choice->transport, Transport::Library);
      EXPECT_EQ(choice->reason, Reason::Contiguous);
    }
  }
}

TEST(SettledChoice, nothing_is_settled_by_auto) {
  EXPECT_FALSE(settled_choice(message(MemoryKind::Host, false), nullptr, true));
  for (const bool dense : {false, true}) {
    EXPECT_FALSE(settled_choice(message(MemoryKind::Device, dense), nullptr, true));
    EXPECT_FALSE(settled_choice(message(MemoryKind::Managed, dense), nullptr, false));
  }
}

TEST(SettledChoice, forced_transports_win_where_they_can_be_used) {
  struct Row {
    MemoryKind kind;
    bool dense;
    bool aware;
    Transport forced;
    std::optional<Transport> expected;
  };
  const std::array<Row, 24> rows = {{
      {MemoryKind::Host, false, false, Transport::Library, Transport::Library},
      {MemoryKind::Host, false, false, Transport::Pack, Transport::Pack},
      {MemoryKind::Pinned, false, true, Transport::Pack, Transport::Pack},
      {MemoryKind::Host, false, true, Transport::Device, std::nullopt},
      {MemoryKind::Host, false, true, Transport::OneShot, std::nullopt},
      {MemoryKind::Host, false, true, Transport::Staged, std::nullopt},
      {MemoryKind::Device, false, false, Transport::Library, std::nullopt},
      {MemoryKind::Device, false, true, Transport::Library, Transport::Library},
      {MemoryKind::Device, false, false, Transport::Device, std::nullopt},
      {MemoryKind::Device, false, true, Transport::Device, Transport::Device},
      {MemoryKind::Device, true, true, Transport::Device, Transport::Library},
      {MemoryKind::Device, false, false, Transport::OneShot, Transport::OneShot},
      {MemoryKind::Managed, true, true, Transport::Staged, Transport::Staged},
      {MemoryKind::Device, false, false, Transport::Pack, std::nullopt},
      {MemoryKind::Device, false, true, Transport::Pack, std::nullopt},
      {MemoryKind::Host, false, true, Transport::Direct, std::nullopt},
      {MemoryKind::Device, false, true, Transport::Direct, std::nullopt},
      {MemoryKind::Host, false, true, Transport::Shared, Transport::Pack},
      {MemoryKind::Device, false, true, Transport::Shared, std::nullopt},
      {MemoryKind::Host, false, true, Transport::Put, std::nullopt},
      {MemoryKind::Device, false, true, Transport::Put, std::nullopt},
      {MemoryKind::Host, false, true, Transport::Engine, std::nullopt},
      {MemoryKind::Device, false, true, Transport::Engine, std::nullopt},
      {MemoryKind::Device, true, true, Transport::Library, Transport::Library},
  }};
  for (const Row& row : rows) {
    const auto choice =
        settled_choice(message(row.kind, row.dense), forced_by(row.forced), row.aware);
    EXPECT_EQ(choice.has_value(), row.expected.has_value())
        << name_of(row.kind) << " " << name_of(row.forced) << " " << row.aware;
    if (!choice || !row.expected) continue;
    EXPECT_EQ(choice->transport, *row.expected) << name_of(row.kind) << " " << name_of(row.forced);
    EXPECT_EQ(choice->reason, Reason::Forced);
  }
}

TEST(Forced, each_transport_but_self_has_a_row) {
  for (const machine::TransportFacts& facts : machine::transports()) {
    const Forced* const forced = forced_by(facts.transport);
    ASSERT_EQ(forced != nullptr, facts.transport != Transport::Self) << facts.name;
    if (forced != nullptr) {
      EXPECT_EQ(forced->transport, facts.transport);
    }
  }
  EXPECT_EQ(forced_by(Transport::Device)->between_devices, Transport::Put);  // its older name
  EXPECT_TRUE(forced_by(Transport::Direct)->reads_all);
  EXPECT_TRUE(forced_by(Transport::Shared)->packs_pairs);
  EXPECT_FALSE(forced_by(Transport::Engine)->forces_messages());
}

TEST(BuiltInDevice, short_messages_go_one_shot) {
  const auto chosen = [](std::int64_t bytes, bool dense, bool aware, std::int64_t limit = 0) {
    Message asked = message(MemoryKind::Device, dense);
    asked.bytes = bytes;
    return built_in_device(asked, aware, limit).transport;
  };
  constexpr std::int64_t kKi = 1024;
  EXPECT_EQ(chosen(4096 * kKi, false, false), Transport::OneShot);
  EXPECT_EQ(chosen(4096 * kKi + 1, false, false), Transport::Staged);
  EXPECT_EQ(chosen(32 * kKi, false, true), Transport::OneShot);
  EXPECT_EQ(chosen(32 * kKi + 1, false, true), Transport::Device);
  EXPECT_EQ(chosen(64 * kKi, false, true, 64 * kKi), Transport::OneShot);
  EXPECT_EQ(chosen(64 * kKi + 1, false, true, 64 * kKi), Transport::Device);
  EXPECT_EQ(chosen(1, true, false), Transport::Staged);
  EXPECT_EQ(chosen(1, true, true), Transport::Library);
}

TEST(Message, pitch_is_the_distance_of_a_box_s_innermost_blocks) {
  const std::array<Dim, 2> dims = {Dim{4, 4096}, Dim{8, -64}};
  EXPECT_EQ(pitch_of(Layout::box(0, 8, dims)), 64);
  EXPECT_EQ(pitch_of(Layout::dense(8)), 0);
  const std::array<std::int64_t, 3> offsets = {0, 100, 50};
  EXPECT_EQ(pitch_of(Layout::blocks(offsets, 8)), 0);
  EXPECT_EQ(pitch_of(Layout()), 0);
}

TEST(Message, a_struct_of_boxes_is_as_the_one_with_most_blocks) {
  const std::array<Dim, 1> sparse = {Dim{90, 320}};
  const std::array<Dim, 1> far = {Dim{100, 4000}};
  const std::array<Layout, 2> fields = {Layout::box(0, 12, sparse), Layout::box(50000, 12, far)};
  const Layout both = Layout::sequence(fields);
  ASSERT_EQ(both.kind(), Layout::Kind::Sequence);
  EXPECT_EQ(pitch_of(both), 4000);
  EXPECT_EQ(spread_of(both), Spread::Far);
  const Layout many = both.repeated(3, 1'000'000);
  ASSERT_EQ(many.kind(), Layout::Kind::Repeat);
  EXPECT_EQ(pitch_of(many), 4000);
  std::vector<std::int64_t> places(200);
  for (std::size_t i = 0; i < places.size(); ++i) {
    places[i] = static_cast<std::int64_t>(30 * i + i * i % 7);
  }
  const std::array<Layout, 2> listed = {Layout::box(0, 12, sparse).shifted(100000),
                                        Layout::blocks(places, 12)};
  EXPECT_EQ(pitch_of(Layout::sequence(listed)), 0);
  EXPECT_EQ(spread_of(Layout::sequence(listed)), Spread::Near);
}

TEST(BuiltInHost, says_by_which_rule_it_chooses) {
  Message short_blocks = message(MemoryKind::Host, false);
  EXPECT_EQ(built_in_host(short_blocks, true).choice.transport, Transport::Pack);
  EXPECT_STREQ(built_in_host(short_blocks, true).why,
               "the MPI library copies such short blocks more slowly");
  Message far = short_blocks;
  far.spread = Spread::Far;
  far.bytes = 128 << 10;
  far.blocks = 16 << 10;
  EXPECT_EQ(built_in_host(far, true).choice.transport, Transport::Pack);
  EXPECT_EQ(built_in_host(far, false).choice.transport, Transport::Library);
  EXPECT_STREQ(built_in_host(far, false).why, "there are many far blocks");
  short_blocks.bytes = 511;
  EXPECT_EQ(built_in_host(short_blocks, false).choice.transport, Transport::Library);
  EXPECT_EQ(built_in_host(short_blocks, false).choice.reason, Reason::BuiltInRule);
}

}  // namespace
}  // namespace strake::exchange
