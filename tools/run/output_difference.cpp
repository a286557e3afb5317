#include "output_difference.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <sstream>

namespace strake::run {
namespace {

struct Line {
  std::string text;
  std::string skeleton;             ///< its words, # for each that has digits
  std::vector<std::string> values;  ///< those
};

bool by_text(const Line& a, const Line& b) {
  return a.skeleton != b.skeleton ? a.skeleton < b.skeleton : a.values < b.values;
}

Line line_of(const std::string& text) {
  Line line{text, {}, {}};
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const bool value =
        std::any_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    line.skeleton += value ? " #" : " " + word;
    if (value) line.values.push_back(word);
  }
  return line;
}

std::vector<Line> lines_of(const std::string& output) {
  std::vector<Line> lines;
  std::istringstream stream(output);
  for (std::string text; std::getline(stream, text);) lines.push_back(line_of(text));
  std::sort(lines.begin(), lines.end(), by_text);
  return lines;
}

bool same_skeletons(const std::vector<Line>& a, const std::vector<Line>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Line& x, const Line& y) { return x.skeleton == y.skeleton; });
}

/// The first line by which two outputs of different text differ.
OutputDifference first_difference(const std::vector<Line>& alone, const std::vector<Line>& under) {
  const auto [a, u] =
      std::mismatch(alone.begin(), alone.end(), under.begin(), under.end(),
                    [](const Line& x, const Line& y) { return x.skeleton == y.skeleton; });
  const bool only_alone = u == under.end() || (a != alone.end() && by_text(*a, *u));
  const bool only_under = a == alone.end() || (u != under.end() && by_text(*u, *a));
  return {only_under ? std::string() : a->text, only_alone ? std::string() : u->text};
}

}  // namespace

std::optional<OutputDifference> output_difference(const std::vector<std::string>& alone,
                                                  const std::vector<std::string>& under) {
  std::vector<std::vector<Line>> as;
  for (const std::string& output : alone) as.push_back(lines_of(output));
  for (const auto& other : as) {
    if (!same_skeletons(as[0], other)) return std::nullopt;
  }
  for (const std::string& output : under) {
    const std::vector<Line> lines = lines_of(output);
    if (!same_skeletons(as[0], lines)) return first_difference(as[0], lines);
    if (as.size() < 2) continue;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      for (std::size_t v = 0; v < lines[i].values.size(); ++v) {
        const std::string& value = as[0][i].values[v];
        const bool fixed = std::all_of(
            as.begin(), as.end(), [&](const auto& other) { return other[i].values[v] == value; });
        if (fixed && lines[i].values[v] != value)
          return OutputDifference{as[0][i].text, lines[i].text};
      }
    }
  }
  return std::nullopt;
}

}  // namespace strake::run
