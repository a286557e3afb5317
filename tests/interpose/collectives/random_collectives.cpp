/// \file  Random collectives: exchanges on communicators of all kinds, blocking, nonblocking and
/// persistent, with datatypes and memory that each rank draws for itself. Every byte of each buffer
/// is compared; messages and probes in between never meet anything of a collective.
///
///   random_collectives [--seed S] [--first N] [--steps N] [--persistent] [--device]
///
/// A step is drawn from the seed and its own number: any of them runs alone. Where a rank is a
/// neighbour several times, MPI 4.0 (8.6) says for Cartesian communicators which block goes where,
/// and the libraries do not all follow: there the program prints a hash of what came.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "check.hpp"
#include "collectives/random_runner.hpp"
#include "random/alone.hpp"

namespace {

constexpr std::size_t kStackBytes = 1 << 20;

int number(const std::string& option, const char* text) {
  const std::string digits = text == nullptr ? "" : text;
  if (digits.empty() || digits.size() > 9 ||
      digits.find_first_not_of("0123456789") != std::string::npos) {
    std::fprintf(stderr, "random_collectives: %s '%s': not a number\n", option.c_str(),
                 digits.c_str());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  return std::atoi(digits.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  check::init(argc, argv);
  alignas(64) std::byte stack[kStackBytes];
  random_program::use_stack(stack, kStackBytes);
  random_collectives::Options options;
  options.seed = static_cast<std::uint64_t>(check::size());
  options.on_device = test_memory::on_device();
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const auto value = [&] { return number(name, i + 1 < argc ? argv[++i] : nullptr); };
    if (name == "--seed") {
      options.seed = static_cast<std::uint64_t>(value());
    } else if (name == "--first") {
      options.first = value();
    } else if (name == "--steps") {
      options.steps = value();
    } else if (name == "--persistent") {
      options.is_persistent = true;
    } else if (name != "--device") {
      number("unknown option", argv[i]);
    }
  }
  std::string program = std::string(argv[0]) + " --seed " + std::to_string(options.seed);
  if (options.is_persistent) program += " --persistent";
  if (options.on_device) program += " --device";
  check::note("seed %llu, %d steps", static_cast<unsigned long long>(options.seed), options.steps);
  random_collectives::Runner(options, random_program::alone(program, check::size())).run();
  return check::finish();
}
