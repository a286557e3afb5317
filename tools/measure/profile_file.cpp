#include "profile_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <utility>

#include "machine/whole_file.hpp"
#include "measure/profile_reader.hpp"
#include "strake/error.hpp"

namespace strake::measure {
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

/// Whether both are of one case; `Other` is a Result or a Case.
template <typename Other>
bool same_case(const machine::Result& result, const Other& other) {
  return result.name == other.name && result.bytes == other.bytes && result.block == other.block &&
         result.pitch == other.pitch && result.count == other.count;
}

}  // namespace

std::string now_utc() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

Json to_json(const machine::Result& result, const RunMode& mode) {
  Json json;
  json["name"] = result.name;
  if (!result.mpi.empty()) json["mpi"] = result.mpi;
  const auto add = [&](const char* name, std::int64_t value) {
    if (value != 0) json[name] = value;
  };
  add("bytes", result.bytes);
  add("block", result.block);
  add("pitch", result.pitch);
  add("count", result.count);
  json["median"] = result.median;
  json["p10"] = result.p10;
  json["p90"] = result.p90;
  json["samples"] = result.samples;
  json["iid"] = result.iid;
  json["tries"] = result.tries;
  if (result.limit > 0) json["limit"] = result.limit;
  json["mode"] = mode.quick ? "quick" : "full";
  json["strake"] = mode.strake;
  json["date"] = mode.date;
  return json;
}

ProfileFile::ProfileFile(std::string path, std::string key) : path_(std::move(path)) {
  document_ = {{"version", kProfileVersion},
               {"key", key},
               {"host", ""},
               {"date", ""},
               {"strake", ""},
               {"machine", Json::object()},
               {"gpu_aware", Json::array()},
               {"results", Json::array()}};
  profile_.key = key;
  if (!fs::exists(path_)) return;
  ProfileDocument found;
  try {
    found = read_profile_document(path_);
    static_cast<void>(found.json.at("gpu_aware"));  // this command always writes it
  } catch (const std::exception& error) {
    std::error_code failed;
    fs::rename(path_, path_ + ".old", failed);
    complaint_ = fmt::format("{} can't be used ({}); {}", path_, error.what(),
                             failed ? failed.message() : "it is kept as " + path_ + ".old");
    return;
  }
  if (found.profile.key != key) {
    throw Error(fmt::format("{} is the profile of another machine ({}); this is {}", path_,
                            found.profile.key, key));
  }
  document_.update(found.json);
  profile_ = std::move(found.profile);
}

std::string ProfileFile::compact_path() const {
  return fs::path(path_).replace_extension(".profile").string();
}

bool ProfileFile::has(const Case& what, const std::string& mpi, const RunMode& mode) const {
  const auto& all = profile_.results;
  const auto found = std::find_if(all.begin(), all.end(), [&](const machine::Result& result) {
    return result.mpi == mpi && same_case(result, what);
  });
  if (found == all.end()) return false;
  const Json& result = document_["results"][static_cast<std::size_t>(found - all.begin())];
  return result.value("mode", "") == (mode.quick ? "quick" : "full") &&
         result.value("strake", "") == mode.strake;
}

bool ProfileFile::has_aware(const std::string& mpi) const {
  const auto& list = profile_.aware;
  return std::any_of(list.begin(), list.end(), [&](const auto& a) { return a.mpi == mpi; });
}

void ProfileFile::merge(const machine::Result& result, const RunMode& mode) {
  auto& all = profile_.results;
  const auto found = std::find_if(all.begin(), all.end(), [&](const machine::Result& known) {
    return known.mpi == result.mpi && same_case(known, result);
  });
  if (found != all.end()) {
    document_["results"][static_cast<std::size_t>(found - all.begin())] = to_json(result, mode);
    *found = result;
    return;
  }
  document_["results"].push_back(to_json(result, mode));
  all.push_back(result);
}

void ProfileFile::set_aware(const std::string& mpi, bool aware) {
  auto& list = profile_.aware;
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const auto& entry) { return entry.mpi == mpi; });
  if (found == list.end()) {
    list.push_back({mpi, aware});
    document_["gpu_aware"].push_back({{"mpi", mpi}, {"aware", aware}});
    return;
  }
  found->aware = aware;
  document_["gpu_aware"][static_cast<std::size_t>(found - list.begin())]["aware"] = aware;
}

void ProfileFile::describe(const std::string& host, const RunMode& mode, const Json& facts) {
  document_["host"] = profile_.host = host;
  document_["date"] = profile_.date = mode.date;
  document_["strake"] = mode.strake;
  document_["machine"].update(facts);
}

void ProfileFile::save() const {
  // One result a line: readable, and small differences stay small.
  Json head = document_;
  head.erase("results");
  std::string text = head.dump(1);
  text.resize(text.rfind('\n'));
  text += ",\n \"results\": [";
  const char* separator = "\n  ";
  for (const Json& result : document_["results"]) {
    text += separator + result.dump();
    separator = ",\n  ";
  }
  text += "\n ]\n}\n";
  machine::write_whole(path_, text);
  machine::write_compact(profile_, compact_path());
}

}  // namespace strake::measure
