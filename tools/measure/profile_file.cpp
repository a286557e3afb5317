#include "profile_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <utility>

#include "machine/whole_file.hpp"
#include "strake/error.hpp"

namespace strake::measure {
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

/// Whether both are of one case; `Other` is a Result or a Case. What differs most comes first.
template <typename Other>
bool same_case(const machine::Result& result, const Other& other) {
  return result.bytes == other.bytes && result.block == other.block &&
         result.pitch == other.pitch && result.count == other.count && result.name == other.name;
}

ProfileDocument blank(const std::string& key) {
  ProfileDocument document;
  document.json = {{"version", kProfileVersion},
                   {"key", key},
                   {"host", ""},
                   {"date", ""},
                   {"strake", ""},
                   {"machine", Json::object()},
                   {"gpu_aware", Json::array()},
                   {"results", Json::array()}};
  document.profile.key = key;
  return document;
}

/// Reads a file. \throws std::exception  the file is no profile as this command writes it
ProfileDocument read(const std::string& path) {
  ProfileDocument found = read_profile_document(path);
  static_cast<void>(found.json.at("gpu_aware"));  // this command always writes it
  Json& machine = found.json["machine"];
  if (machine.is_null()) machine = Json::object();
  if (!machine.is_object()) throw Error("its machine is no object");
  return found;
}

Error another_machine(const std::string& path, const std::string& found, const std::string& key) {
  return Error(
      fmt::format("{} is the profile of another machine ({}); this is {}", path, found, key));
}

bool put(ProfileDocument& document, const machine::Result& result, Json json) {
  auto& all = document.profile.results;
  const auto found = std::find_if(all.begin(), all.end(), [&](const machine::Result& known) {
    return same_case(known, result) && known.mpi == result.mpi;
  });
  if (found != all.end()) {
    if (found->doubtful.empty() && !result.doubtful.empty()) return false;
    document.json["results"][static_cast<std::size_t>(found - all.begin())] = std::move(json);
    *found = result;
    return true;
  }
  document.json["results"].push_back(std::move(json));
  all.push_back(result);
  return true;
}

void put_aware(ProfileDocument& document, const std::string& mpi, bool aware) {
  auto& list = document.profile.aware;
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const auto& entry) { return entry.mpi == mpi; });
  if (found == list.end()) {
    list.push_back({mpi, aware});
    document.json["gpu_aware"].push_back({{"mpi", mpi}, {"aware", aware}});
    return;
  }
  found->aware = aware;
  document.json["gpu_aware"][static_cast<std::size_t>(found - list.begin())]["aware"] = aware;
}

void put_facts(ProfileDocument& document, const std::string& host, const std::string& date,
               const std::string& strake, const Json& facts) {
  document.json["host"] = document.profile.host = host;
  document.json["date"] = document.profile.date = date;
  document.json["strake"] = strake;
  document.json["machine"].update(facts);
}

void put_all(ProfileDocument& document, const ProfileDocument& ours) {
  for (std::size_t i = 0; i < ours.profile.results.size(); ++i)
    put(document, ours.profile.results[i], ours.json["results"][i]);
  for (const auto& entry : ours.profile.aware) put_aware(document, entry.mpi, entry.aware);
  if (!ours.profile.date.empty())
    put_facts(document, ours.profile.host, ours.profile.date, ours.json["strake"],
              ours.json["machine"]);
}

/// One result a line: readable, and small differences stay small.
std::string text_of(const Json& json) {
  Json head;
  for (const auto& [name, value] : json.items())
    if (name != "results") head[name] = value;
  std::string text = head.dump(1);
  text.resize(text.rfind('\n'));
  text += ",\n \"results\": [";
  const char* separator = "\n  ";
  for (const Json& result : json["results"]) {
    text += separator + result.dump();
    separator = ",\n  ";
  }
  return text + "\n ]\n}\n";
}

/// Keeps other runs from the profile while it lives. The lock is on a file beside it, which stays:
/// whoever removed it could leave two runs with locks on two files. Without locks (some file
/// systems, a folder that can't be written) nobody waits.
class Lock {
 public:
  explicit Lock(const std::string& path)
      : file_(open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    while (file_ >= 0 && flock(file_, LOCK_EX) != 0 && errno == EINTR) continue;
  }
  ~Lock() {
    if (file_ >= 0) close(file_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int file_;
};

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
  if (!result.doubtful.empty()) json["doubtful"] = result.doubtful;
  if (result.limit > 0) json["limit"] = result.limit;
  json["mode"] = mode.quick ? "quick" : "full";
  json["strake"] = mode.strake;
  json["date"] = mode.date;
  return json;
}

ProfileFile::ProfileFile(std::string path, const std::string& key)
    : path_(std::move(path)), ours_(blank(key)), all_(blank(key)) {
  if (!fs::exists(path_)) return;
  if (!fs::is_regular_file(path_)) throw Error(fmt::format("{} is no regular file", path_));
  const Lock lock(path_);
  ProfileDocument found;
  try {
    found = read(path_);
  } catch (const std::exception& error) {
    std::error_code failed;
    fs::rename(path_, path_ + ".old", failed);
    complaint_ = fmt::format("{} can't be used ({}); {}", path_, error.what(),
                             failed ? failed.message() : "it is kept as " + path_ + ".old");
    return;
  }
  if (found.profile.key != key) throw another_machine(path_, found.profile.key, key);
  all_ = std::move(found);
}

std::string ProfileFile::compact_path() const {
  return fs::path(path_).replace_extension(".profile").string();
}

bool ProfileFile::has(const Case& what, const std::string& mpi, const RunMode& mode) const {
  const auto& all = all_.profile.results;
  const auto found = std::find_if(all.begin(), all.end(), [&](const machine::Result& result) {
    return same_case(result, what) && result.mpi == mpi;
  });
  if (found == all.end()) return false;
  if (!found->doubtful.empty()) return false;
  const Json& result = all_.json["results"][static_cast<std::size_t>(found - all.begin())];
  return result.value("mode", "") == (mode.quick ? "quick" : "full") &&
         result.value("strake", "") == mode.strake;
}

bool ProfileFile::merge(const machine::Result& result, const RunMode& mode) {
  put(ours_, result, to_json(result, mode));
  return put(all_, result, to_json(result, mode));
}

void ProfileFile::set_aware(const std::string& mpi, bool aware) {
  for (ProfileDocument* document : {&ours_, &all_}) put_aware(*document, mpi, aware);
}

void ProfileFile::describe(const std::string& host, const RunMode& mode, const Json& facts) {
  for (ProfileDocument* document : {&ours_, &all_})
    put_facts(*document, host, mode.date, mode.strake, facts);
}

void ProfileFile::save() {
  std::error_code ignored;  // write_whole says what is wrong with the folder
  fs::create_directories(fs::path(path_).parent_path(), ignored);
  const Lock lock(path_);
  if (fs::exists(path_, ignored)) {
    try {
      ProfileDocument found = read(path_);
      if (found.profile.key != all_.profile.key)
        throw another_machine(path_, found.profile.key, all_.profile.key);
      put_all(found, ours_);
      all_ = std::move(found);
    } catch (const std::exception& error) {
      machine::write_whole(path_ + ".new", text_of(all_.json));
      throw Error(
          fmt::format("{} has changed and can't be used ({}); what was measured here is in {}.new",
                      path_, error.what(), path_));
    }
  }
  machine::write_whole(path_, text_of(all_.json));
  machine::write_compact(all_.profile, compact_path());
}

}  // namespace strake::measure
