#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "command/wrap.hpp"
#include "summary.hpp"
#include "text_table.hpp"

namespace strake::measure {
namespace {

/// Empty for 0, which stands for "does not apply".
std::string size_or_nothing(std::int64_t bytes) { return bytes == 0 ? "" : size_text(bytes); }

std::string rate_text(const machine::Result& result) {
  if (!moves_bytes(result) || result.median <= 0) return "";
  const double rate = static_cast<double>(result.bytes) / result.median / 1e9;
  return rate < 0.095 ? fmt::format("{:.4f}", rate) : fmt::format("{:.2f}", rate);
}

std::string limit_text(const machine::Result& result) {
  if (result.limit <= 0 || !moves_bytes(result)) return "";
  return fmt::format("{:.0f} %",
                     100 * static_cast<double>(result.bytes) / result.median / result.limit);
}

/// Half the distance from p10 to p90, as a part of the median: "3 %".
std::string spread_text(const machine::Result& result) {
  if (result.median <= 0) return "";
  const double spread = 100 * relative_spread(result);
  if (spread >= 999.5) return "> 999 %";
  return fmt::format("{:.{}f} %", spread, spread < 0.95 ? 1 : 0);
}

}  // namespace

std::string size_text(std::int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && bytes >= 1024 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

std::string time_text(double seconds) {
  constexpr std::array<const char*, 4> kUnits = {"ns", "us", "ms", "s"};
  double value = seconds * 1e9;
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && value >= 999.5) {
    value /= 1000;
    ++unit;
  }
  const int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, digits, kUnits[unit]);
}

std::string filter_text(const Case& what) {
  return fmt::format("{} {} {} {}", what.name, what.bytes, what.block, what.pitch);
}

std::string case_text(const Case& what) {
  std::string text = what.name;
  if (what.bytes > 0) text += ", " + size_text(what.bytes);
  if (what.block > 0) text += fmt::format(" in {} blocks", size_text(what.block));
  if (what.pitch > 0) text += fmt::format(" at {}", size_text(what.pitch));
  if (what.count > 0) text += fmt::format(", {}", what.count);
  return text;
}

std::string table(std::span<const machine::Result> results) {
  constexpr std::array<std::size_t, 7> kWidths = {8, 8, 8, 6, 9, 8, 8};
  constexpr std::size_t kLimitWidth = 8;
  constexpr std::string_view kDoubtful = "  doubtful";
  bool limited = false;
  bool doubts = false;
  for (const machine::Result& result : results) {
    limited = limited || result.limit > 0;
    doubts = doubts || !result.doubtful.empty();
  }
  std::size_t room =
      command::kColumns - (limited ? kLimitWidth : 0) - (doubts ? kDoubtful.size() : 0);
  for (const std::size_t each : kWidths) room -= each;
  std::size_t width = 4;
  for (const machine::Result& result : results)
    if (result.name.size() <= room) width = std::max(width, result.name.size());

  std::vector<TextTable::Column> columns = {{.gap = 0, .width = width}};
  const auto add_column = [&](std::size_t number_width) {
    columns.push_back({TextTable::Align::Right, 0, number_width});
  };
  for (const std::size_t each : kWidths) add_column(each);
  if (limited) add_column(kLimitWidth);
  columns.push_back({.gap = 0});
  TextTable made(std::move(columns));
  const auto add = [&](TextTable::Row cells, std::string limit, std::string_view end) {
    if (limited) cells.push_back(std::move(limit));
    cells.emplace_back(end);
    made.add(std::move(cells));
  };
  add({"name", "bytes", "block", "pitch", "count", "median", "±", "GB/s"}, "of max", "");
  std::string before;
  for (const machine::Result& result : results) {
    add({result.name == before ? "" : result.name, size_or_nothing(result.bytes),
         size_or_nothing(result.block), size_or_nothing(result.pitch),
         result.count == 0 ? "" : std::to_string(result.count), time_text(result.median),
         spread_text(result), rate_text(result)},
        limit_text(result), result.doubtful.empty() ? "" : kDoubtful);
    before = result.name;
  }
  return made.text(false);
}

}  // namespace strake::measure
