#include "profile_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <utility>

#include "strake/error.hpp"

namespace strake::measure {
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

std::string identity(const std::string& name, const std::string& mpi, std::int64_t bytes,
                     std::int64_t block, std::int64_t pitch, std::int64_t count) {
  return fmt::format("{}|{}|{}|{}|{}|{}", name, mpi, bytes, block, pitch, count);
}

machine::Result result_of(const Json& json) {
  machine::Result result;
  result.name = json.at("name");
  result.mpi = json.value("mpi", "");
  result.bytes = json.value("bytes", std::int64_t{0});
  result.block = json.value("block", std::int64_t{0});
  result.pitch = json.value("pitch", std::int64_t{0});
  result.count = json.value("count", std::int64_t{0});
  result.median = json.at("median");
  result.p10 = json.at("p10");
  result.p90 = json.at("p90");
  result.samples = json.value("samples", 0);
  result.iid = json.value("iid", false);
  result.tries = json.value("tries", 1);
  result.limit = json.value("limit", 0.0);
  return result;
}

std::string identity(const machine::Result& result) {
  return identity(result.name, result.mpi, result.bytes, result.block, result.pitch, result.count);
}

/// Whole, or not at all, also for a reader at this very moment and after a power cut.
void write_whole(const std::string& path, const std::string& text) {
  const std::string part = fmt::format("{}.{}.part", path, getpid());
  const auto fail = [&](const char* what) {
    const int reason = errno;
    unlink(part.c_str());
    throw Error(fmt::format("{}: can't {}: {}", path, what, std::strerror(reason)));
  };
  const int file = open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) fail("be written");
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = write(file, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      close(file);
      fail("be written");
    }
    done += static_cast<std::size_t>(wrote);
  }
  if (fsync(file) != 0 || close(file) != 0) fail("be written");
  if (rename(part.c_str(), path.c_str()) != 0) fail("be put in place");
}

/// \throws std::exception  what is wrong with it
Json read_document(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error("it can't be opened");
  Json document = Json::parse(file);
  const int version = document.at("version");
  if (version != kProfileVersion) {
    throw Error(fmt::format("it has version {}, this is for version {}", version, kProfileVersion));
  }
  for (const Json& result : document.at("results")) static_cast<void>(result_of(result));
  static_cast<void>(document.at("key").get<std::string>());
  for (const Json& aware : document.at("gpu_aware")) {
    static_cast<void>(aware.at("mpi").get<std::string>());
    static_cast<void>(aware.at("aware").get<bool>());
  }
  return document;
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
  if (!fs::exists(path_)) return;
  Json found;
  try {
    found = read_document(path_);
  } catch (const std::exception& error) {
    std::error_code failed;
    fs::rename(path_, path_ + ".old", failed);
    complaint_ = fmt::format("{} can't be used ({}); {}", path_, error.what(),
                             failed ? failed.message() : "it is kept as " + path_ + ".old");
    return;
  }
  if (found["key"] != key) {
    throw Error(fmt::format("{} is the profile of another machine ({}); this is {}", path_,
                            found["key"].get<std::string>(), key));
  }
  document_.update(found);
  for (const Json& result : document_["results"])
    identities_.push_back(identity(result_of(result)));
}

std::string ProfileFile::compact_path() const {
  return fs::path(path_).replace_extension(".profile").string();
}

bool ProfileFile::has(const Case& what, const std::string& mpi, const RunMode& mode) const {
  const auto found =
      std::find(identities_.begin(), identities_.end(),
                identity(what.name, mpi, what.bytes, what.block, what.pitch, what.count));
  if (found == identities_.end()) return false;
  const Json& result = document_["results"][static_cast<std::size_t>(found - identities_.begin())];
  return result.value("mode", "") == (mode.quick ? "quick" : "full") &&
         result.value("strake", "") == mode.strake;
}

bool ProfileFile::has_aware(const std::string& mpi) const {
  const Json& list = document_["gpu_aware"];
  return std::any_of(list.begin(), list.end(), [&](const Json& a) { return a["mpi"] == mpi; });
}

void ProfileFile::merge(const machine::Result& result, const RunMode& mode) {
  const std::string wanted = identity(result);
  const auto found = std::find(identities_.begin(), identities_.end(), wanted);
  if (found != identities_.end()) {
    document_["results"][static_cast<std::size_t>(found - identities_.begin())] =
        to_json(result, mode);
    return;
  }
  identities_.push_back(wanted);
  document_["results"].push_back(to_json(result, mode));
}

void ProfileFile::set_aware(const std::string& mpi, bool aware) {
  Json& list = document_["gpu_aware"];
  for (Json& entry : list) {
    if (entry["mpi"] != mpi) continue;
    entry["aware"] = aware;
    return;
  }
  list.push_back({{"mpi", mpi}, {"aware", aware}});
}

void ProfileFile::describe(const std::string& host, const RunMode& mode, const Json& facts) {
  document_["host"] = host;
  document_["date"] = mode.date;
  document_["strake"] = mode.strake;
  document_["machine"].update(facts);
}

machine::Profile ProfileFile::profile() const {
  machine::Profile profile;
  profile.key = document_["key"];
  profile.host = document_["host"];
  profile.date = document_["date"];
  for (const Json& result : document_["results"]) profile.results.push_back(result_of(result));
  for (const Json& aware : document_["gpu_aware"]) {
    profile.aware.push_back({aware["mpi"].get<std::string>(), aware["aware"].get<bool>()});
  }
  return profile;
}

void ProfileFile::save() const {
  const fs::path folder = fs::absolute(path_).parent_path();
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw Error(fmt::format("{} can't be made: {}", folder.string(), error.message()));
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
  write_whole(path_, text);
  machine::write_compact(profile(), compact_path());
}

}  // namespace strake::measure
