/// \file  Batches on the CPU, and what all batches refuse.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "copy/batch_check.hpp"
#include "settings/settings.hpp"
#include "small_copies.hpp"
#include "strake/copy.hpp"
#include "strake/error.hpp"

namespace strake {
namespace {

using Copy = CopyBatch::Copy;
using Slot = CopyBatch::Slot;

/// Error text of compiling; "nothing" if it succeeds.
std::string refusal(const std::vector<Slot>& slots, const std::vector<Copy>& copies,
                    int device = -1) {
  try {
    (void)CopyBatch::compile(slots, copies, device);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

TEST(CopyBatch, runs_every_copy_with_the_addresses_of_the_run) {
  const std::vector<Slot> slots(3);
  const CopyBatch batch = CopyBatch::compile(
      slots, std::vector<Copy>{{Layout::dense(8), 0, every_second_byte(8), 2},
                               {every_second_byte(8), 1, Layout::dense(8, 1), 2}});
  EXPECT_EQ(batch.device(), -1);
  EXPECT_EQ(batch.size_bytes(), 16);
  EXPECT_EQ(batch.description(), "cpu batch of 2 copies");
  std::vector<std::byte> source = numbered(16);
  Stream cpu;
  for (int run = 0; run < 2; ++run) {
    std::vector<std::byte> packed(8);
    std::vector<std::byte> spread(15);
    const std::vector<std::byte*> bases = {packed.data(), spread.data(), source.data()};
    if (run == 0) {
      batch.run(bases);
    } else {
      batch.enqueue(cpu, bases);
    }
    for (std::size_t i = 0; i < 8; ++i) {
      EXPECT_EQ(packed[i], source[2 * i]);
      EXPECT_EQ(spread[2 * i], source[i + 1]);
    }
    EXPECT_EQ(spread[1], std::byte{0});
  }
}

TEST(CopyBatch, copies_are_in_order_on_the_cpu) {
  const CopyBatch batch = CopyBatch::compile(
      std::vector<Slot>(3), std::vector<Copy>{{Layout::dense(4), 1, Layout::dense(4), 0},
                                              {Layout::dense(4), 2, Layout::dense(4), 1}});
  std::vector<std::byte> a = numbered(4);
  std::vector<std::byte> b(4);
  std::vector<std::byte> c(4);
  batch.run(std::vector<std::byte*>{a.data(), b.data(), c.data()});
  EXPECT_EQ(c, a);
}

TEST(CopyBatch, of_nothing_does_nothing) {
  const CopyBatch none;
  none.run({});
  EXPECT_EQ(none.size_bytes(), 0);
  const CopyBatch empty =
      CopyBatch::compile(std::vector<Slot>(1), std::vector<Copy>{{Layout(), 0, Layout(), 0}});
  empty.run(std::vector<std::byte*>{nullptr});
  EXPECT_EQ(empty.size_bytes(), 0);
}

TEST(CopyBatch, refuses_what_cannot_be_meant) {
  const std::vector<Slot> slots = {{}, {{}, 10}};
  EXPECT_EQ(refusal(slots, {{Layout::dense(8), 0, Layout::dense(9), 1}}),
            "copy 0 of the batch: 9 bytes (box(start 0, 9 B)) to 8 bytes (box(start 0, 8 B))");
  EXPECT_EQ(refusal(slots, {{Layout::dense(8), 0, Layout::dense(8), 2}}),
            "copy 0 of the batch: there is no slot 2, only 2");
  EXPECT_EQ(refusal(slots, {{Layout::dense(8), -1, Layout::dense(8), 1}}),
            "copy 0 of the batch: there is no slot -1, only 2");
  EXPECT_EQ(refusal(slots, {{Layout::dense(8), 0, Layout::dense(8, 2), 1},
                            {Layout::dense(8), 0, Layout::dense(8, 3), 1}}),
            "copy 1 of the batch: box(start 3, 8 B) has bytes [3, 11), but slot 1 has bytes [0, "
            "10)");
  EXPECT_EQ(refusal(std::vector<Slot>(CopyBatch::kMaxSlots + 1), {}),
            "a batch with 4001 slots: at most 4000 are possible");
  EXPECT_EQ(refusal(slots, {}, 3), "no device back end is loaded for a batch of device 3");
}

TEST(CopyBatch, refuses_another_number_of_addresses) {
  const CopyBatch batch = CopyBatch::compile(
      std::vector<Slot>(2), std::vector<Copy>{{Layout::dense(8), 0, Layout::dense(8), 1}});
  std::vector<std::byte> memory(8);
  EXPECT_THROW(batch.run(std::vector<std::byte*>{memory.data()}), InvalidArgument);
}

/// Error text of the check of a run; "nothing" if it finds none.
std::string finding(const std::vector<Copy>& copies, const std::vector<std::byte*>& bases,
                    bool on_device = false) {
  try {
    check_batch(copies, std::vector<Place>(bases.size()), bases, on_device);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "nothing";
}

std::byte* at(std::uintptr_t address) { return reinterpret_cast<std::byte*>(address); }

TEST(CopyBatchCheck, names_the_two_copies_that_write_one_byte) {
  const Layout spread = every_second_byte(100);  // bytes 0 to 198
  const std::vector<Copy> copies = {{Layout::dense(100, 300), 0, Layout::dense(100), 1},
                                    {spread, 0, Layout::dense(100), 1},
                                    {Layout::dense(1, 101), 0, Layout::dense(1), 1},
                                    {Layout::dense(2, 0), 2, Layout::dense(2), 1}};
  EXPECT_EQ(finding(copies, {at(0x1000), at(0x5000), at(0x3000)}), "nothing");
  EXPECT_EQ(finding(copies, {at(0x1000), at(0x5000), at(0x1000 + 198)}),
            "the byte at 0x10c6 is touched twice by the batch: copy 1 writes it (box(start 0, 1 B, "
            "100 x 2) in slot 0), and copy 3 writes it (box(start 0, 2 B) in slot 2)");
  EXPECT_EQ(
      finding(copies, {at(0x1000), at(0x5000), at(0x1000 + 398)}),
      "the byte at 0x118e is touched twice by the batch: copy 0 writes it (box(start 300, 100 "
      "B) in slot 0), and copy 3 writes it (box(start 0, 2 B) in slot 2)");
}

TEST(CopyBatchCheck, on_a_device_finds_what_is_read_and_written) {
  const std::vector<Copy> copies = {{Layout::dense(8), 0, Layout::dense(8, 100), 0},
                                    {Layout::dense(8, 200), 0, Layout::dense(8, 4), 0}};
  EXPECT_EQ(finding(copies, {at(0x1000)}), "nothing");
  EXPECT_EQ(
      finding(copies, {at(0x1000)}, true),
      "the byte at 0x1004 is touched twice by the batch: copy 0 writes it (box(start 0, 8 B) in "
      "slot 0), and copy 1 reads it (box(start 4, 8 B) in slot 0)");
  const std::vector<Copy> onto_itself = {{Layout::dense(8), 0, Layout::dense(8, 4), 0}};
  EXPECT_EQ(
      finding(onto_itself, {at(0x1000)}, true),
      "the byte at 0x1004 is touched twice by the batch: copy 0 reads it (box(start 4, 8 B) in "
      "slot 0), and copy 0 writes it (box(start 0, 8 B) in slot 0)");
  // Two may read one byte, and one may write a byte twice.
  const Dim twice[] = {{2, 0}};
  const std::vector<Copy> sound = {{Layout::dense(8), 0, Layout::dense(8, 100), 0},
                                   {Layout::dense(8, 16), 0, Layout::dense(8, 96), 0},
                                   {Layout::box(32, 8, twice), 0, Layout::dense(16, 200), 0}};
  EXPECT_EQ(finding(sound, {at(0x1000)}, true), "nothing");
}

TEST(CopyBatchCheck, asks_for_addresses) {
  EXPECT_EQ(finding({{Layout::dense(1), 0, Layout::dense(1), 1}}, {nullptr, nullptr}),
            "copy 0 of the batch: slot 0 has the address 0x0");
  EXPECT_EQ(finding({{Layout(), 0, Layout(), 1}}, {nullptr, nullptr}), "nothing");
  // Layouts may be of absolute addresses.
  EXPECT_EQ(finding({{Layout::dense(1, 0x5000), 0, Layout::dense(1, 0x6000), 0}}, {nullptr}),
            "nothing");
}

/// With STRAKE_CHECK=1 (a test of its own).
TEST(CopyBatchChecked, every_run_is_checked_and_refused_before_it_moves_a_byte) {
  if (!settings::flag(settings::Id::check)) GTEST_SKIP() << "only with STRAKE_CHECK=1";
  const CopyBatch batch = CopyBatch::compile(
      std::vector<Slot>(3), std::vector<Copy>{{Layout::dense(8), 0, Layout::dense(8), 2},
                                              {Layout::dense(8), 1, Layout::dense(8), 2}});
  std::vector<std::byte> to(12);
  std::vector<std::byte> from = numbered(8);
  EXPECT_THROW(batch.run(std::vector<std::byte*>{to.data(), to.data() + 4, from.data()}),
               InvalidArgument);
  EXPECT_EQ(to, std::vector<std::byte>(12));
}

}  // namespace
}  // namespace strake
