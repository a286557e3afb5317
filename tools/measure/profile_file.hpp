/// \file  The profile as people and tools read it: JSON (docs/profile.md), merged with what was
/// there before, and its compact form beside it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "case.hpp"
#include "machine/profile.hpp"

namespace strake::measure {

/// How a run measures, which says whether its results serve another run: STRAKE's version and mode.
struct RunMode {
  bool quick = false;
  std::string strake;  ///< version
  std::string date;    ///< ISO 8601, UTC
};

[[nodiscard]] nlohmann::ordered_json to_json(const machine::Result& result, const RunMode& mode);
[[nodiscard]] std::string now_utc();

class ProfileFile {
 public:
  /// Reads what is there. A file that can't be read (damaged, or of another version) is kept beside
  /// it with the ending ".old", and `complaint()` says so. \throws Error  it holds another
  /// machine's profile
  ProfileFile(std::string path, std::string key);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// <hash>.profile for <hash>.json.
  [[nodiscard]] std::string compact_path() const;
  [[nodiscard]] const std::string& complaint() const noexcept { return complaint_; }

  /// Whether it holds this case, measured in the same mode by the same version.
  [[nodiscard]] bool has(const Case& what, const std::string& mpi, const RunMode& mode) const;
  [[nodiscard]] bool has_aware(const std::string& mpi) const;
  /// In place of the result of the same (name, mpi, bytes, block, pitch, count).
  void merge(const machine::Result& result, const RunMode& mode);
  void set_aware(const std::string& mpi, bool aware);
  /// Members of `facts` replace those of the same name in "machine".
  void describe(const std::string& host, const RunMode& mode, const nlohmann::ordered_json& facts);

  /// Writes both files, each as a whole. \throws Error  the system's reason
  void save() const;
  [[nodiscard]] const machine::Profile& profile() const noexcept { return profile_; }

 private:
  std::string path_;
  std::string complaint_;
  nlohmann::ordered_json document_;
  machine::Profile profile_;  // the same, its lists in the same order
};

}  // namespace strake::measure
