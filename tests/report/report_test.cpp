// Units, axes, the matrix, the reader, and the contents of the page.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "made_up.hpp"
#include "report/axis.hpp"
#include "report/matrix.hpp"
#include "report/page.hpp"
#include "report/profile_reader.hpp"
#include "report/svg.hpp"
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

TEST(Axis, takes_in_what_it_can_show_and_ends_at_ticks) {
  Axis axis{"rate [GB/s]", Scale::Log, 0, 0};
  axis.include(0);  // has no place on it
  axis.include(0.013);
  axis.include(1700);
  axis.round();
  EXPECT_DOUBLE_EQ(axis.low, 0.01);
  EXPECT_DOUBLE_EQ(axis.high, 2000);
  EXPECT_DOUBLE_EQ(axis.position(axis.low), 0);
  EXPECT_DOUBLE_EQ(axis.position(axis.high), 1);
  EXPECT_NEAR(axis.position(std::sqrt(0.01 * 2000)), 0.5, 1e-9);
  EXPECT_EQ(axis.full_label(), "rate [GB/s], log scale");
  int labels = 0;
  for (const auto& tick : axis.ticks(8)) labels += tick.label.empty() ? 0 : 1;
  EXPECT_EQ(labels, 6);  // 0.01 to 1000
  Axis bytes{"size [bytes]", Scale::LogBytes, 0, 0};
  bytes.include(100);
  bytes.include(64 << 20);
  bytes.round();
  EXPECT_EQ(bytes.low, 64);
  EXPECT_EQ(bytes.high, 64 << 20);
  EXPECT_LE(bytes.ticks(8).size(), 9U);
}

TEST(Axis, of_one_value_or_none_has_a_width) {
  for (const Scale scale : {Scale::Linear, Scale::Log, Scale::LogBytes}) {
    for (const double value : {0.0, 64.0}) {
      Axis axis{"", scale, 0, 0};
      axis.include(value);
      axis.round();
      EXPECT_LT(axis.low, axis.high);
      EXPECT_GE(axis.ticks(8).size(), 2U);
    }
  }
}

TEST(Svg, keeps_words_out_of_the_markup) {
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
  /// What the reader says to a text.
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

/// The texts of all cells of the table of numbers, in order.
std::vector<std::string> cells_of_numbers(const std::string& html) {
  std::vector<std::string> cells;
  std::size_t at = html.find("<section id=\"numbers\">");
  while ((at = html.find("<td", at)) != std::string::npos) {
    const std::size_t begin = html.find('>', at) + 1;
    cells.push_back(html.substr(begin, html.find('<', begin) - begin));
    at = begin;
  }
  return cells;
}

TEST(Page, shows_every_number_of_the_profile) {
  const Shown shown{"one", made_up("one", 2, 1), {}};
  const std::string html = page("Title", {&shown, 1});
  const auto cells = cells_of_numbers(html);
  constexpr std::size_t kColumns = 13;
  ASSERT_EQ(cells.size(), kColumns * shown.profile.results.size());
  for (std::size_t i = 0; i < shown.profile.results.size(); ++i) {
    const auto& result = shown.profile.results[i];
    const auto* row = &cells[kColumns * i];
    EXPECT_EQ(row[0], result.name);
    EXPECT_EQ(row[6], time_text(result.median));
    EXPECT_EQ(row[9],
              result.bytes > 0 ? rate_text(static_cast<double>(result.bytes) / result.median) : "");
    EXPECT_EQ(row[10],
              result.limit > 0
                  ? share_text(static_cast<double>(result.bytes) / result.median, result.limit)
                  : "");
    EXPECT_NE(html.find(fmt::format("title=\"{:.9g} s\">{}<", result.median, row[6])),
              std::string::npos);
  }
}

TEST(Page, points_of_plots_carry_their_numbers) {
  const Shown shown{"one", made_up("one", 2, 1), {}};
  const std::string html = page("Title", {&shown, 1});
  for (const auto& result : shown.profile.results) {
    // Sizes of packs are thinned out, and each pair's peers are in the matrix.
    if (result.name.rfind("pack/device", 0) != 0 && result.name != "copy/device-to-pinned")
      continue;
    EXPECT_NE(html.find(escaped(description(result)) + "</title>"), std::string::npos)
        << result.name << " " << description(result);
  }
}

TEST(Page, of_two_profiles_compares_them) {
  const Shown shown[] = {{"A: one", made_up("one", 0, 1), {}},
                         {"B: two", made_up("two", 0, 2), {}}};
  const std::string html = page("Title", shown);
  EXPECT_NE(html.find("<section id=\"comparison\">"), std::string::npos);
  EXPECT_NE(html.find("<td>pack/cpu/box</td><td>56</td><td>0.5</td><td>0.5</td><td>0.5</td>"),
            std::string::npos);
  // No GPU was there: nothing is said of any.
  EXPECT_EQ(html.find("Device memory"), std::string::npos);
}

TEST(Page, of_an_empty_profile_says_so) {
  const Shown shown{"none", {}, {}};
  const std::string html = page("<Title>", {&shown, 1});
  EXPECT_NE(html.find("<h1>&lt;Title&gt;</h1>"), std::string::npos);
  EXPECT_EQ(html.find("<svg"), std::string::npos);
  EXPECT_NE(html.find("Nothing of this was measured."), std::string::npos);
}

TEST(Crossover, shows_the_method_that_the_sum_of_the_parts_says) {
  const Shown shown{"one", made_up("one", 1, 1), {}};
  const std::string html = page("Title", {&shown, 1});
  // 64 KiB in blocks of 4 B: 2 x 16384 x 1.1 ns by pack, 16384 x 6 ns by the MPI library.
  const std::size_t at = html.find("<title>64 KiB in blocks of 4 B: pack ");
  EXPECT_NE(at, std::string::npos);
  EXPECT_NE(html.find("<title>64 KiB in blocks of 4 KiB: system"), std::string::npos);
  EXPECT_NE(html.find("staged"), std::string::npos);
}

}  // namespace
}  // namespace strake::report
