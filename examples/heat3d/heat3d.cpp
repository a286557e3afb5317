// Heat in a periodic grid, as a benchmark: bricks against arrays, with ghost cells that are enough
// for several steps. Time is split into computation, packing and waiting, and all forms must come
// to the same end. Source: Zhao et al. (2021), "Improving communication by optimizing on-node data
// movement with data layout", PPoPP, section 7.
#include <mpi.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <span>
#include <stdexcept>

#include "heat3d/measure.hpp"
#include "heat3d/options.hpp"
#include "heat3d/plot.hpp"
#include "heat3d/problem.hpp"
#include "heat3d/report.hpp"
#include "heat3d/solver.hpp"
#include "heat3d/world.hpp"
#include "strake/error.hpp"

namespace {

std::unique_ptr<Solver> solver_of(const Problem& problem, Form form) {
  if (form == Form::Buffers) return solver_of_buffers(problem);
  return is_of_bricks(form) ? solver_of_bricks(problem, form) : solver_of_arrays(problem, form);
}

/// Whether two forms came to the same end; says on rank 0 if they did not.
bool agree(const Result& first, const Result& other) {
  if (!first.checksum || !other.checksum) return true;
  // Sums of up to 10^12 cells, in different orders. An exchange changes no value.
  const double tolerance = first.exchange_only ? 0 : 1e-9;
  const double difference = std::abs(*first.checksum - *other.checksum);
  if (difference <= tolerance * std::abs(*first.checksum)) return true;
  if (rank_of_world() == 0)
    std::fprintf(stderr,
                 "heat3d: size %" PRId64
                 ": the forms %s and %s differ: their checksums are %.15e "
                 "and %.15e\n",
                 first.size, name_of(first.form), name_of(other.form), *first.checksum,
                 *other.checksum);
  return false;
}

/// Whether all forms of a size agree with the first one that has values.
bool all_agree(std::span<const Result> results) {
  bool right = true;
  const auto first = std::ranges::find_if(
      results, [](const Result& result) { return result.checksum.has_value(); });
  for (const Result& result : results)
    if (first != results.end()) right = agree(*first, result) && right;
  return right;
}

void show_picture(const Options& options, const Problem& problem, Solver& solver) {
  const Slice slice = slice_of(MPI_COMM_WORLD, problem.extent, solver);
  if (rank_of_world() == 0 && !write_picture(options.picture, slice))
    throw std::runtime_error("can't write '" + options.picture + "'");
}

/// All forms of one size, by turns.
std::vector<Result> run_size(const Options& options, std::int64_t size) {
  const std::unique_ptr<HeatStencil> stencil = stencil_of(options.points);
  Problem problem = problem_of(MPI_COMM_WORLD, size);
  problem.ghost = options.ghost;
  problem.every_step = options.every_step;
  problem.exchange_only = options.exchange_only;
  problem.stencil = stencil.get();
  std::int64_t steps = options.steps;
  std::vector<Result> results;
  for (const Form form : options.forms) {
    const std::unique_ptr<Solver> solver = solver_of(problem, form);
    if (options.exchange_only) {
      results.push_back(measure_exchanges(problem, *solver, options, form));
      continue;
    }
    results.push_back(measure_steps(problem, *solver, options, form, steps));
    if (rank_of_world() == 0) {
      if (results.size() == 1) print_heading(options, results.back());
      print_row(results.back());
    }
    if (!options.picture.empty() && size == options.sizes.back() && form == options.forms.back())
      show_picture(options, problem, *solver);
  }
  if (rank_of_world() == 0 && options.exchange_only) print_exchanges(options, results);
  return results;
}

std::string title_of(const Options& options) {
  return "heat3d: " + std::to_string(ranks_of_world()) + " ranks, " +
         (options.exchange_only
              ? "exchanges of ghosts of " + std::to_string(options.ghost) + " cells"
              : std::to_string(options.points) + "-point stencil");
}

/// \returns  the status of the program
int run_all(const Options& options) {
  std::vector<Result> results;
  bool right = true;
  for (const std::int64_t size : options.sizes) {
    const std::vector<Result> rows = run_size(options, size);
    const bool agreed = all_agree(rows);
    right = agreed && right;
    if (agreed && rank_of_world() == 0 && !options.json.empty() &&
        !append_json(options.json, options, rows))
      throw std::runtime_error("can't write '" + options.json + "'");
    results.insert(results.end(), rows.begin(), rows.end());
  }
  if (rank_of_world() == 0 && !options.svg.empty() &&
      !write_bars(options.svg, results, title_of(options)))
    throw std::runtime_error("can't write '" + options.svg + "'");
  return right ? 0 : 1;
}

/// Finds files that can't be written before the work is done. Collective.
/// \throws std::invalid_argument  on all ranks
void check_files(const Options& options) {
  for (const auto& [name, path] : {std::pair("--json", options.json),
                                   {"--svg", options.svg},
                                   {"--picture", options.picture}}) {
    int fits = 1;
    if (rank_of_world() == 0 && !path.empty()) fits = std::ofstream(path, std::ios::app) ? 1 : 0;
    MPI_Bcast(&fits, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (fits == 0) throw std::invalid_argument(std::string(name) + ": can't write '" + path + "'");
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = rank_of_world();
  int status = 0;
  // Arguments are wrong on all ranks alike. Other faults may be one rank's: the job ends.
  const auto refuse = [&](const std::exception& error) {
    if (rank == 0) std::fprintf(stderr, "heat3d: %s\n%s", error.what(), usage().c_str());
    status = 2;
  };
  try {
    if (const std::optional<Options> options = parse(argc, argv)) {
      check_files(*options);
      status = run_all(*options);
    } else if (rank == 0) {
      std::fputs(help().c_str(), stdout);
    }
  } catch (const std::invalid_argument& error) {
    refuse(error);
  } catch (const strake::InvalidArgument& error) {
    refuse(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "heat3d: rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}
