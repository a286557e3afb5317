#include "strake/copy.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "small_copies.hpp"
#include "strake/error.hpp"

namespace strake {
namespace {

TEST(CopyPlan, packs_on_the_cpu) {
  const CopyPlan plan = CopyPlan::compile(Layout::dense(8), {}, every_second_byte(8), {});
  const std::vector<std::byte> source = numbered(16);
  std::vector<std::byte> packed(8);
  plan.run(packed.data(), source.data());
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(packed[i], source[2 * i]);
  EXPECT_EQ(plan.size_bytes(), 8);
  EXPECT_STREQ(plan.backend(), "cpu");
  EXPECT_EQ(plan.description().substr(0, 4), "cpu ");
}

TEST(CopyPlan, a_part_lands_where_the_whole_would_put_it) {
  const CopyPlan plan = CopyPlan::compile(Layout::dense(8), {}, every_second_byte(8), {});
  const std::vector<std::byte> source = numbered(16);
  std::vector<std::byte> packed(8, std::byte{99});
  plan.run(packed.data(), source.data(), {2, 5});
  EXPECT_EQ(packed[1], std::byte{99});
  EXPECT_EQ(packed[2], std::byte{4});
  EXPECT_EQ(packed[4], std::byte{8});
  EXPECT_EQ(packed[5], std::byte{99});
}

TEST(CopyPlan, a_part_past_the_end_is_cut_and_an_empty_one_moves_nothing) {
  const CopyPlan plan = CopyPlan::compile(Layout::dense(4), {}, every_second_byte(4), {});
  const std::vector<std::byte> source = numbered(8);
  std::vector<std::byte> packed(5, std::byte{99});
  plan.run(packed.data(), source.data(), {3, 1000});
  EXPECT_EQ(packed[3], std::byte{6});
  EXPECT_EQ(packed[4], std::byte{99});
  plan.run(packed.data(), source.data(), {2, 2});
  EXPECT_EQ(packed[2], std::byte{99});
}

TEST(CopyPlan, no_bytes_and_no_plan_move_nothing) {
  const CopyPlan empty = CopyPlan::compile(Layout(), {}, Layout::dense(0), {});
  EXPECT_EQ(empty.size_bytes(), 0);
  empty.run(nullptr, nullptr);
  const CopyPlan none;
  EXPECT_EQ(none.size_bytes(), 0);
  none.run(nullptr, nullptr);
}

TEST(CopyPlan, unequal_sizes_are_refused_with_both_sizes) {
  try {
    static_cast<void>(CopyPlan::compile(Layout::dense(7), {}, every_second_byte(8), {}));
    FAIL() << "7 bytes took 8";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("8 bytes"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("7 bytes"), std::string::npos) << error.what();
  }
}

TEST(CopyPlan, pinned_memory_is_the_cpus_when_no_device_takes_part) {
  const Place pinned = {MemoryKind::Pinned, 0};
  const CopyPlan plan = CopyPlan::compile(Layout::dense(8), pinned, every_second_byte(8), {});
  EXPECT_STREQ(plan.backend(), "cpu");
}

TEST(CopyPlan, for_the_cpu_runs_on_its_stream_alone) {
  const CopyPlan plan = CopyPlan::compile(Layout::dense(8), {}, every_second_byte(8), {});
  const std::vector<std::byte> source = numbered(16);
  std::vector<std::byte> packed(8);
  Stream cpu;
  plan.enqueue(cpu, packed.data(), source.data());
  EXPECT_EQ(packed[7], source[14]);
}

TEST(Stream, of_the_cpu_is_always_done) {
  Stream cpu;
  EXPECT_EQ(cpu.device(), -1);
  EXPECT_EQ(cpu.native(), nullptr);
  EXPECT_TRUE(cpu.query());
  cpu.synchronize();
  Event event;
  EXPECT_THROW((void)event.query(), InvalidArgument);
  EXPECT_THROW(event.synchronize(), InvalidArgument);
  EXPECT_THROW(cpu.wait(event), InvalidArgument);
  cpu.record(event);
  EXPECT_TRUE(event.query());
  event.synchronize();
  cpu.wait(event);
}

TEST(Stream, of_a_device_needs_one) {
  EXPECT_THROW((void)Stream::make(0), Unsupported);
  EXPECT_THROW((void)Stream::adopt(nullptr), Unsupported);
}

}  // namespace
}  // namespace strake
