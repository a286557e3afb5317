/// \file  Variants of one work, measured in turns, and tables of what they took.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "device/harness.hpp"
#include "text_table.hpp"

namespace bench {

/// One of several implementations of some work, on a stream of its device.
struct Variant {
  std::string name;
  cudaStream_t stream = nullptr;
  int device = 0;
  int calls = 1;     ///< in a row, for one sample
  bool held = true;  ///< whether all these calls are queued before the first may start
  std::function<void(int)> enqueue;
  std::string plan;  ///< for people
};
/// A kernel that does nothing.
[[nodiscard]] Variant empty_variant(cudaStream_t stream, int calls);
/// A contiguous copy within one device.
[[nodiscard]] Variant copy_variant(cudaStream_t stream, const Memory& to, const Memory& from,
                                   int calls);

/// [seconds]
struct Times {
  std::vector<double> in_a_row;  ///< device time of one of many calls
  std::vector<double> alone;     ///< from a call until its stream is done, by the host's clock
};
/// Each round measures each variant once, so that clocks and other changes of the machine meet all
/// alike.
[[nodiscard]] std::vector<Times> measure_in_turns(const Harness& harness,
                                                  const std::vector<Variant>& variants, int rounds);

/// A table of numbers for people, and what it shows.
class TitledTable {
 public:
  TitledTable(std::string title, strake::TextTable::Row headings);
  void add(strake::TextTable::Row cells) { rows_.add(std::move(cells)); }
  /// Prints nothing if there are no rows but the headings.
  void print(std::FILE* file) const;

 private:
  std::string title_;
  strake::TextTable rows_;
};
[[nodiscard]] std::string number(double value, int digits);

}  // namespace bench
