/// \file  Redistributions of an array of doubles over all ranks, as parallel FFTs make them, and
/// the same bytes without gaps.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mpi/environment.hpp"
#include "support/options.hpp"
#include "support/report.hpp"

namespace bench {

/// A rank has `edge` * `edge` doubles (those that the ranks share evenly), of each of `fields`.
struct RedistributionShape {
  /// transpose2, transpose3 (MPI_Alltoallw of subarrays), alltoallv or alltoall (contiguous).
  std::string form;
  int edge = 0;
  int fields = 1;
  [[nodiscard]] std::string name() const {
    return std::to_string(edge) + "^2_f" + std::to_string(fields) + "_" + form;
  }
};

/// The memory in which the arrays lie.
struct ArrayMemory {
  using Array = std::shared_ptr<double[]>;
  std::function<Array(std::size_t doubles)> allocate;
  /// Copies doubles between the host and an array, whichever is where.
  std::function<void(double* to, const double* from, std::size_t doubles)> copy;
};
ArrayMemory host_memory();

class Redistribution {
 public:
  Redistribution(const RedistributionShape& shape, const ArrayMemory& memory, int rank, int ranks);
  ~Redistribution();
  Redistribution(const Redistribution&) = delete;
  Redistribution& operator=(const Redistribution&) = delete;

  void run();
  /// Elements of this rank that are wrong after a run, compared with packed messages of host
  /// memory. Collective.
  [[nodiscard]] std::int64_t wrong(int epoch);
  [[nodiscard]] std::int64_t bytes_sent() const;

 private:
  using Doubles = std::vector<double>;
  [[nodiscard]] std::size_t count() const;
  [[nodiscard]] int per_pair() const;
  [[nodiscard]] bool typed() const { return before_ != after_; }
  [[nodiscard]] std::vector<MPI_Datatype> blocks(int split, int cut) const;
  void make_types();
  void pack(const Doubles& from, int other, Doubles& to, int at) const;
  void unpack(const Doubles& from, int other, Doubles& to, int at) const;

  RedistributionShape shape_;
  ArrayMemory memory_;
  int rank_;
  int ranks_;
  std::vector<int> whole_;  // extents of the array, without those that are split among ranks
  int before_ = 0;          // the dimension that the ranks divide before, and after
  int after_ = 0;
  ArrayMemory::Array from_;
  ArrayMemory::Array to_;
  std::vector<int> counts_, places_, ones_, zeroes_;
  std::vector<MPI_Datatype> send_types_, receive_types_;
};

/// The command line of a program that measures redistributions.
struct RedistributionOptions {
  Options options;
  std::vector<RedistributionShape> cases;
  double settles_in = 0;
};
/// Words of --case that are measured where the command line names none.
struct UsualRedistributions {
  std::vector<std::string> all;
  std::vector<std::string> quick;
};
/// Ends the process with status 2 and a message if an option is wrong.
RedistributionOptions parse_redistributions(int argc, char** argv, const std::string& about,
                                            const UsualRedistributions& usual);
/// Prints the names of the cases that were asked for.
void list_redistributions(const RedistributionOptions& options);
/// Checks and times each case, and reports on rank 0, with `more` fields. Returns whether all
/// elements were right, and no case had fewer rows than there are ranks: it is named, not run.
bool measure_redistributions(const RedistributionOptions& options, const ArrayMemory& memory,
                             const Environment& mpi, const Report& report,
                             const std::vector<Field>& more = {});

}  // namespace bench
