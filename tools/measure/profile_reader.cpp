#include "measure/profile_reader.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "strake/error.hpp"

namespace strake::measure {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMostNested = 100;  // a profile's: 4

/// A value of the document, and where it is: "results[3].median".
class Value {
 public:
  Value(const std::string& path, std::string place, const Json& json)
      : path_(path), place_(std::move(place)), json_(json) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(fmt::format("{}, at {}: {}", path_, place_, what));
  }

  [[nodiscard]] bool has(const char* name) const { return object().contains(name); }
  [[nodiscard]] Value at(const char* name) const {
    const std::string place = place_ == "the top" ? name : place_ + "." + name;
    if (!has(name)) throw Error(fmt::format("{}, at {}: it is missing", path_, place));
    return {path_, place, json_[name]};
  }
  [[nodiscard]] std::vector<Value> items() const {
    if (!json_.is_array()) fail(fmt::format("a list belongs there, not {}", shown()));
    std::vector<Value> items;
    for (std::size_t i = 0; i < json_.size(); ++i)
      items.push_back({path_, fmt::format("{}[{}]", place_, i), json_[i]});
    return items;
  }
  [[nodiscard]] std::string text() const {
    if (!json_.is_string()) fail(fmt::format("a text belongs there, not {}", shown()));
    return json_.get<std::string>();
  }
  [[nodiscard]] bool truth() const {
    if (!json_.is_boolean()) fail(fmt::format("true or false belongs there, not {}", shown()));
    return json_.get<bool>();
  }
  [[nodiscard]] std::int64_t whole() const {
    if (!json_.is_number_integer() ||
        (json_.is_number_unsigned() && json_.get<std::uint64_t>() > INT64_MAX) ||
        json_.get<std::int64_t>() < 0)
      fail(fmt::format("a whole number of at least 0 belongs there, not {}", shown()));
    return json_.get<std::int64_t>();
  }
  [[nodiscard]] double real() const {
    if (!json_.is_number() || !std::isfinite(json_.get<double>()) || json_.get<double>() < 0)
      fail(fmt::format("a number of at least 0 belongs there, not {}", shown()));
    return json_.get<double>();
  }

  /// \{ Value of a member that may be left out: then it is empty, or 0.
  [[nodiscard]] std::string text(const char* name) const {
    return has(name) ? at(name).text() : std::string();
  }
  [[nodiscard]] std::int64_t whole(const char* name) const {
    return has(name) ? at(name).whole() : 0;
  }
  /// \}
  [[nodiscard]] const Json& json() const { return json_; }

 private:
  [[nodiscard]] const Json& object() const {
    if (!json_.is_object()) fail(fmt::format("an object belongs there, not {}", shown()));
    return json_;
  }
  /// Text of the value, cut where it is long.
  [[nodiscard]] std::string shown() const {
    const std::string all = json_.dump();
    return all.size() <= 40 ? all : all.substr(0, 40) + "...";
  }

  const std::string& path_;
  std::string place_;
  const Json& json_;
};

machine::Result read_result(const Value& value) {
  machine::Result result;
  result.name = value.at("name").text();
  if (result.name.empty()) value.at("name").fail("the name is empty");
  result.mpi = value.text("mpi");
  result.bytes = value.whole("bytes");
  result.block = value.whole("block");
  result.pitch = value.whole("pitch");
  result.count = value.whole("count");
  result.median = value.at("median").real();
  result.p10 = value.at("p10").real();
  result.p90 = value.at("p90").real();
  if (result.p10 > result.median || result.median > result.p90)
    value.fail(fmt::format("p10 {}, median {} and p90 {} are not in order", result.p10,
                           result.median, result.p90));
  result.samples = static_cast<int>(value.whole("samples"));
  result.iid = value.has("iid") && value.at("iid").truth();
  result.tries = value.has("tries") ? static_cast<int>(value.whole("tries")) : 1;
  result.limit = value.has("limit") ? value.at("limit").real() : 0;
  result.doubtful = value.text("doubtful");
  return result;
}

std::string contents(const std::string& path) {
  if (std::filesystem::is_directory(path)) throw Error(fmt::format("{}: Is a directory", path));
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file) throw Error(fmt::format("{}: {}", path, std::strerror(errno)));
  return text.str();
}

}  // namespace

ProfileDocument read_profile_document(const std::string& path) {
  const std::string text = contents(path);
  ProfileDocument document;
  try {
    // A recursive walk over a document that is nested deeper would overflow the stack.
    document.json = Json::parse(text, [&](int depth, Json::parse_event_t, const Json&) {
      if (depth > kMostNested)
        throw Error(fmt::format("{}: it is nested more than {} deep", path, kMostNested));
      return true;
    });
  } catch (const Json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 3, column 7: syntax error ..."
    std::string what = error.what();
    what.erase(0, what.find("] ") == std::string::npos ? 0 : what.find("] ") + 2);
    throw Error(fmt::format("{} is no JSON: {}", path, what));
  }
  const Value top(path, "the top", document.json);
  if (const auto version = top.at("version").whole(); version != kProfileVersion)
    top.at("version").fail(
        fmt::format("version {} of the format; this command reads {}", version, kProfileVersion));
  machine::Profile& profile = document.profile;
  profile.key = top.at("key").text();
  profile.host = top.text("host");
  profile.date = top.text("date");
  for (const Value& item : top.at("results").items()) profile.results.push_back(read_result(item));
  if (top.has("gpu_aware"))
    for (const Value& item : top.at("gpu_aware").items())
      profile.aware.push_back({item.at("mpi").text(), item.at("aware").truth()});
  return document;
}

}  // namespace strake::measure
