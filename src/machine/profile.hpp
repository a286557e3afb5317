/// \file  Measurements of a class of machines: a list of results, and the curves through them.
/// Sources: dissertation ch. 3 (what is measured), 5.8.3 (how it is interpolated).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace strake::machine {

/// One measured case. Times are seconds of one operation, always; a bandwidth is bytes / median.
struct Result {
  std::string name;        ///< "pack/device/box": docs/reference/profile.md lists them
  std::string mpi;         ///< MPI library and version, "Open MPI 4.1.4"; empty: measured without
  std::int64_t bytes = 0;  ///< payload of one operation; 0: it moves none
  std::int64_t block = 0;  ///< bytes of one contiguous block; 0: contiguous
  std::int64_t pitch = 0;  ///< bytes from block to block; 0: contiguous
  std::int64_t count = 0;  ///< threads, nodes of a graph, pairs of ranks, ...; 0: does not apply
  double median = 0;       ///< [s]
  double p10 = 0;          ///< [s]
  double p90 = 0;          ///< [s]
  int samples = 0;
  bool iid = false;  ///< the samples passed the tests of SP 800-90B
  int tries = 1;     ///< sample sets taken until one passed, or until the measurement gave up
  double limit = 0;  ///< bytes per second that the link allows; 0: not known
  /// Why the time may be wrong, "other processes used 1.3 of 2 CPUs"; empty: nothing disturbed it.
  /// Models take a doubtful result as not measured.
  std::string doubtful;
};

/// Whether the operation moves bytes. Allocating, freeing or opening memory takes a size, but moves
/// nothing.
[[nodiscard]] inline bool moves_bytes(const Result& result) noexcept {
  if (result.bytes <= 0) return false;
  for (const char* call : {"gpu/call/malloc/", "gpu/call/free/", "gpu/call/ipc-"}) {
    if (result.name.starts_with(call)) return false;
  }
  return true;
}

/// Times over one size (bytes) or two (bytes, block): log-log interpolation between the measured
/// points. Below the first size the time is the first one's; past the last it grows with the bytes.
class Curve {
 public:
  Curve() = default;
  /// Points of a full grid, xs and ys ascending, times in row-major order (y fastest). `ys` may be
  /// empty: then one dimension. A time that is NaN is not known, and neither is what lies between
  /// it and the next points, or past it at an end.
  /// \throws InvalidArgument  any of this is violated, or a time is not positive
  Curve(const std::vector<double>& xs, const std::vector<double>& ys,
        const std::vector<double>& times);

  [[nodiscard]] bool empty() const noexcept { return times_.empty(); }
  /// Seconds for `bytes` in blocks of `block`; infinity where the curve is empty, NaN where the
  /// time is not known. Cost: ~20 ns.
  [[nodiscard]] double time(double bytes, double block = 0) const noexcept;
  /// time() in base-2 logarithms, for callers that ask several curves: log2 of the seconds.
  [[nodiscard]] double log_time(double log_bytes, double log_block) const noexcept;

 private:
  struct Axis {
    Axis() = default;
    explicit Axis(std::vector<double> logs);
    std::vector<double> points;      // base-2 logarithms
    std::vector<double> scales;      // one over the distance to the next
    std::vector<std::size_t> below;  // at i: the last point up to the first point + i
  };
  struct Position;
  static Position position_on(const Axis& axis, double value) noexcept;

  Axis xs_;
  Axis ys_;
  std::vector<double> times_;  // log2
};

/// A whole profile. Plain value.
struct Profile {
  std::string key;   ///< machine_key() of the machine that was measured
  std::string host;  ///< where
  std::string date;  ///< when, ISO 8601
  std::vector<Result> results;
  /// Whether each MPI library that was tried takes device pointers: "Open MPI 4.1.4" -> true.
  struct Aware {
    std::string mpi;
    bool aware = false;
  };
  std::vector<Aware> aware;

  /// The results called `name` with library `mpi` that `takes` accepts (without one, all), as a
  /// curve over bytes, or over bytes and block where any has one. Empty: none. In place of a
  /// doubtful result the curve goes from the size before to the size after; if one of these is
  /// doubtful too, or there is none, the time is not known there.
  [[nodiscard]] Curve curve(std::string_view name, std::string_view mpi = {},
                            const std::function<bool(const Result&)>& takes = {}) const;
};

/// CPU and GPU models and counts, NUMA nodes and PCIe links of the GPUs, NVSwitches, driver: what
/// two machines must share to share a profile. From CPUID, /proc and /sys only: no library, < 1 ms.
[[nodiscard]] std::string machine_key();
/// 16 hexadecimal digits that stand for a key in file names.
[[nodiscard]] std::string hash_of_key(std::string_view key);

/// $XDG_CACHE_HOME/strake (or ~/.cache/strake): where profiles lie, as <hash>.json and, for ranks
/// to load, <hash>.profile.
[[nodiscard]] std::string profile_folder();

/// \{ The compact form: one file, with a checksum. read: < 2 ms.
/// \throws Error  what is wrong with the file. write: into a file beside it that then takes its
/// name, so that no reader ever sees a part; makes the folder
void write_compact(const Profile& profile, const std::string& path);
[[nodiscard]] Profile read_compact(const std::string& path);
/// \}

/// The profile of this machine. The first call in a process searches for it. Null if there is none
/// (logged once, with how to measure), or if it is damaged or another machine's (logged as a
/// warning). STRAKE_PROFILE names another file, or "none".
[[nodiscard]] const Profile* this_machine() noexcept;

}  // namespace strake::machine
