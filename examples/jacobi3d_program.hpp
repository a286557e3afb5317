/// \file  The common part of the programs jacobi3d (on the CPU) and jacobi3d_cuda: options, output
/// and errors.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "strake/view.hpp"

struct Options {
  strake::Index3 extent{64, 64, 64};
  std::array<int, 3> counts{};  ///< of subgrids along each axis; zeroes: by recursive bisection
  std::int64_t steps = 200;
  std::string vtk;
  std::string png;
  bool plan = false;
  bool baseline = false;
  bool csv = false;
  int gpus_a_rank = 1;        ///< a rank has as many subgrids
  std::optional<bool> graph;  ///< steps in CUDA graphs; nothing: where that works well
};

/// Which program this is, and what it has.
struct Program {
  const char* name = "";
  bool baseline = false;   ///< the option --baseline
  bool devices = false;    ///< the options --gpus-a-rank, --graph and --no-graph
  const char* notes = "";  ///< the end of --help
};

/// The result of all ranks.
struct Result {
  const char* way = "grid";
  double residual = 0;       ///< the largest change of a cell in the last step
  double seconds = 0;        ///< of a step, on the slowest rank
  double communication = 0;  ///< its share of a step, the mean of the ranks
  std::uint64_t checksum = 0;
};

/// Steps between two lines that report progress.
inline constexpr std::int64_t kStepsPerLine = 50;

/// Prints such a line on rank 0. Collective: the values are this rank's, `result` is then that of
/// all ranks.
void report(Result& result, std::int64_t steps_done, double residual, double seconds_a_step,
            double communication);

/// The sum over all ranks. Collective.
std::uint64_t sum_of_ranks(std::uint64_t checksum);

/// The middle slice, gathered on rank 0. Collective. `parts` are in host memory, and have this
/// rank's part of that slice at least.
/// \throws std::runtime_error  it can't be written
void write_png(const std::string& path, const std::vector<strake::View<double>>& parts,
               const strake::Index3& extent);

/// The cells of `owned` in that slice.
strake::Box middle_slice(const strake::Box& owned, const strake::Index3& extent);

/// All of main(): MPI, options, `run`, and a last line with the result. \returns its status
int run_program(const Program& program, int argc, char** argv,
                const std::function<Result(const Options&)>& run);
