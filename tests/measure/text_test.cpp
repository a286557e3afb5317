/// \file  Texts for people.
#include "measure/text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "measure/progress.hpp"

namespace strake::measure {
namespace {

TEST(Text, sizes_and_times_have_units) {
  EXPECT_EQ(size_text(24), "24 B");
  EXPECT_EQ(size_text(1000), "1000 B");
  EXPECT_EQ(size_text(65536), "64 KiB");
  EXPECT_EQ(size_text(std::int64_t{3} << 30), "3 GiB");
  EXPECT_EQ(time_text(3.12e-7), "312 ns");
  EXPECT_EQ(time_text(9.994e-9), "9.99 ns");
  EXPECT_EQ(time_text(9.996e-9), "10.0 ns");
  EXPECT_EQ(time_text(9.996e-7), "1.00 us");
  EXPECT_EQ(time_text(1.5), "1.50 s");
}

TEST(Text, cases_are_filtered_by_plain_numbers) {
  Case what;
  what.name = "pack/cpu/box";
  what.bytes = 65536;
  what.block = 64;
  what.pitch = 128;
  EXPECT_EQ(filter_text(what), "pack/cpu/box 65536 64 128");
  EXPECT_EQ(case_text(what), "pack/cpu/box, 64 KiB in 64 B blocks at 128 B");
}

TEST(Text, the_table_has_rates_and_shares_of_the_limit) {
  machine::Result r;
  r.name = "copy/cpu/cached";
  r.bytes = 1 << 20;
  r.median = 1e-4;
  r.p10 = 9e-5;
  r.p90 = 2e-4;
  r.limit = 2.097152e10;
  machine::Result next = r;
  next.bytes = 0;
  next.p90 = 2e-3;
  next.limit = 0;
  next.doubtful = "it rained";
  const std::string text = table(std::vector{r, next});
  EXPECT_EQ(
      text,
      "name              bytes   block   pitch count   median       ±    GB/s  of max\n"
      "copy/cpu/cached   1 MiB                         100 us    55 %   10.49    50 %\n"
      "                                                100 us   955 %                  doubtful\n");
  EXPECT_EQ(table(std::vector{next}),
            "name              bytes   block   pitch count   median       ±    GB/s\n"
            "copy/cpu/cached                                 100 us   955 %          doubtful\n");
}

TEST(Text, the_table_has_100_columns_at_most) {
  machine::Result r;
  r.name = "gpu/copy/pinned-node0-to-device";
  r.bytes = 1 << 20;
  r.median = 1e-4;
  r.limit = 2.097152e10;
  r.doubtful = "it rained";
  machine::Result next = r;
  next.name = "copy/cpu/cached";
  EXPECT_EQ(
      table(std::vector{r, next}),
      "name              bytes   block   pitch count   median       ±    GB/s  of max\n"
      "gpu/copy/pinned-node0-to-device\n"
      "                  1 MiB                         100 us   0.0 %   10.49    50 %  doubtful\n"
      "copy/cpu/cached   1 MiB                         100 us   0.0 %   10.49    50 %  doubtful\n");
}

TEST(Progress, guesses_within_the_budget) {
  EXPECT_EQ(time_left(0, 100, 0, 50), "0:50 left");
  EXPECT_EQ(time_left(50, 100, 10, 840), "0:10 left");
  EXPECT_EQ(time_left(1, 100, 20, 840), "13:40 left");
  EXPECT_EQ(time_left(99, 100, 60, 50), "0:00 left");
}

TEST(Progress, writes_lines_to_a_file) {
  std::FILE* file = std::tmpfile();
  {
    Progress progress(5, file);
    progress.show(0, 10, "first");
    progress.show(1, 10, "too soon");
    progress.say("a message");
  }
  std::rewind(file);
  char text[200] = "";
  text[std::fread(text, 1, sizeof(text) - 1, file)] = '\0';
  std::fclose(file);
  EXPECT_STREQ(text, "measuring: 0 of 10, 0:05 left: first\na message\n");
}

}  // namespace
}  // namespace strake::measure
