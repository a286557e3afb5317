#include "text_table.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace strake {
namespace {

constexpr auto kRight = TextTable::Align::Right;

TEST(TextTable, columns_are_as_wide_as_their_longest_cells) {
  TextTable table({{.gap = 0}, {}, {kRight}});
  table.add({"setting", "from", "s"});
  EXPECT_FALSE(table.has_entries());
  table.add({"A", "environment", "10.5"});
  EXPECT_TRUE(table.has_entries());
  EXPECT_EQ(table.text(),
            "setting  from            s\n"
            "A        environment  10.5\n");
}

TEST(TextTable, letters_count_and_not_bytes) {
  TextTable table({{.gap = 0}, {kRight}});
  table.add({"±", "×"});
  table.add({"ab", "cd"});
  EXPECT_EQ(table.text(),
            "±    ×\n"
            "ab  cd\n");
}

TEST(TextTable, longer_cells_than_a_given_width_shift_their_own_row_alone) {
  TextTable table({{.gap = 0, .width = 4}, {kRight, 1, 2}, {kRight, 1, 2}});
  table.add({"name", "a", "b"});
  table.add({"longer", "1", "2"});
  table.add({"x", "1000", "2"});
  EXPECT_EQ(table.text(),
            "name  a  b\n"
            "longer\n"
            "      1  2\n"
            "x    1000  2\n");
}

TEST(TextTable, rows_may_end_early_and_blanks_at_a_lines_end_be_kept) {
  TextTable table({{.gap = 0}, {kRight}, {}});
  table.add({"name", "s", "end"});
  table.add({"a", "12"});
  table.add({"a", "", ""});
  EXPECT_EQ(table.text(),
            "name   s  end\n"
            "a     12\n"
            "a\n");
  EXPECT_EQ(table.text(false),
            "name   s  end\n"
            "a     12\n"
            "a         \n");
  EXPECT_EQ(table.lines(), (std::vector<std::string>{"name   s  end", "a     12", "a         "}));
}

TEST(TextTable, columns_without_room_stand_below) {
  TextTable table{std::vector<TextTable::Column>(4)};
  table.add({"GPU", "name", "memory", "links"});
  table.add({"0", "H200 SXM", "141 GiB", ""});
  EXPECT_EQ(table.text_within(24),
            "  GPU  name      memory\n"
            "  0    H200 SXM  141 GiB\n"
            "\n"
            "  GPU  links\n"
            "  0\n");
  EXPECT_EQ(table.text_within(1),
            "  GPU  name\n"
            "  0    H200 SXM\n"
            "\n"
            "  GPU  memory\n"
            "  0    141 GiB\n"
            "\n"
            "  GPU  links\n"
            "  0\n");
  EXPECT_EQ(table.text_within(100), table.text());
}

TEST(TextTable, one_column_is_shown_however_little_room_there_is) {
  TextTable table{std::vector<TextTable::Column>(1)};
  table.add({"name"});
  table.add({"a"});
  EXPECT_EQ(table.text_within(1), "  name\n  a\n");
}

}  // namespace
}  // namespace strake
