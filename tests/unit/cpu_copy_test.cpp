// The CPU back end, byte by byte against Layout::for_each_block, for every instruction set that
// this machine runs.
#include "cpu_copy.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "copy/cpu/compile.hpp"
#include "copy/cpu/op.hpp"
#include "expect_copies.hpp"
#include "random_layouts.hpp"
#include "strake/layout.hpp"

namespace strake {
namespace {

TEST_P(CpuCopy, packs_and_unpacks_random_layouts) {
  for (int i = 0; i < 200; ++i) {
    const Layout layout = random_layout(random_);
    if (layout.size_bytes() > 300'000) continue;
    const Layout dense = Layout::dense(layout.size_bytes(), pick(random_, -20, 20));
    expect_copies_all(dense, layout, options_, random_);
    if (HasFatalFailure()) return;
    if (!overlaps_itself(layout)) expect_copies_all(layout, dense, options_, random_);
    if (HasFatalFailure()) return;
  }
}

TEST_P(CpuCopy, packs_and_unpacks_every_block_length_at_every_small_stride) {
  for (const std::int64_t block :
       {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 40, 48, 64, 72, 128, 200, 1500}) {
    for (const std::int64_t gap : {1, 4, 8, 24, 56}) {
      for (const std::int64_t stride :
           {block + gap, -(block + gap), 2 * block, 3 * block, 4 * block}) {
        const Dim dims[] = {{3, 101 * std::abs(stride)}, {pick(random_, 2, 100), stride}};
        const Layout layout = Layout::box(7, block, dims);
        const Layout dense = Layout::dense(layout.size_bytes(), 3);
        expect_copies_all(dense, layout, options_, random_);
        expect_copies_all(layout, dense, options_, random_);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(CpuCopy, packs_and_unpacks_every_length_in_boxes_and_lists) {
  for (std::int64_t block = 1; block <= 200; ++block) {
    const std::int64_t stride = block + pick(random_, 1, 70);
    const Dim handful[] = {{pick(random_, 2, 8), 9 * stride}, {pick(random_, 2, 7), stride}};
    const Dim rows[] = {{3, 50 * stride}, {pick(random_, 8, 40), stride}};
    std::vector<std::int64_t> offsets;
    for (int i = 0; i < 40; ++i) offsets.push_back(i * stride + pick(random_, 0, stride - block));
    if (block % 2 == 0) std::shuffle(offsets.begin(), offsets.end(), random_);
    const std::vector<std::int64_t> lengths(offsets.size(), block);
    for (const Layout& layout : {Layout::box(5, block, handful), Layout::box(5, block, rows),
                                 Layout::blocks(offsets, lengths)}) {
      const Layout dense = Layout::dense(layout.size_bytes(), 3);
      expect_copies_all(dense, layout, options_, random_);
      expect_copies_all(layout, dense, options_, random_);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(CpuCopy, rows_from_any_place_in_a_line) {
  for (int i = 0; i < 60; ++i) {
    for (const std::int64_t row : {200, 520, 577, 2048, 2300}) {
      const std::int64_t pitch = row + 4 * pick(random_, 1, 50);
      // One row is adjacent bytes.
      const Dim dims[] = {{pick(random_, 1, 8), i % 3 == 0 ? -pitch : pitch}};
      const Layout layout = Layout::box(pitch - row, row, dims);
      const Layout dense = Layout::dense(layout.size_bytes());
      expect_copies(dense, layout, {0, layout.size_bytes()}, options_, random_);
      expect_copies(layout, dense, {0, layout.size_bytes()}, options_, random_);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(CpuCopy, more_than_the_second_level_cache_holds) {
  std::vector<std::int64_t> offsets, lengths;
  std::int64_t at = 0;
  for (int i = 0; i < 17'000; ++i) {
    offsets.push_back(at);
    lengths.push_back(8 * pick(random_, 1, 16));
    at += lengths.back() + 8 * pick(random_, 1, 16);
  }
  const Dim eights[] = {{140'000, 24}};
  const Dim sixteens[] = {{70'000, 48}};
  for (const Layout& layout : {Layout::blocks(offsets, lengths), Layout::box(8, 8, eights),
                               Layout::box(8, 16, sixteens)}) {
    ASSERT_GT(layout.size_bytes(), cpu::kSecondLevelBytes);
    const Layout dense = Layout::dense(layout.size_bytes(), 3);
    expect_copies_all(dense, layout, options_, random_);
    expect_copies_all(layout, dense, options_, random_);
    if (HasFatalFailure()) return;
  }
}

TEST_P(CpuCopy, blocks_whose_pages_the_tlb_does_not_hold) {
  for (const std::int64_t block : {9, 12, 16, 24, 31, 32, 40, 56, 63}) {
    const std::int64_t pitch = block == 40 ? 4104 : 1032;
    const std::int64_t stride = (random_() & 1) != 0 ? pitch : -pitch;
    const Dim dims[] = {{29, 75 * pitch + 64}, {75, stride}};
    const Dim wider[] = {{29, 75 * 1040 + 64}, {75, 1040}};
    const Layout far = Layout::box(3, block, dims);
    const Layout dense = Layout::dense(far.size_bytes(), 5);
    const ByteRange cut = {pick(random_, 0, 5 * block), far.size_bytes() - pick(random_, 0, 80)};
    for (const ByteRange part : {ByteRange{0, far.size_bytes()}, cut}) {
      expect_copies(dense, far, part, options_, random_);
      expect_copies(far, dense, part, options_, random_);
      expect_copies(Layout::box(0, block, wider), far, part, options_, random_);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(CpuCopy, elements_whose_pages_the_tlb_does_not_hold) {
  for (const std::int64_t element : {4, 8}) {
    const std::int64_t stride = (random_() & 1) != 0 ? 1032 : -1032;
    const Dim rows[] = {{130, 75 * 1032 + 64}, {75, stride}};
    const Dim row[] = {{8500, stride}};
    for (const Layout& far : {Layout::box(3, element, rows), Layout::box(3, element, row)}) {
      ASSERT_GT(far.bounds().size(), cpu::kPrefetchedBytes);
      const Layout dense = Layout::dense(far.size_bytes(), 5);
      const ByteRange cut = {pick(random_, 0, 500), far.size_bytes() - pick(random_, 0, 500)};
      for (const ByteRange part : {ByteRange{0, far.size_bytes()}, cut}) {
        expect_copies(dense, far, part, options_, random_);
        expect_copies(far, dense, part, options_, random_);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(CpuCopy, a_few_blocks_in_pages_of_their_own) {
  for (std::int64_t block = 17; block <= 64; ++block) {
    const std::int64_t pitch = (random_() & 1) != 0 ? 2120 : -4241;
    const Dim dims[] = {{pick(random_, 8, 190), pitch}};
    const Layout layout = Layout::box(pick(random_, 0, 63), block, dims);
    const Layout dense = Layout::dense(layout.size_bytes(), 5);
    expect_copies_all(dense, layout, options_, random_);
    expect_copies_all(layout, dense, options_, random_);
    if (HasFatalFailure()) return;
  }
}

TEST_P(CpuCopy, lines_that_the_second_level_cache_does_not_hold) {
  for (const std::int64_t block : {3, 8, 12, 16, 40}) {
    const std::int64_t pitch = block > 16 ? 200 : (random_() & 1) != 0 ? -328 : 1048;
    const Dim half[] = {{2, 6100 * std::abs(pitch)}, {6007, pitch}};
    const Layout parts[] = {Layout::box(7, block, half),
                            Layout::box(11 + 2 * 6100 * std::abs(pitch), block, half)};
    const Layout layout = Layout::sequence(parts);
    const Layout dense = Layout::dense(layout.size_bytes(), 5);
    const ByteRange cut = {pick(random_, 0, 5 * block), layout.size_bytes() - pick(random_, 0, 80)};
    for (const ByteRange part : {ByteRange{0, layout.size_bytes()}, cut}) {
      expect_copies(dense, layout, part, options_, random_);
      expect_copies(layout, dense, part, options_, random_);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(CpuCopy, blocks_in_a_few_sets_of_the_caches) {
  for (const std::int64_t block : {8, 16}) {
    for (const std::int64_t count : {63, 64, 77, 2047, 2048, 2053}) {
      const std::int64_t stride = (random_() & 1) != 0 ? 2048 : -4096;
      const Dim dims[] = {{2, 24}, {count, stride}};
      const Layout columns = Layout::box(3, block, dims);
      const Layout dense = Layout::dense(columns.size_bytes(), 5);
      const ByteRange cut = {pick(random_, 0, 5 * block),
                             columns.size_bytes() - pick(random_, 0, 80)};
      for (const ByteRange part : {ByteRange{0, columns.size_bytes()}, cut}) {
        expect_copies(dense, columns, part, options_, random_);
        expect_copies(columns, dense, part, options_, random_);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(CpuCopy, transposes) {
  for (const std::int64_t block : {1, 2, 4, 8, 12, 16, 24, 32}) {
    for (const std::int64_t pad : {0, 8}) {
      const std::int64_t rows = pad == 0 ? 64 : pick(random_, 1, 90);
      const std::int64_t columns = pick(random_, 1, 150);
      const std::int64_t row_bytes = columns * (block + pad) + 64;
      const Dim plane[] = {{columns, block + pad}, {rows, row_bytes}};
      const Dim cube[] = {{columns, block + pad}, {3, rows * row_bytes}, {rows, row_bytes}};
      for (const Layout& layout : {Layout::box(5, block, plane), Layout::box(5, block, cube)}) {
        const Layout dense = Layout::dense(layout.size_bytes());
        expect_copies_all(dense, layout, options_, random_);
        expect_copies_all(layout, dense, options_, random_);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(CpuCopy, transposes_past_the_caches_from_any_alignment) {
  // Both pitches are whole lines, so that lines are stored whole.
  constexpr std::int64_t kRow = 6144;
  // More than 4 MiB, and more than 20 MiB, which are stored in tiles of another width.
  for (const std::int64_t rows : {776, 3416}) {
    std::vector<std::uint64_t> words(static_cast<std::size_t>(kRow * rows) / 8);
    for (std::uint64_t& word : words) word = random_();
    const auto* const source = reinterpret_cast<const std::byte*>(words.data());
    for (const std::int64_t block : {8, 16}) {
      const Dim dims[] = {{kRow / block, block}, {rows, kRow}};
      const Layout layout = Layout::box(0, block, dims);
      const auto size = static_cast<std::size_t>(layout.size_bytes());
      const Layout dense = Layout::dense(layout.size_bytes());
      const cpu::OpPtr pack = cpu::compile(dense, layout, options_);
      const cpu::OpPtr unpack = cpu::compile(layout, dense, options_);
      for (const std::int64_t shift : {0, 8, 16, 40, 48, 3}) {
        if (rows > 1000 && shift != 16) continue;
        std::vector<std::byte> packed(size + 64), back(size + 64);
        std::byte* const to = packed.data() + shift;
        pack->run(to, source);
        std::int64_t wrong = 0;
        for (std::int64_t i = 0; i < kRow / block; ++i) {
          for (std::int64_t j = 0; j < rows; ++j) {
            wrong += std::memcmp(to + (i * rows + j) * block, source + j * kRow + i * block,
                                 static_cast<std::size_t>(block)) != 0;
          }
        }
        EXPECT_EQ(wrong, 0) << rows << " rows, " << block << " bytes, shift " << shift;
        EXPECT_EQ(to[size], std::byte{0});
        unpack->run(back.data() + shift, to);
        EXPECT_EQ(std::memcmp(back.data() + shift, source, size), 0)
            << rows << " rows, " << block << " bytes, shift " << shift;
        EXPECT_EQ(back[static_cast<std::size_t>(shift) + size], std::byte{0});
      }
    }
  }
}

TEST_P(CpuCopy, few_records_of_small_fields) {
  // Fewer than a chunk of the records' copies holds; runs of more than one chunk beside them.
  for (const std::int64_t gap : {0, 3, 5000}) {
    const std::vector<std::int64_t> offsets = {0, 7, 12, 40 + gap}, lengths = {4, 1, 8, 3};
    const Layout record = Layout::blocks(offsets, lengths);
    for (std::int64_t count = 2; count <= 17; ++count) {
      for (const std::int64_t stride : {64 + gap, -64 - gap}) {
        const Layout layout = record.repeated(count, stride).shifted(5);
        const Layout dense = Layout::dense(layout.size_bytes(), 3);
        expect_copies_all(dense, layout, options_, random_);
        expect_copies_all(layout, dense, options_, random_);
        if (HasFatalFailure()) return;
      }
    }
    const Layout dense = Layout::dense(record.size_bytes() * 3);
    EXPECT_EQ(cpu::compile(dense, record.repeated(3, 64 + gap), options_)->description(),
              "3 records of 4 fields");
  }
}

TEST_P(CpuCopy, joins_unlike_layouts) {
  for (int i = 0; i < 100; ++i) {
    const Layout from = random_layout(random_);
    Layout to = random_layout(random_);
    if (from.size_bytes() == 0 || from.size_bytes() > 100'000) continue;
    // `to` becomes a list of as many bytes as `from`, cut into blocks of any length.
    std::vector<std::int64_t> offsets, lengths;
    std::int64_t at = 0;
    for (std::int64_t left = from.size_bytes(); left > 0; left -= lengths.back()) {
      lengths.push_back(std::min(left, pick(random_, 1, 2000)));
      offsets.push_back(at);
      at += lengths.back() + pick(random_, 1, 30);
    }
    to = Layout::blocks(offsets, lengths);
    expect_copies_all(to, from, options_, random_);
    if (HasFatalFailure()) return;
    if (!overlaps_itself(from)) expect_copies_all(from, from.shifted(100), options_, random_);
    if (!overlaps_itself(from)) expect_copies_all(from, to, options_, random_);
    if (HasFatalFailure()) return;
  }
}

TEST_P(CpuCopy, joins_boxes_of_other_shapes_without_a_buffer) {
  const Dim fine[] = {{6, 1000}, {4, 100}, {8, 10}};
  const Dim coarse[] = {{24, 200}};
  const Layout to = Layout::box(0, 4, fine);
  const Layout from = Layout::box(16, 32, coarse);
  ASSERT_EQ(to.size_bytes(), from.size_bytes());
  expect_copies_all(to, from, options_, random_);
  expect_copies_all(from, to, options_, random_);
  EXPECT_EQ(cpu::compile(to, from, options_)->description().find("into"), std::string::npos);
}

/// The ranges that an operation was told to move, and the threads that did it.
struct Moves {
  std::mutex mutex;
  std::vector<ByteRange> parts;
  std::set<std::thread::id> threads;
};

/// Moves nothing, and notes it.
class NotingOp final : public cpu::Op {
 public:
  NotingOp(std::int64_t bytes, Moves& moves) : Op(bytes), moves_(moves) {}
  void run(std::byte* to, const std::byte* from) const override {
    run_part(to, from, {0, size_bytes()});
  }
  void run_part(std::byte* /*to*/, const std::byte* /*from*/, ByteRange part) const override {
    const std::lock_guard lock(moves_.mutex);
    moves_.parts.push_back(part);
    moves_.threads.insert(std::this_thread::get_id());
  }
  [[nodiscard]] std::string description() const override { return "nothing"; }

 private:
  Moves& moves_;
};

TEST(ThreadsOp, shares_make_up_the_part_and_are_worth_a_thread) {
  constexpr std::int64_t kMiB = 1024 * 1024;
  const auto moves_of = [](int threads, ByteRange part, Moves& moves) {
    const cpu::ThreadsOp op(std::make_unique<NotingOp>(20 * kMiB, moves), threads);
    op.run_part(nullptr, nullptr, part);
    std::ranges::sort(moves.parts, {}, &ByteRange::begin);
    std::int64_t end = part.begin;
    for (const ByteRange& share : moves.parts) {
      EXPECT_EQ(share.begin, end);
      EXPECT_LT(share.begin, share.end);
      end = share.end;
    }
    EXPECT_EQ(end, part.end);
  };
  const struct {
    int threads;
    ByteRange part;
    std::size_t shares;
  } cases[] = {{1, {0, 20 * kMiB}, 1},           {4, {0, 20 * kMiB}, 4},
               {64, {0, 20 * kMiB}, 20},         {64, {5, 4 * kMiB}, 3},
               {64, {kMiB, 2 * kMiB + 7}, 1},    {4, {kMiB, kMiB + 1}, 1},
               {3, {kMiB - 1, 19 * kMiB + 5}, 3}};
  for (const auto& each : cases) {
    Moves moves;
    moves_of(each.threads, each.part, moves);
    EXPECT_EQ(moves.parts.size(), each.shares) << each.threads << " threads";
    EXPECT_TRUE(moves.threads.contains(std::this_thread::get_id()));
    EXPECT_LE(moves.threads.size(), each.shares);
    EXPECT_EQ(moves.threads.size() > 1, each.shares > 1);
  }
}

TEST_P(CpuCopy, large_copies_are_shared_by_threads) {
  const Dim dims[] = {{4'500'000, 11}};
  const Layout layout = Layout::box(3, 8, dims);
  const Layout dense = Layout::dense(layout.size_bytes(), 5);
  for (const int threads : {1, 3}) {
    cpu::Options options = options_;
    options.threads = threads;
    std::vector<std::byte> source(static_cast<std::size_t>(layout.bounds().end));
    for (std::size_t i = 0; i < source.size(); ++i)
      source[i] = static_cast<std::byte>(i * 7 + i / 251);
    std::vector<std::byte> packed(static_cast<std::size_t>(dense.bounds().end) + 1);
    const cpu::OpPtr pack = cpu::compile(dense, layout, options);
    EXPECT_EQ(pack->description().find("threads") != std::string::npos, threads > 1);
    pack->run(packed.data(), source.data());
    std::vector<std::byte> back(source.size());
    cpu::compile(layout, dense, options)->run(back.data(), packed.data());
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < 4'500'000; ++i) {
      wrong += std::memcmp(&packed[static_cast<std::size_t>(5 + i * 8)],
                           &source[static_cast<std::size_t>(3 + i * 11)], 8) != 0;
      wrong += std::memcmp(&back[static_cast<std::size_t>(3 + i * 11)],
                           &source[static_cast<std::size_t>(3 + i * 11)], 8) != 0;
      wrong += back[static_cast<std::size_t>(i * 11 + (i == 0 ? 0 : 2))] != std::byte{0};
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(packed[0], std::byte{0});
    EXPECT_EQ(packed.back(), std::byte{0});
  }
}

TEST_P(CpuCopy, offsets_past_2_to_the_31) {
  constexpr std::int64_t kStride = std::int64_t{3} << 30;
  constexpr std::int64_t kBytes = 4 * kStride;
  auto* const memory = static_cast<std::byte*>(mmap(
      nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  const Dim dims[] = {{3, kStride}, {5, 64}};
  const std::int64_t offsets[] = {0, kStride + 5, 2 * kStride + 1, 100};
  const std::int64_t lengths[] = {9, 17, 100, 33};
  const std::int64_t common[] = {2 * kStride, 0, kStride + 77};
  for (const Layout& layout : {Layout::box(16, 24, dims), Layout::blocks(offsets, lengths),
                               Layout::blocks(common, std::int64_t{40})}) {
    const Layout dense = Layout::dense(layout.size_bytes());
    std::vector<std::byte> packed(static_cast<std::size_t>(layout.size_bytes()));
    for (std::size_t i = 0; i < packed.size(); ++i) packed[i] = static_cast<std::byte>(random_());
    cpu::compile(layout, dense, options_)->run(memory, packed.data());
    std::size_t position = 0;
    layout.for_each_block([&](std::int64_t offset, std::int64_t bytes) {
      EXPECT_EQ(
          std::memcmp(memory + offset, packed.data() + position, static_cast<std::size_t>(bytes)),
          0);
      position += static_cast<std::size_t>(bytes);
    });
    std::vector<std::byte> again(packed.size());
    cpu::compile(dense, layout, options_)->run(again.data(), memory);
    EXPECT_EQ(again, packed);
  }
  munmap(memory, kBytes);
}

INSTANTIATE_TEST_SUITE_P(EveryInstructionSet, CpuCopy, every_kernels(), name_of_kernels);

}  // namespace
}  // namespace strake
