/// \file  Results as JSON lines on standard output: one object a line, one line a measurement.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "support/statistics.hpp"

namespace bench {

/// A field of a line, beside those that every line has.
using Field = std::pair<std::string, std::variant<std::int64_t, double, std::string>>;

/// Prints the lines of one benchmark. Every line says on what it was measured: host CPU, ranks,
/// library, revision (environment variable BENCH_GIT), and which interposer is in the
/// process, if any.
class Report {
 public:
  Report(std::string benchmark, int ranks, std::string mpi_version);

  /// `unit` says which way is better: "-us", "+GB/s".
  void line(const std::string& name, const Summary& summary, const std::string& unit,
            const std::vector<Field>& fields = {}) const;

 private:
  std::string benchmark_;
  int ranks_;
  std::string mpi_version_;
  std::string host_cpu_;
  std::string git_;
  std::string interposer_;
};

}  // namespace bench
