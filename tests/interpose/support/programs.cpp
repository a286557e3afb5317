/// \file  An executable that holds many programs. Started by the name of one it is that program:
/// the build has a link to it for each. Started with --together it runs several of them in a row
/// (together.hpp):
///   programs [--device] --together LIST FOLDER
/// The words of a case are its program's name and arguments.
#include "programs.hpp"

#include <cstdio>

#include "../../support/together.hpp"
#include "check.hpp"

namespace {

int run(const together::Case& one, bool device) {
  std::vector<std::string> command = one.words;
  if (device) command.emplace_back("--device");
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  check::State& state = check::state();
  state.failures = 0;
  state.notes.clear();
  check::world() = one.world;
  check::self() = one.self;
  const int code =
      programs::all().at(command[0])(static_cast<int>(command.size()), arguments.data());
  alarm(0);
  return code;
}

int run_together(const char* list, const std::string& folder, bool device, int argc, char** argv) {
  const std::vector<together::Case> cases = together::read(list);
  for (const together::Case& each : cases)
    if (programs::all().count(each.words[0]) == 0) {
      std::fprintf(stderr, "%s: there is no program '%s'\n", list, each.words[0].c_str());
      return 2;
    }
  check::together() = true;
  check::start_mpi(argc, argv);
  together::run(cases, folder, check::world(), check::self(),
                [&](const together::Case& one) { return run(one, device); });
  alarm(check::kWatchdogSeconds);
  check::section("MPI_Finalize");
  MPI_Finalize();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string path = argv[0];
  const auto program = programs::all().find(path.substr(path.rfind('/') + 1));
  if (program != programs::all().end()) return program->second(argc, argv);
  const bool device = argc > 1 && std::strcmp(argv[1], "--device") == 0;
  const char* const* const words = argv + (device ? 2 : 1);
  if (argc == (device ? 5 : 4) && std::strcmp(words[0], "--together") == 0)
    return run_together(words[1], words[2], device, argc, argv);
  std::fprintf(stderr,
               "usage: programs [--device] --together LIST FOLDER\nor, by a link of its name, one "
               "of:\n");
  for (const auto& [name, main] : programs::all()) std::fprintf(stderr, "  %s\n", name.c_str());
  return 2;
}
