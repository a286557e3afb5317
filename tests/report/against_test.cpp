// A page claims nothing from doubtful results, and compares the way that messages of jobs take.
#include <gtest/gtest.h>

#include <string>

#include "report/page.hpp"

namespace strake::report {
namespace {

constexpr const char* kLibrary = "Open MPI 4.1.4";

class Claims : public testing::Test {
 protected:
  /// Half a round trip of blocks of 8 bytes at a distance of 16.
  machine::Result& add(const std::string& name, std::int64_t bytes, double seconds) {
    machine::Result result;
    result.name = name;
    result.mpi = kLibrary;
    result.bytes = bytes;
    result.block = 8;
    result.pitch = 16;
    result.median = result.p10 = result.p90 = seconds;
    shown_.profile.results.push_back(result);
    return shown_.profile.results.back();
  }
  /// Three sizes of a way that takes `times` the library's time.
  void add_way(const std::string& way, double times) {
    for (const std::int64_t bytes : {1024, 16384, 262144})
      add("mpi/node/" + way + "/box", bytes, times * static_cast<double>(bytes) * 1e-9);
  }
  void disturb_all() {
    for (machine::Result& result : shown_.profile.results)
      result.doubtful = "other processes used 1.3 of 2 CPUs";
  }
  std::string page_text() const { return page("Title", {&shown_, 1}); }
  /// The section of this id; the rest of the page is left out.
  std::string section(const std::string& id) const {
    const std::string html = page_text();
    const auto begin = html.find("<section id=\"" + id + "\"");
    return html.substr(begin, html.find("</section>", begin) - begin);
  }

  Shown shown_{"one", {}, {}};
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(Claims, none_is_made_of_doubtful_results) {
  add_way("system", 1);
  add_way("pack", 0.5);
  EXPECT_TRUE(has(section("against"), "3 of 3 messages are faster"));
  disturb_all();
  const std::string against = section("against");
  EXPECT_TRUE(has(against,
                  "All 3 comparisons are doubtful: other processes used 1.3 of 2 CPUs. Nothing "
                  "follows from them."));
  EXPECT_FALSE(has(against, "<b>"));
  EXPECT_FALSE(has(against, "times as fast."));
  EXPECT_FALSE(has(against, "class=\"better\""));
  EXPECT_TRUE(has(against, "<details><summary>The doubtful numbers</summary>"));
}

TEST_F(Claims, leave_doubtful_results_out_of_the_mean) {
  add_way("system", 1);
  add_way("pack", 0.5);
  add("mpi/node/system/box", 4096, 4096e-9);
  add("mpi/node/pack/box", 4096, 1e-9).doubtful = "a busy CPU";
  const std::string against = section("against");
  EXPECT_TRUE(has(against,
                  "<b>Packed by Strake, sent by MPI: 3 of 3 messages are faster than by "
                  "Open MPI 4.1.4. Geometric mean: 2 times as fast.</b>"));
  EXPECT_TRUE(has(against, "Not counted: 1 of 4 comparisons, which are doubtful (a busy CPU)."));
}

TEST_F(Claims, are_not_bold_where_most_comparisons_are_doubtful) {
  add_way("system", 1);
  add_way("pack", 0.5);
  for (std::size_t i = 0; i < 2; ++i) shown_.profile.results[i].doubtful = "a busy CPU";
  const std::string against = section("against");
  EXPECT_TRUE(has(against, "1 of 1 messages are faster"));
  EXPECT_FALSE(has(against, "<b>"));
}

TEST_F(Claims, are_about_shared_memory_where_it_was_measured) {
  add_way("system", 1);
  add_way("pack", 0.5);
  EXPECT_TRUE(has(section("against"), "this profile has no times of that way (<code>shared"));
  EXPECT_TRUE(has(section("against"), "<h3>Open MPI 4.1.4, within a node, sent by MPI"));
  add_way("shared", 0.25);
  const std::string against = section("against");
  EXPECT_TRUE(has(against, "<h3>Open MPI 4.1.4, within a node, by shared memory"));
  EXPECT_TRUE(has(against, "<b>Packed by Strake into shared memory: 3 of 3"));
  EXPECT_TRUE(has(against, "Geometric mean: 4 times as fast.</b>"));
  EXPECT_TRUE(has(against, "<summary>Open MPI 4.1.4, within a node, sent by MPI"));
  EXPECT_FALSE(has(against, "this profile has no times of that way"));
}

TEST_F(Claims, of_the_fastest_method_are_about_shared_memory_where_it_was_measured) {
  add_way("system", 1);
  for (const char* name : {"pack/cpu/box", "unpack/cpu/box", "mpi/node/packed"})
    for (const std::int64_t bytes : {1024, 16384, 262144})
      add(name, bytes, 1e-10 * static_cast<double>(bytes)).mpi =
          name[0] == 'm' ? kLibrary : std::string();
  add_way("pack", 0.5);
  EXPECT_TRUE(has(section("methods"), "Packed messages are sent by MPI here."));
  EXPECT_TRUE(has(section("methods"), ">P</td>"));
  add_way("shared", 0.25);
  const std::string maps = section("methods");
  EXPECT_TRUE(has(maps, ": shared 4.1 µs, pack 8.19 µs, library 16.4 µs\">H</td>"));
  EXPECT_TRUE(has(maps, "1 KiB in blocks of 8 B: pack 512 ns, library 1.02 µs\">P</td>"));  // short
  EXPECT_FALSE(has(maps, "Packed messages are sent by MPI here."));
  disturb_all();
  EXPECT_TRUE(has(section("methods"), "No two transports can be compared"));
}

TEST_F(Claims, are_not_drawn_without_both_lines) {
  for (const std::int64_t bytes : {1024, 262144}) {
    add("mpi/node/system/box", bytes, 2e-6);
    add("mpi/node/pack/box", bytes, 1e-6);
  }
  for (const std::int64_t bytes : {1024, 4096, 16384, 262144}) {
    machine::Result& contiguous = add("mpi/node/host", bytes, 1e-6);
    contiguous.block = contiguous.pitch = 0;
  }
  const std::string against = section("against");
  EXPECT_FALSE(has(against, "<figure"));
  EXPECT_TRUE(has(against, "No plot: no block length was measured at 3 sizes or more."));
  EXPECT_TRUE(has(against, "class=\"better\""));
}

TEST_F(Claims, of_the_max_rate_model_need_two_curves) {
  for (const std::int64_t bytes : {1024, 16384, 262144}) {
    for (const std::int64_t pairs : {1, 2}) {
      if (pairs == 2 && bytes == 1024) continue;
      machine::Result& result = add("mpi/node/pairs", bytes, 1e-9 * static_cast<double>(bytes));
      result.block = result.pitch = 0;
      result.count = pairs;
    }
  }
  EXPECT_TRUE(has(page_text(), "Not fitted: only 1 pair at once was measured at three sizes"));
  EXPECT_FALSE(has(page_text(), "1 pair, model"));
}

TEST_F(Claims, set_no_doubtful_number_in_bold) {
  machine::Result& result = add("copy/cpu/flushed", 1 << 20, 1e-4);
  result.block = result.pitch = 0;
  result.mpi.clear();
  EXPECT_TRUE(has(section("key-numbers"), "<td class=\"value\" title"));
  disturb_all();
  EXPECT_FALSE(has(section("key-numbers"), "class=\"value\""));
  EXPECT_TRUE(has(section("key-numbers"), "<td class=\"doubtful\" title"));
}

}  // namespace
}  // namespace strake::report
