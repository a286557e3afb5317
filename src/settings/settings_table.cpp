#include "settings/settings_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace strake::settings {
namespace {

constexpr std::string_view kPrefix = "STRAKE_";

std::vector<std::string_view> split_choices(std::string_view choices) {
  std::vector<std::string_view> out;
  while (!choices.empty()) {
    const std::size_t bar = std::min(choices.find('|'), choices.size());
    out.push_back(choices.substr(0, bar));
    choices.remove_prefix(std::min(bar + 1, choices.size()));
  }
  return out;
}

std::optional<bool> parse_flag(std::string_view text) {
  for (const std::string_view yes : {"1", "yes", "on", "true"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"0", "no", "off", "false"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

std::optional<std::int64_t> parse_measure(Kind kind, std::string_view text) noexcept {
  return kind == Kind::Bytes ? parse_bytes(text) : parse_number(text);
}

/// The value as a number, or, if it is not valid, which values are: "must be 0 or 1".
struct Parsed {
  std::optional<std::int64_t> number;
  std::string expected;
};

Parsed parse_value(const Setting& setting, std::string_view text) {
  switch (setting.kind) {
    case Kind::Flag: {
      const auto flag = parse_flag(text);
      if (flag) return {*flag ? 1 : 0, {}};
      return {std::nullopt, "must be 1 or 0 (yes or no, on or off, true or false)"};
    }
    case Kind::Number:
    case Kind::Bytes: {
      // The table's choices are "least..most" here.
      const std::string_view range = setting.choices;
      const std::size_t dots = range.find("..");
      const auto least = parse_measure(setting.kind, range.substr(0, dots));
      const auto most = parse_measure(setting.kind, range.substr(dots + 2));
      const auto value = parse_measure(setting.kind, text);
      if (value && *value >= least.value() && *value <= most.value()) return {*value, {}};
      const char* what =
          setting.kind == Kind::Bytes ? "a number of bytes (64K, 1M, 2G)" : "a whole number";
      return {std::nullopt, fmt::format("must be {} from {} to {}", what, range.substr(0, dots),
                                        range.substr(dots + 2))};
    }
    case Kind::Choice: {
      const auto choices = split_choices(setting.choices);
      if (std::find(choices.begin(), choices.end(), text) != choices.end()) return {0, {}};
      const std::string_view near = nearest(text, choices);
      return {std::nullopt,
              fmt::format("must be one of {}{}", fmt::join(choices, ", "),
                          near.empty() ? "" : fmt::format(" (did you mean {}?)", near))};
    }
    case Kind::Text:
      break;
  }
  return {0, {}};
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  const auto same = [](char x, char y) {
    return std::toupper(static_cast<unsigned char>(x)) ==
           std::toupper(static_cast<unsigned char>(y));
  };
  // rows[i % 3] holds the distances of a's first i letters to every beginning of b.
  std::array<std::vector<std::size_t>, 3> rows;
  for (auto& row : rows) row.resize(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto& row = rows[i % 3];
    const auto& above = rows[(i - 1) % 3];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min(
          {above[j] + 1, row[j - 1] + 1, above[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1)});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1])) {
        row[j] = std::min(row[j], rows[(i - 2) % 3][j - 2] + 1);
      }
    }
  }
  return rows[a.size() % 3][b.size()];
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  // A third of the letters, so that a slip is found, and no other word.
  constexpr std::size_t kLeastLetters = 3;
  if (word.size() < kLeastLetters) return {};
  std::string_view best;
  std::size_t best_distance = word.size() / kLeastLetters + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

Table read_table(std::span<const char* const> environment) {
  Table table;
  table.settings = {
#define STRAKE_SETTING(id, name, kind, default_value, since, choices, help) \
  Setting{Id::id, name, Kind::kind, default_value, since, choices, help, default_value, false},
#include "settings/settings.def"
#undef STRAKE_SETTING
  };
  std::vector<std::string_view> names;
  for (const Setting& setting : table.settings) {
    names.emplace_back(std::string_view(setting.name).substr(kPrefix.size()));
    const Parsed parsed = parse_value(setting, setting.default_value);
    table.numbers[static_cast<std::size_t>(setting.id)] = parsed.number.value();
  }
  for (const char* entry : environment) {
    const std::string_view text = entry;
    if (!text.starts_with(kPrefix)) continue;
    const std::size_t equals = std::min(text.find('='), text.size());
    const std::string_view name = text.substr(0, equals);
    const std::string_view value = text.substr(std::min(equals + 1, text.size()));
    const std::string_view bare = name.substr(kPrefix.size());
    const auto known = std::find(names.begin(), names.end(), bare);
    if (known == names.end()) {
      const std::string_view near = nearest(bare, names);
      table.complaints.push_back(
          near.empty()
              ? fmt::format("{} is not a setting (strake settings lists them)", name)
              : fmt::format("{} is not a setting; did you mean {}{}?", name, kPrefix, near));
      continue;
    }
    Setting& setting = table.settings[static_cast<std::size_t>(known - names.begin())];
    if (value.empty()) continue;  // set to nothing is not set
    const Parsed parsed = parse_value(setting, value);
    if (!parsed.number) {
      table.complaints.push_back(
          fmt::format("{}={} {}; using {}", name, value, parsed.expected, setting.default_value));
      continue;
    }
    setting.value = value;
    setting.from_environment = true;
    table.numbers[static_cast<std::size_t>(setting.id)] = *parsed.number;
  }
  return table;
}

}  // namespace strake::settings
