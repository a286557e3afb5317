/// \file  Measures a list of cases one after the other within a budget of time.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "case.hpp"
#include "crew.hpp"
#include "machine/profile.hpp"

namespace strake::measure {

/// A case, and where it comes from.
struct Entry {
  Case what;
  std::string mpi;         ///< library that takes part; empty: none
  std::int64_t index = 0;  ///< in the list of its plug-in
};

/// Callbacks of a measurement.
struct Listener {
  /// `done` measurements of `all` are over, and one of this case begins. All are those known so
  /// far.
  std::function<void(std::size_t done, std::size_t all, const Case& next)> begins =
      [](std::size_t, std::size_t, const Case&) {};
  /// `last`: no pass of this case follows that will tell it better.
  std::function<void(const machine::Result&, bool last)> measured = [](const machine::Result&,
                                                                       bool /*last*/) {};
  /// Why the time of the case that began last is doubtful, asked as soon as it is known; empty: it
  /// is not.
  std::function<std::string()> doubt = [] { return std::string(); };
  /// The case can't be measured, or its data was wrong.
  std::function<void(const Case&, const std::string& why)> failed = [](const Case&,
                                                                       const std::string&) {};
};

struct Outcome {
  std::size_t measured = 0;
  std::size_t failed = 0;              ///< could not be measured
  std::size_t wrong_data = 0;          ///< were measured, but had moved wrong data: no results
  std::vector<const Entry*> left_out;  ///< the time was up
};

/// Cases in passes are measured this often, and those whose passes differ more often.
inline constexpr int kPasses = 3;
inline constexpr int kMostPasses = 9;
/// A case whose passes are doubtful is measured so often again, after the others.
inline constexpr int kRepeats = 1;

/// The quick cases, then the others, then again those in passes, whose result is the median of
/// their passes. Each measurement gets an equal share of what is left of the time; what one leaves
/// over, the next ones get. `seconds_left()` is asked before each; a case without time for all its
/// passes has the result of those that it had. Doubtful passes count only where there are no
/// others.
Outcome measure_all(Leader& leader, const std::vector<Entry>& entries,
                    const std::function<double()>& seconds_left, const Listener& listener);

}  // namespace strake::measure
