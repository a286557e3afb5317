#include "heat3d/options.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "heat3d/stencils.hpp"

namespace {

constexpr std::int64_t kMostCells = 1024;
constexpr std::int64_t kMostSteps = 1000000000;

std::int64_t parse_number(const std::string& name, const std::string& text, std::int64_t least,
                          std::int64_t most) {
  char* end = nullptr;
  const std::int64_t number = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || number < least || number > most)
    throw std::invalid_argument(name + " takes a number from " + std::to_string(least) + " to " +
                                std::to_string(most) + ", not '" + text + "'");
  return number;
}

/// The parts of a text between commas: one at least.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

std::vector<std::int64_t> parse_sizes(const std::string& name, const std::string& text) {
  std::vector<std::int64_t> sizes;
  for (const std::string& part : split(text))
    sizes.push_back(parse_number(name, part, 1, kMostCells));
  return sizes;
}

/// \returns  no form if all are wanted: which forms these are, other options say
std::vector<Form> parse_forms(const std::string& text) {
  if (text == "all") return {};
  std::vector<Form> forms;
  for (const std::string& part : split(text)) {
    const auto* const found = std::ranges::find(kFormNames, std::string_view(part));
    if (found == kFormNames.end())
      throw std::invalid_argument(
          "--form takes layout, basic, memmap, shift, mapped, best, grid, types, pack, and buffers "
          "with --exchange-only (several with commas between), or all, not '" +
          part + "'");
    forms.push_back(static_cast<Form>(found - kFormNames.begin()));
  }
  return forms;
}

int parse_points(const std::string& text) {
  for (const int points : kStencilPoints)
    if (text == std::to_string(points)) return points;
  throw std::invalid_argument("--stencil takes 7, 13, 25, 27 or 125 points, not '" + text + "'");
}

std::string parse_picture(const std::string& path) {
  if (path.ends_with(".svg") || path.ends_with(".ppm")) return path;
  throw std::invalid_argument("--picture takes a file that ends with .svg or .ppm, not '" + path +
                              "'");
}

std::vector<Form> all_forms(bool exchange_only) {
  std::vector<Form> made;
  for (std::size_t i = 0; i < kFormNames.size(); ++i)
    if (exchange_only || has_values(static_cast<Form>(i))) made.push_back(static_cast<Form>(i));
  return made;
}

/// Options that are right by themselves may not go together.
/// \param of_steps  an option that was given and means nothing without steps, or empty
void check(const Options& options, const std::string& of_steps) {
  if (options.exchange_only && !of_steps.empty())
    throw std::invalid_argument(of_steps + ": --exchange-only computes no steps");
  if (!options.exchange_only && !std::ranges::all_of(options.forms, has_values))
    throw std::invalid_argument(
        "--form buffers: it has no cells to compute, and goes with --exchange-only alone");
  const int reach = reach_of(options.points);
  if (!options.exchange_only && options.ghost < reach)
    throw std::invalid_argument("--ghost " + std::to_string(options.ghost) + ": the stencil of " +
                                std::to_string(options.points) + " points reaches " +
                                std::to_string(reach) + " cells");
  const bool bricks = std::ranges::any_of(
      options.forms, [](Form form) { return is_of_bricks(form) || form == Form::Buffers; });
  for (const std::int64_t size : options.sizes) {
    if (options.ghost > size)
      throw std::invalid_argument("--ghost " + std::to_string(options.ghost) + ": a rank has " +
                                  std::to_string(size) + " cells along each axis, and no more");
    if (bricks && size % kBrickSide != 0)
      throw std::invalid_argument("--size " + std::to_string(size) +
                                  ": bricks are cubes of 8 cells a side, so all forms but grid, "
                                  "types and pack take multiples of 8");
  }
}

}  // namespace

std::optional<Options> parse(int argc, char** argv) {
  Options options;
  std::string of_steps;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 == argc) throw std::invalid_argument(name + " takes a value");
      return argv[++i];
    };
    if (name == "--stencil" || name == "--every-step" || name == "--picture") of_steps = name;
    if (name == "--size") {
      options.sizes = {parse_number(name, value(), 1, kMostCells)};
    } else if (name == "--sizes") {
      options.sizes = parse_sizes(name, value());
    } else if (name == "--ghost") {
      options.ghost = static_cast<int>(parse_number(name, value(), 1, kMostCells));
    } else if (name == "--steps") {
      options.steps = parse_number(name, value(), 1, kMostSteps);
    } else if (name == "--warm") {
      options.warm = parse_number(name, value(), 0, kMostSteps);
    } else if (name == "--stencil") {
      options.points = parse_points(value());
    } else if (name == "--form") {
      options.forms = parse_forms(value());
    } else if (name == "--every-step") {
      options.every_step = true;
    } else if (name == "--exchange-only") {
      options.exchange_only = true;
    } else if (name == "--json") {
      options.json = value();
    } else if (name == "--svg") {
      options.svg = value();
    } else if (name == "--picture") {
      options.picture = parse_picture(value());
    } else if (name == "--help") {
      return std::nullopt;
    } else {
      throw std::invalid_argument("unknown option '" + name + "'");
    }
  }
  if (options.forms.empty()) options.forms = all_forms(options.exchange_only);
  check(options, of_steps);
  return options;
}

std::string usage() {
  return "usage: heat3d [--size N | --sizes N,N,…] [--ghost G] [--steps S] [--warm W]\n"
         "       [--stencil 7|13|25|27|125] [--form FORM,…|all] [--every-step]\n"
         "       [--exchange-only] [--json FILE] [--svg FILE] [--picture FILE] [--help]\n";
}

std::string help() {
  return usage() +
         "  --size N        a rank has N cells along each axis (64); multiples of 8 for bricks\n"
         "  --sizes N,N,…   one size after the other\n"
         "  --ghost G       ghost cells are G deep (8), which is enough for several steps\n"
         "  --every-step    an exchange before each step, all the same\n"
         "  --exchange-only exchanges without steps: ghosts are G deep in all forms; bricks store\n"
         "                  and send whole bricks of 8 cells\n"
         "  --steps S       measured steps, or exchanges (as many as take about a second)\n"
         "  --warm W        steps, or exchanges, before these (16)\n"
         "  --stencil P     its points: 7, 13 and 25 along the axes, 27 and 125 in a cube (7)\n"
         "  --json FILE     appends a JSON line for each row, if the forms agree; see below\n"
         "  --svg FILE      a plot of the times\n"
         "  --picture FILE  the middle slice at the end, as .svg or .ppm, with the ranks' borders\n"
         "  --form FORM     how cells are stored, and ghost cells come (all):\n"
         "    layout  bricks in an order in which ghosts need no packing, and few transfers\n"
         "    basic   bricks, a transfer for each region of a rank's surface\n"
         "    memmap  bricks; a neighbour on another node gets one transfer, from a mapped view\n"
         "    shift   bricks; ghosts come along one axis after the other\n"
         "    mapped  bricks; ranks of a node see each other's in the place of ghosts, and "
         "exchange\n"
         "            only signals\n"
         "    best    bricks: layout or memmap, by what they send\n"
         "    grid    an array in a strake::Grid\n"
         "    types   an array, and MPI datatypes of its borders\n"
         "    pack    an array, whose borders loops pack into messages\n"
         "    buffers with --exchange-only: 26 MPI messages as long as memmap's, from contiguous\n"
         "            buffers: what messages cost at least. It has no values to check\n"
         "Times are medians over exchanges with the steps between them, and the maximum of the\n"
         "ranks. pack: packing, and calls that begin an exchange. wait: until ghosts are there.\n"
         "With --exchange-only medians are over blocks of exchanges; begin: the call that starts\n"
         "an exchange (in form pack with all packing and unpacking); exchange: begin and wait;\n"
         "faster: how many times faster than types.\n"
         "Keys of --json: form, ranks, size (N), ghost (cells that are stored), stencil (points),\n"
         "steps (measured steps, or exchanges), steps_per_exchange, compute_us, pack_us (begin, "
         "of\n"
         "exchanges), wait_us, total_us (a step) or exchange_us, and of an exchange of rank 0\n"
         "messages and bytes. With --exchange-only stencil, steps_per_exchange and compute_us are\n"
         "null.\n";
}
