/// \file  A benchmark as the driver of `strake measure` runs it, and the interface of a plug-in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "timing.hpp"

namespace strake::measure {

inline constexpr std::int64_t kKiB = std::int64_t{1} << 10;
inline constexpr std::int64_t kMiB = std::int64_t{1} << 20;
inline constexpr std::int64_t kGiB = std::int64_t{1} << 30;

/// The received bytes are not those that were sent.
class WrongData : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Buffers, streams and whatever else one case needs, for as long as it is measured.
class Instance {
 public:
  virtual ~Instance() = default;
  /// Does the operation `iterations` times; the seconds that all of them took, whatever clock is
  /// right for it (events for asynchronous work, wall time for synchronous). Cases of Scope::Job:
  /// called by all ranks with the same number; the longest of the ranks' times counts.
  virtual double run(std::int64_t iterations) = 0;
  /// Checks the data that the last run moved. \throws WrongData
  virtual void verify() = 0;
};

/// Which ranks take part.
enum class Scope : std::uint8_t {
  Process,  ///< rank 0 alone, the others asleep
  Job,      ///< all ranks; only cases of the plug-in that brings the team
};

struct Case {
  std::string name;        ///< "pack/device/box"
  std::int64_t bytes = 0;  ///< as in machine::Result
  std::int64_t block = 0;
  std::int64_t pitch = 0;
  std::int64_t count = 0;
  bool quick = false;  ///< part of --quick
  /// For times that depend on where memory happens to lie, and on other load that lasts minutes:
  /// measured several times, with all other such cases in between.
  bool in_passes = false;
  Scope scope = Scope::Process;
  double limit = 0;  ///< bytes per second that the link allows; 0: not known
  /// Makes the instance. \throws std::exception  it can't be measured here, and why
  std::function<std::unique_ptr<Instance>()> make;
};

using Cases = std::vector<Case>;
using MakeInstance = std::function<std::unique_ptr<Instance>()>;

/// A case of a name, a size and what makes it; the rest is set on it.
inline Case& add(Cases& cases, std::string name, std::int64_t bytes, MakeInstance make) {
  Case& added = cases.emplace_back();
  added.name = std::move(name);
  added.bytes = bytes;
  added.make = std::move(make);
  return added;
}

[[nodiscard]] inline bool among(std::initializer_list<std::int64_t> values, std::int64_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

/// The ranks of this job; one process is a team of one.
class Team {
 public:
  virtual ~Team() = default;
  [[nodiscard]] virtual int rank() const { return 0; }
  [[nodiscard]] virtual int size() const { return 1; }
  /// "Open MPI 4.1.4"; empty without MPI.
  [[nodiscard]] virtual std::string library() const { return {}; }
  /// Rank 0's bytes to all.
  virtual void broadcast(void* /*data*/, std::size_t /*bytes*/) {}
  /// Waits for all ranks. Sleeps rather than spins, since other ranks may be measured meanwhile.
  virtual void barrier() {}
  /// The largest value, on all ranks.
  virtual double maximum(double value) { return value; }
};

/// A shared object of benchmarks that the command itself can't link (CUDA, MPI libraries).
class Plugin {
 public:
  virtual ~Plugin() = default;
  /// The ranks, from the MPI plug-ins; null from others.
  virtual Team* team() { return nullptr; }
  /// In the order in which they are to be measured. The same on all ranks.
  virtual std::vector<Case> cases() = 0;
  /// MPI plug-ins: whether a trial job of two ranks could send a device buffer: 1 yes, 0 no, -1
  /// not tried (no device, or no launcher).
  virtual int gpu_aware() { return -1; }
  /// Why there is a device but -1 was the answer: the rest of the sentence "... could not be
  /// tried:". Empty otherwise.
  virtual std::string gpu_aware_problem() { return {}; }
  /// The plug-in's facts about the machine, as the text of a JSON object, whose members go into the
  /// profile's "machine" ({"driver": "580.95", "gpus": [{"name": ..., "uuid": ...}]}). Called on
  /// rank 0.
  virtual std::string machine() { return "{}"; }
};

inline constexpr int kPluginVersion = 3;
/// `strake_make_measure_plugin`: made by `new`, deleted by the command, after its cases. Null if it
/// can't work here (no device; not under mpirun).
using MakePlugin = Plugin* (*)(int version);

}  // namespace strake::measure
