// Units, the matrix, the reader, and the contents of the page.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "made_up.hpp"
#include "report/chart.hpp"
#include "report/html.hpp"
#include "report/matrix.hpp"
#include "report/page.hpp"
#include "report/profile_reader.hpp"
#include "report/units.hpp"
#include "strake/error.hpp"

namespace strake::report {
namespace {

using report_test::json_of;
using report_test::made_up;

TEST(Units, have_three_digits) {
  EXPECT_EQ(bytes_text(1), "1 B");
  EXPECT_EQ(bytes_text(4096), "4 KiB");
  EXPECT_EQ(bytes_text(1.5 * (1 << 20)), "1.5 MiB");
  EXPECT_EQ(rate_text(55.24e9), "55.2 GB/s");
  EXPECT_EQ(rate_text(999.9e9), "1 TB/s");
  EXPECT_EQ(time_text(1.234e-6), "1.23 µs");
  EXPECT_EQ(time_text(999.6e-9), "1 µs");
  EXPECT_EQ(time_text(2e-10), "0.2 ns");
  EXPECT_EQ(share_text(51.1e9, 55e9), "93 %");
  EXPECT_EQ(share_text(1e9, 55e9), "1.8 %");
  EXPECT_EQ(share_text(1e9, 0), "");
}

TEST(Html, keeps_words_out_of_the_markup) {
  EXPECT_EQ(escaped("<a href='x'>&\"\x01"), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;\xEF\xBF\xBD");
}

TEST(Matrix, takes_the_largest_size_of_copies_and_pushes_where_there_are_none) {
  machine::Profile profile;
  const auto add = [&](const char* name, std::int64_t bytes, double rate) {
    machine::Result result;
    result.name = name;
    result.bytes = bytes;
    result.median = static_cast<double>(bytes) / rate;
    profile.results.push_back(result);
  };
  add("gpu/peer/0-1/push", 1 << 28, 370e9);
  add("gpu/peer/0-1", 1 << 20, 100e9);
  add("gpu/peer/0-1", 1 << 24, 395e9);
  add("gpu/peer/1-0/push", 1 << 24, 369e9);
  add("gpu/copy/pinned-to-device", 1 << 24, 55e9);
  add("copy/numa/0-10/cached", 1 << 24, 9e9);
  add("copy/numa/0-10/flushed", 1 << 20, 8e9);
  add("gpu/copy/pinned-node10-to-device/gpu1", 1 << 24, 50e9);
  add("gpu/copy/device-to-pinned", 1 << 24, 54e9);
  add("gpu/copy/device-local", 1 << 24, 2e12);
  add("gpu/peer/0-1/both-ways", 1 << 30, 1e9);
  add("gpu/no-peer/0-1", 1 << 30, 20e9);  // beside a copy by the link, that one counts
  add("gpu/no-peer/1-2", 1 << 24, 21e9);
  BandwidthMatrix matrix = matrix_of(profile, {"node2", "gpu2"});
  EXPECT_EQ(matrix.places, (std::vector<std::string>{"node0", "node2", "node10", "pinned", "gpu0",
                                                     "gpu1", "gpu2"}));
  const auto rate = [&](const char* from, const char* to) {
    return matrix.cells[matrix.place(from)][matrix.place(to)].rate;
  };
  EXPECT_DOUBLE_EQ(rate("gpu0", "gpu1"), 395e9);
  EXPECT_DOUBLE_EQ(rate("gpu1", "gpu0"), 369e9);
  EXPECT_DOUBLE_EQ(rate("pinned", "gpu0"), 55e9);
  EXPECT_DOUBLE_EQ(rate("node0", "node10"), 8e9);
  EXPECT_DOUBLE_EQ(rate("node10", "gpu1"), 50e9);
  EXPECT_DOUBLE_EQ(rate("gpu0", "pinned"), 54e9);
  EXPECT_DOUBLE_EQ(rate("gpu1", "gpu2"), 21e9);
  EXPECT_EQ(rate("gpu2", "gpu0"), 0);
  EXPECT_DOUBLE_EQ(rate("gpu0", "gpu0"), 2e12);
  EXPECT_EQ(rate("node0", "node0"), 0);
}

class Reader : public testing::Test {
 protected:
  std::string path_ = testing::TempDir() + "strake_profile.json";
  void write(const std::string& text) const { std::ofstream(path_) << text; }
  /// The reader's error for a text; empty: it has none.
  std::string complaint(const std::string& text) const {
    write(text);
    try {
      static_cast<void>(read_profile(path_));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  ~Reader() override { std::remove(path_.c_str()); }
};

TEST_F(Reader, reads_what_was_written) {
  const auto profile = made_up("one", 2, 1);
  write(json_of(profile));
  const Shown shown = read_profile(path_);
  EXPECT_EQ(shown.profile.host, "one");
  EXPECT_EQ(shown.profile.key, profile.key);
  ASSERT_EQ(shown.profile.results.size(), profile.results.size());
  for (std::size_t i = 0; i < profile.results.size(); ++i) {
    EXPECT_EQ(shown.profile.results[i].name, profile.results[i].name);
    EXPECT_EQ(shown.profile.results[i].mpi, profile.results[i].mpi);
    EXPECT_EQ(shown.profile.results[i].pitch, profile.results[i].pitch);
    EXPECT_EQ(shown.profile.results[i].count, profile.results[i].count);
    EXPECT_EQ(shown.profile.results[i].median, profile.results[i].median);
    EXPECT_EQ(shown.profile.results[i].limit, profile.results[i].limit);
    EXPECT_EQ(shown.profile.results[i].iid, profile.results[i].iid);
  }
  ASSERT_EQ(shown.profile.aware.size(), 1U);
  EXPECT_EQ(shown.facts[0], (std::pair<std::string, std::string>("sockets", "2")));
  EXPECT_EQ(shown.facts[2], (std::pair<std::string, std::string>("gpus[0].uuid", "GPU-0")));
}

TEST_F(Reader, says_which_file_and_where_it_is_wrong) {
  const std::string good =
      R"({"version": 1, "key": "k", "results": [{"name": "a", "median": 2, "p10": 1, "p90": 3}]})";
  EXPECT_EQ(complaint(good), "");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return complaint(text);
  };
  EXPECT_NE(complaint("").find(path_), std::string::npos);
  EXPECT_NE(complaint("{\n\"version\": }").find("line 2, column 12"), std::string::npos);
  EXPECT_NE(complaint(std::string(200000, '[') + std::string(200000, ']')).find("nested"),
            std::string::npos);
  EXPECT_EQ(complaint("[1]"), path_ + ", at the top: an object belongs there, not [1]");
  EXPECT_EQ(with("\"version\": 1", "\"version\": 7"),
            path_ + ", at version: version 7 of the format; this command reads 1");
  EXPECT_EQ(with("\"key\": \"k\", ", ""), path_ + ", at key: it is missing");
  EXPECT_EQ(with("\"median\": 2", "\"median\": \"2\""),
            path_ + ", at results[0].median: a number of at least 0 belongs there, not \"2\"");
  EXPECT_EQ(with("\"median\": 2", "\"median\": -2"),
            path_ + ", at results[0].median: a number of at least 0 belongs there, not -2");
  EXPECT_EQ(with("\"median\": 2", "\"median\": 9"),
            path_ + ", at results[0]: p10 1, median 9 and p90 3 are not in order");
  EXPECT_EQ(with("\"p10\"", "\"bytes\": 1.5, \"p10\""),
            path_ + ", at results[0].bytes: a whole number of at least 0 belongs there, not 1.5");
  EXPECT_EQ(with("\"p10\"", "\"bytes\": 18446744073709551615, \"p10\"").substr(0, path_.size()),
            path_);
  EXPECT_EQ(with("\"name\": \"a\", ", ""), path_ + ", at results[0].name: it is missing");
  EXPECT_EQ(with("[{", "7, \"x\": [{"), path_ + ", at results: a list belongs there, not 7");
}

TEST(Charts, leave_out_lines_of_two_points_and_name_doubtful_ones) {
  Shown shown{"one", {}, {}};
  for (std::int64_t i = 0; i < 5; ++i) {
    machine::Result result;
    result.name = "a";
    result.bytes = 1 << i;
    result.median = result.p10 = result.p90 = 1;
    shown.profile.results.push_back(result);
  }
  const auto& results = shown.profile.results;
  Charts charts({&shown, 1});
  const auto figure_of = [&](std::initializer_list<Line> lines) {
    Chart chart;
    chart.title = "<title>";
    chart.lines = lines;
    return charts.figure(std::move(chart));
  };
  const Line two{"two", 0, false, {&results[0], &results[1]}, {}};
  const Line three{"three & more", 0, false, {&results[2], &results[3], &results[4]}, {}};
  EXPECT_EQ(figure_of({two}), "");
  const std::string figure = figure_of({two, three});
  EXPECT_NE(figure.find("&lt;title&gt;"), std::string::npos);
  EXPECT_NE(figure.find(">three &amp; more</li>"), std::string::npos);
  EXPECT_EQ(figure.find(">two</li>"), std::string::npos);
  EXPECT_EQ(figure.find("doubtful"), std::string::npos);
  const auto json = charts.json();
  ASSERT_EQ(json["charts"].size(), 1U);
  EXPECT_EQ(json["charts"][0]["lines"].dump(),
            R"([{"name":"three & more","colour":0,"points":[2,3,4]}])");
  shown.profile.results[3].p90 = 1.3;
  EXPECT_NE(figure_of({three}).find("doubtful"), std::string::npos);
}

TEST(Page, of_two_profiles_compares_them) {
  const Shown shown[] = {{"A: one", made_up("one", 0, 1), {}},
                         {"B: two", made_up("two", 0, 2), {}}};
  const std::string html = page("Title", shown);
  EXPECT_NE(html.find("id=\"comparison\""), std::string::npos);
  EXPECT_NE(html.find("<td>pack/cpu/box</td><td>48</td><td>0.5</td><td>0.5</td><td>0.5</td>"),
            std::string::npos);
  // No GPU was there: nothing is said of any.
  EXPECT_EQ(html.find("Device memory"), std::string::npos);
  EXPECT_EQ(html.find("GPU to GPU"), std::string::npos);
}

TEST(Page, of_an_empty_profile_says_so) {
  const Shown shown{"none", {}, {}};
  const std::string html = page("<Title>", {&shown, 1});
  EXPECT_NE(html.find("<h1>&lt;Title&gt;</h1>"), std::string::npos);
  EXPECT_EQ(html.find("<figure"), std::string::npos);
  EXPECT_NE(html.find("Nothing of this was measured."), std::string::npos);
  EXPECT_NE(html.find("<code>mpirun -n 2 strake measure</code> measures it"), std::string::npos);
}

TEST(Methods, are_those_that_the_sums_of_the_parts_say) {
  const Shown shown{"one", made_up("one", 1, 1), {}};
  const std::string html = page("Title", {&shown, 1});
  const auto shows = [&](const std::string& text) { return html.find(text) != std::string::npos; };
  // 64 KiB in blocks of 4 B: 2 x 16384 x 1.1 ns by pack, 16384 x 6 ns by the MPI library.
  EXPECT_TRUE(shows("class=\"method m0\" title=\"64 KiB in blocks of 4 B: pack "));
  EXPECT_TRUE(shows("title=\"64 KiB in blocks of 4 KiB: library "));
  EXPECT_TRUE(shows("S: staged"));
}

TEST(Doubtful, is_what_spreads_over_more_than_a_quarter_of_the_median) {
  machine::Result result;
  result.median = 4;
  result.p10 = 3.5;
  result.p90 = 4.5;
  EXPECT_FALSE(doubtful(result));
  result.p90 = 4.6;
  EXPECT_TRUE(doubtful(result));
  EXPECT_EQ(spread_text(result), "3.5 s to 4.6 s");
}

}  // namespace
}  // namespace strake::report
