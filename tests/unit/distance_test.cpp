// The model where blocks lie nearer or farther apart, by made-up profiles.
#include <gtest/gtest.h>

#include <cmath>

#include "../support/made_up_profile.hpp"
#include "machine/model.hpp"
#include "machine/pitch.hpp"

namespace strake::machine {
namespace {

TEST(Model, distance_of_blocks_counts) {
  Profile profile;
  for (const char* name : {"pack/cpu/box", "unpack/cpu/box"}) {
    for (const std::int64_t bytes : {kKi, 64 * kMi}) {
      profile.results.push_back(result(name, bytes, 8, 16, 1e-6));
      profile.results.push_back(result(name, bytes, 8, 128, 8e-6));
      profile.results.push_back(result(name, bytes, 8, 4096, 100e-6));
      profile.results.push_back(result(name, bytes, 512, 1032, 1e-6));
      profile.results.push_back(result(name, bytes, 512, 8200, 8e-6));
    }
  }
  const Model model(profile, kMpi, Reach::Node, kMi);
  const auto end = [&](std::int64_t block, std::int64_t pitch) {
    const Message message{MessageDirection::Send, false, kHost, kMi, kMi / block,
                          Spread::Near,           false, pitch};
    return (model.parts(Transport::Pack, message).value().end - Model::kPacked) * 1e6;
  };
  EXPECT_NEAR(end(8, 9), 1, 1e-6);
  EXPECT_NEAR(end(8, 16), 1, 1e-6);
  EXPECT_NEAR(end(8, 32), 2, 1e-6);  // a third of the way in logarithms
  EXPECT_NEAR(end(8, 64), 4, 1e-6);
  EXPECT_NEAR(end(8, 128), 8, 1e-6);
  EXPECT_NEAR(end(8, 1024), 8 * std::pow(12.5, 2 / 3.0), 1e-6);  // as 16 bytes 256 apart take 8
  EXPECT_NEAR(end(8, 2048), 100, 1e-6);
  EXPECT_NEAR(end(512, 1032), 1, 1e-6);
  EXPECT_NEAR(end(512, 8200), 8, 1e-6);   // far apart, but measured as such
  EXPECT_NEAR(end(512, 65536), 8, 1e-6);  // the far ones that are measured are shorter
}

TEST(Model, between_two_measured_distances_powers_of_block_number_and_pitch_are_exact) {
  // The pitch without what host memory is shifted by.
  const auto microseconds = [](double blocks, double block, double pitch) {
    return 1e-3 * blocks * std::pow(block, 0.25) * std::sqrt(pitch);
  };
  Profile profile;
  for (const char* name : {"pack/cpu/box", "unpack/cpu/box"}) {
    for (std::int64_t block = 1; block <= 512; block *= 2) {
      for (std::int64_t bytes = kKi; bytes <= 64 * kMi; bytes *= 16) {
        for (const std::int64_t ratio : {kNearRatio, kSparseRatio}) {
          const std::int64_t pitch = ratio * block + (block < kLeastShifted ? 0 : kHostShift);
          const double time =
              microseconds(double(bytes) / double(block), double(block), double(ratio * block));
          profile.results.push_back(result(name, bytes, block, pitch, 1e-6 * time));
        }
      }
    }
  }
  const Model model(profile, kMpi, Reach::Node, kMi);
  for (const std::int64_t block : {16, 24, 32}) {
    for (const std::int64_t ratio : {2, 3, 5, 8, 13, 16}) {
      const std::int64_t blocks = 64 * kKi / block;
      const Message message{
          MessageDirection::Send,    false, kHost, blocks * block, blocks, Spread::Near, false,
          ratio * block + kHostShift};
      const double end = model.parts(Transport::Pack, message).value().end - Model::kPacked;
      const double right =
          1e-6 * microseconds(double(blocks), double(block), double(ratio * block));
      EXPECT_NEAR(end / right, 1, 1e-9) << block << " x " << ratio;
    }
  }
}

TEST(Model, far_blocks_at_multiples_of_2_KiB_have_a_curve_of_their_own) {
  Profile profile;
  const auto end = [&](std::int64_t pitch) {
    const Model model(profile, kMpi, Reach::Node, kMi);
    const Message message{
        MessageDirection::Send, false, kHost, kMi, kMi / 8, Spread::Far, false, pitch};
    return (model.parts(Transport::Pack, message).value().end - Model::kPacked) * 1e6;
  };
  for (const char* name : {"pack/cpu/box", "unpack/cpu/box"}) {
    profile.results.push_back(result(name, kMi, 8, 128, 8e-6));
    profile.results.push_back(result(name, kMi, 8, 2056, 20e-6));
  }
  EXPECT_NEAR(end(4096), 20, 1e-6);  // not measured: as other far ones
  for (const char* name : {"pack/cpu/box", "unpack/cpu/box"}) {
    profile.results.push_back(result(name, kMi, 8, 4096, 100e-6));
  }
  EXPECT_NEAR(end(2056), 20, 1e-6);
  EXPECT_NEAR(end(4104), 20, 1e-6);
  EXPECT_NEAR(end(2048), 100, 1e-6);
  EXPECT_NEAR(end(65536), 100, 1e-6);
}

TEST(Spread, columns_are_a_transpose_where_they_fill_the_lines_between) {
  const auto columns = [](std::int64_t count, std::int64_t apart, std::int64_t block,
                          std::int64_t pitch) {
    const Dim dims[] = {{count, apart}, {4096, pitch}};
    return spread_of(Layout::box(0, block, dims));
  };
  EXPECT_EQ(columns(512, 8, 8, 4096), Spread::Transpose);
  EXPECT_EQ(columns(8, 8, 8, 4096), Spread::Transpose);
  EXPECT_EQ(columns(2, 8, 8, 8192), Spread::Far);
  EXPECT_EQ(columns(3, 1024, 8, 4096), Spread::Far);
  EXPECT_EQ(columns(3, 64, 8, 4096), Spread::Far);
  EXPECT_EQ(columns(64, 64, 64, 4096), Spread::Transpose);
  EXPECT_EQ(columns(8, 2048, 2048, 16384), Spread::Far);
  EXPECT_EQ(columns(64, 65, 65, 4096), Spread::Far);
  EXPECT_EQ(columns(4, 128, 128, 512), Spread::Sparse);
  EXPECT_EQ(columns(2, 8, 8, 512), Spread::Sparse);
  EXPECT_EQ(columns(64, 8, 8, 512), Spread::Near);
}

TEST(Model, short_blocks_far_apart_take_the_time_of_their_lines) {
  // A million blocks, whose time is their pitch, however long they are.
  constexpr std::int64_t kBlocks = kMi;
  Profile profile;
  for (const char* name : {"pack/cpu/box", "unpack/cpu/box"}) {
    for (const std::int64_t block : {1, 2, 4, 8, 16}) {
      for (const std::int64_t bytes : {1, 2, 4, 8, 16}) {
        profile.results.push_back(result(name, kBlocks * bytes, block,
                                         16 * block + (block == 16 ? kHostShift : 0),
                                         16e-6 * static_cast<double>(block)));
      }
    }
  }
  const Model model(profile, kMpi, Reach::Node, kMi);
  const auto end = [&](std::int64_t block, std::int64_t pitch) {
    const Message message{MessageDirection::Send, false, kHost, kBlocks * block, kBlocks,
                          Spread::Near,           false, pitch};
    return (model.parts(Transport::Pack, message).value().end - Model::kPacked) * 1e6;
  };
  EXPECT_NEAR(end(1, 16), 16, 1e-6);
  EXPECT_NEAR(end(1, 64), 64, 1e-6);
  EXPECT_NEAR(end(2, 64), 64, 1e-6);
  EXPECT_NEAR(end(2, 128), 128, 1e-6);
  EXPECT_NEAR(end(8, 256), 256, 1e-6);
  EXPECT_NEAR(end(4, 1024), 256, 1e-6);  // no more: a block lies in one line or two
}

}  // namespace
}  // namespace strake::machine
