/// \file  The profile as people and tools read it: JSON, merged with what is
/// there, and its compact form beside it. Several runs may write one profile at once.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "case.hpp"
#include "machine/profile.hpp"
#include "measure/profile_reader.hpp"

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
  /// it with the ending ".old", and `complaint()` says so.
  /// \throws Error  it holds another machine's profile, or is a folder or a device
  ProfileFile(std::string path, const std::string& key);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// <hash>.profile for <hash>.json.
  [[nodiscard]] std::string compact_path() const;
  [[nodiscard]] const std::string& complaint() const noexcept { return complaint_; }

  /// Whether the file has a result of this case, mode and version that is not doubtful.
  [[nodiscard]] bool has(const Case& what, const std::string& mpi, const RunMode& mode) const;
  /// In place of the result of the same (name, mpi, bytes, block, pitch, count), unless that alone
  /// is not doubtful. False: the earlier result stays.
  bool merge(const machine::Result& result, const RunMode& mode);
  void set_aware(const std::string& mpi, bool aware);
  /// Members of `facts` replace those of the same name in "machine".
  void describe(const std::string& host, const RunMode& mode, const nlohmann::ordered_json& facts);

  /// Reads the file again, merges what was set here into it, and writes both forms, each as a
  /// whole; others that save there wait meanwhile. Cost: ~20 ms with 2000 results, and the disk's.
  /// \throws Error  it can't be written (errno); or the file has been damaged or has become another
  /// machine's: it stays as it is, and what is known here goes beside it, with the ending ".new"
  void save();
  [[nodiscard]] const machine::Profile& profile() const noexcept { return all_.profile; }

 private:
  std::string path_;
  std::string complaint_;
  ProfileDocument ours_;  // what was set here
  ProfileDocument all_;   // that, and what the file held when it was read last
};

}  // namespace strake::measure
