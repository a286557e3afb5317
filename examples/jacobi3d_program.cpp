#include "jacobi3d_program.hpp"

#include <mpi.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "png.hpp"
#include "strake/error.hpp"

namespace {

int rank_of_world() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int ranks_of_world() {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks;
}

std::string usage(const Program& program) {
  const std::string name = program.name;
  return "usage: " + name +
         " [--n CELLS | --nx CELLS --ny CELLS --nz CELLS | --cells-a-rank CELLS]\n"
         "       [--steps COUNT] [--png PATH] [--vtk PATH] [--plan] [--csv]" +
         (program.baseline ? " [--baseline]" : "") +
         (program.devices ? "\n       [--gpus-a-rank COUNT] [--graph | --no-graph]" : "") +
         " [--help]\n";
}

std::string help(const Program& program) {
  return usage(program) +
         "  --n CELLS             the box has so many cells along each axis (64)\n"
         "  --cells-a-rank CELLS  each rank's part of it has: the box grows with the ranks\n"
         "  --steps COUNT         (200)\n"
         "  --png PATH            writes the middle slice\n"
         "  --vtk PATH            writes files for ParaView\n"
         "  --plan                shows what goes where, and how\n"
         "  --csv                 the last lines are CSV, not JSON\n" +
         program.notes;
}

std::int64_t parse_number(const std::string& name, const std::string& text, std::int64_t most) {
  char* end = nullptr;
  const std::int64_t number = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || number < 1 || number > most)
    throw std::invalid_argument(name + " takes a number from 1 to " + std::to_string(most) +
                                ", not '" + text + "'");
  return number;
}

constexpr std::int64_t kMostCells = 1 << 14, kMostSteps = 1000000000, kMostGpus = 64;

int subgrids_of_world(const Options& options) { return ranks_of_world() * options.gpus_a_rank; }

/// Gives each subgrid `cells` cells along each axis, with equal cuts for the Grid and plain MPI.
void give_each_subgrid(Options& options, std::int64_t cells) {
  std::array<int, 3> counts{};  // MPI_Dims_create puts the most first: cuts across z are the best
  MPI_Dims_create(subgrids_of_world(options), 3, counts.data());
  for (std::size_t axis = 0; axis < 3; ++axis) {
    options.counts[axis] = counts[2 - axis];
    options.extent[axis] = cells * options.counts[axis];
    if (options.extent[axis] > kMostCells)
      throw std::invalid_argument("--cells-a-rank: " + std::to_string(options.extent[axis]) +
                                  " cells along " + "xyz"[axis] + " are more than " +
                                  std::to_string(kMostCells));
  }
}

/// Nothing: help is wanted. \throws std::invalid_argument
std::optional<Options> parse(const Program& program, int argc, char** argv) {
  Options options;
  std::int64_t cells_a_rank = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 == argc) throw std::invalid_argument(name + " takes a value");
      return argv[++i];
    };
    if (name == "--n") {
      options.extent.fill(parse_number(name, value(), kMostCells));
    } else if (name == "--nx" || name == "--ny" || name == "--nz") {
      options.extent[static_cast<std::size_t>(name[3] - 'x')] =
          parse_number(name, value(), kMostCells);
    } else if (name == "--cells-a-rank") {
      cells_a_rank = parse_number(name, value(), kMostCells);
    } else if (name == "--steps") {
      options.steps = parse_number(name, value(), kMostSteps);
    } else if (name == "--vtk") {
      options.vtk = value();
    } else if (name == "--png") {
      options.png = value();
    } else if (name == "--plan") {
      options.plan = true;
    } else if (name == "--baseline" && program.baseline) {
      options.baseline = true;
    } else if (name == "--gpus-a-rank" && program.devices) {
      options.gpus_a_rank = static_cast<int>(parse_number(name, value(), kMostGpus));
    } else if ((name == "--graph" || name == "--no-graph") && program.devices) {
      options.graph = name == "--graph";
    } else if (name == "--csv") {
      options.csv = true;
    } else if (name == "--help") {
      return std::nullopt;
    } else {
      throw std::invalid_argument("unknown option '" + name + "'");
    }
  }
  if (cells_a_rank > 0) give_each_subgrid(options, cells_a_rank);
  if (options.baseline && (options.plan || !options.vtk.empty() || options.graph))
    throw std::invalid_argument("--plan, --vtk and graphs are of the Grid: --baseline has none");
  if (options.baseline && options.gpus_a_rank > 1)
    throw std::invalid_argument("--gpus-a-rank is of the Grid: --baseline has one GPU a rank");
  return options;
}

void print(const Program& program, const Options& options, const Result& result) {
  const char* const form =
      options.csv ? "program,way,ranks,subgrids,nx,ny,nz,steps,residual,us_per_step,"
                    "communication,checksum\n"
                    "%s,%s,%d,%d,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64
                    ",%.6e,%.3f,%.4f,%016" PRIX64 "\n"
                  : "{\"program\": \"%s\", \"way\": \"%s\", \"ranks\": %d, \"subgrids\": %d, "
                    "\"extent\": [%" PRId64 ", %" PRId64 ", %" PRId64 "], \"steps\": %" PRId64
                    ", \"residual\": %.6e, \"us_per_step\": %.3f, \"communication\": %.4f, "
                    "\"checksum\": \"%016" PRIX64 "\"}\n";
  std::printf(form, program.name, result.way, ranks_of_world(), subgrids_of_world(options),
              options.extent[0], options.extent[1], options.extent[2], options.steps,
              result.residual, result.seconds * 1e6, result.communication, result.checksum);
}

}  // namespace

void report(Result& result, std::int64_t steps_done, double residual, double seconds_a_step,
            double communication) {
  std::array<double, 2> largest{residual, seconds_a_step};
  double share = communication / ranks_of_world();
  MPI_Allreduce(MPI_IN_PLACE, largest.data(), 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &share, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  result.residual = largest[0];
  result.seconds = largest[1];
  result.communication = share;
  if (rank_of_world() == 0)
    std::printf("step %6" PRId64 "  residual %.3e  %9.3f ms a step, %4.1f %% communication\n",
                steps_done, result.residual, result.seconds * 1e3, share * 100);
}

std::uint64_t sum_of_ranks(std::uint64_t checksum) {
  MPI_Allreduce(MPI_IN_PLACE, &checksum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return checksum;
}

strake::Box middle_slice(const strake::Box& owned, const strake::Index3& extent) {
  strake::Box slice = owned;
  slice.lower[2] = std::max(slice.lower[2], extent[2] / 2);
  slice.upper[2] = std::min(slice.upper[2], extent[2] / 2 + 1);
  return slice;
}

void write_png(const std::string& path, const std::vector<strake::View<double>>& parts,
               const strake::Index3& extent) {
  const auto width = static_cast<std::size_t>(extent[0]);
  std::vector<double> slice(width * static_cast<std::size_t>(extent[1]));
  for (const strake::View<double>& u : parts) {
    for_each_cell(middle_slice(u.owned(), extent), [&](auto i, auto j, auto k) {
      slice[static_cast<std::size_t>(j * extent[0] + i)] = u(i, j, k);
    });
  }
  // Each cell is zero on all ranks but one.
  std::vector<double> whole(slice.size());
  MPI_Reduce(slice.data(), whole.data(), static_cast<int>(slice.size()), MPI_DOUBLE, MPI_SUM, 0,
             MPI_COMM_WORLD);
  if (rank_of_world() != 0) return;
  std::vector<png::Colour> pixels;
  for (const double value : whole) pixels.push_back(png::blue_white_red(value));
  if (!png::write(path, pixels, width)) throw std::runtime_error("can't write '" + path + "'");
}

int run_program(const Program& program, int argc, char** argv,
                const std::function<Result(const Options&)>& run) {
  MPI_Init(&argc, &argv);
  const int rank = rank_of_world();
  int status = 0;
  // Arguments are wrong on all ranks alike. Other faults may be one rank's: the job ends.
  const auto refuse = [&](const std::exception& error) {
    if (rank == 0)
      std::fprintf(stderr, "%s: %s\n%s", program.name, error.what(), usage(program).c_str());
    status = 2;
  };
  try {
    if (const std::optional<Options> options = parse(program, argc, argv)) {
      const Result result = run(*options);
      if (rank == 0) print(program, *options, result);
    } else if (rank == 0) {
      std::fputs(help(program).c_str(), stdout);
    }
  } catch (const std::invalid_argument& error) {
    refuse(error);
  } catch (const strake::InvalidArgument& error) {
    refuse(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: rank %d: %s\n", program.name, rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}
