#include "plan/graph_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>

#include "strake/error.hpp"

namespace strake::plan {
namespace {

constexpr int kMostVertices = 1 << 20;
constexpr std::string_view kBlanks = " \t\r";

/// Takes the next integer from the front of a line; nothing: another thing is there.
template <typename T>
std::optional<T> take_integer(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
  T value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  line.remove_prefix(word.size());
  return value;
}

std::optional<placement::Edge> edge_of(std::string_view line) {
  const auto from = take_integer<int>(line);
  const auto to = take_integer<int>(line);
  const auto weight = take_integer<std::int64_t>(line);
  const auto is_vertex = [](const auto& one) { return one && *one >= 0 && *one < kMostVertices; };
  if (!is_vertex(from) || !is_vertex(to) || !weight || *weight < 0 ||
      line.find_first_not_of(kBlanks) != std::string_view::npos)
    return std::nullopt;
  return placement::Edge{*from, *to, *weight};
}

}  // namespace

placement::Graph read_graph(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(fmt::format("{} can't be read", path));
  placement::Graph graph;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    // Editors of Windows begin a file with this mark of UTF-8.
    constexpr std::string_view kMark = "\xEF\xBB\xBF";
    if (++number == 1 && line.starts_with(kMark)) line.erase(0, kMark.size());
    const std::string_view text = std::string_view(line).substr(0, line.find('#'));
    if (text.find_first_not_of(kBlanks) == std::string_view::npos) continue;
    const auto edge = edge_of(text);
    if (!edge)
      throw Error(
          fmt::format("{}:{}: \"{}\" is not \"from to weight\", vertices from 0 to {} and a "
                      "weight from 0 on",
                      path, number, line, kMostVertices - 1));
    graph.edges.push_back(*edge);
    graph.vertices = std::max({graph.vertices, edge->from + 1, edge->to + 1});
  }
  if (file.bad()) throw Error(fmt::format("{} can't be read", path));
  if (graph.edges.empty()) throw Error(fmt::format("{} has no edge", path));
  return graph;
}

}  // namespace strake::plan
