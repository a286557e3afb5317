#include "program_check.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "elf_file.hpp"
#include "needed_libraries.hpp"
#include "own_program.hpp"
#include "strake/error.hpp"

namespace strake::run {
namespace fs = std::filesystem;
using preload::MpiLibrary;

namespace {

bool is_program(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::optional<std::string> find_program(const std::string& program) {
  if (program.find('/') != std::string::npos) {
    return is_program(program) ? std::optional(program) : std::nullopt;
  }
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/bin:/bin" : path;
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const fs::path candidate =
        fs::path(colon == 0 ? "." : std::string(rest.substr(0, colon))) / program;
    if (is_program(candidate)) return candidate.string();
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return std::nullopt;
}

std::string required_program(const std::string& program) {
  if (const auto found = find_program(program)) return *found;
  std::error_code error;
  if (program.find('/') == std::string::npos || !fs::exists(program, error))
    throw InvalidArgument(fmt::format("{}: command not found", program));
  throw NotExecutable(fmt::format(
      "{}: {}", program,
      fs::is_directory(program, error) ? "is a folder" : "not executable (permission denied)"));
}

MpiLibrary check_program(const std::string& path, MpiLibrary forced) {
  preload::MpiUse use;
  preload::find_mpi(path.c_str(), nullptr, use);
  if (!use.elf) return MpiLibrary::None;  // a script, or a program of another machine
  if (!use.dynamic) {
    if (preload::ElfFile(path.c_str()).contains("MPI_Init")) {
      throw InvalidArgument(fmt::format(
          "{} is linked statically to its MPI library, so nothing can be loaded before it", path));
    }
    return MpiLibrary::None;
  }
  switch (use.library) {
    case MpiLibrary::None:
      return MpiLibrary::None;
    case MpiLibrary::Unknown:
      if (forced == MpiLibrary::None) {
        throw InvalidArgument(fmt::format(
            "{} is linked to {}, an MPI library that Strake does not know; it knows Open MPI "
            "(libmpi.so.40) and MPICH (libmpi.so.12, libmpich.so.12), and --mpi tells it which of "
            "them another one is like",
            path, use.path));
      }
      return forced;
    case MpiLibrary::Abi:
      throw InvalidArgument(
          fmt::format("{} is linked to {}, which {}", path, use.path, preload::kAbiRefused));
    case MpiLibrary::OpenMpi:
    case MpiLibrary::Mpich:
      break;
  }
  if (forced != MpiLibrary::None && forced != use.library) {
    throw InvalidArgument(fmt::format(
        "{} is linked to {} ({}), not to the library that --mpi (STRAKE_MPI) names ({})", path,
        title_of(use.library), use.path, title_of(forced)));
  }
  return use.library;
}

bool is_static(const std::string& path) {
  const preload::ElfFile file(path.c_str());
  return file.valid() && !file.dynamic();
}

bool insists_on_first(const std::string& path, const Arguments& command) {
  const auto allows = [](std::string_view text) {
    return text.find("verify_asan_link_order=0") != std::string_view::npos;
  };
  const char* const options = std::getenv("ASAN_OPTIONS");
  if ((options != nullptr && allows(options)) || std::ranges::any_of(command, allows)) return false;
  const preload::ElfFile file(path.c_str());
  for (std::size_t i = 0; const char* name = file.needed(i); ++i)
    if (std::string_view(name).starts_with("libasan.so")) return true;
  return false;
}

std::string library_folder() {
  char program[PATH_MAX];
  preload::own_program(program);
  const fs::path here = fs::path(program).parent_path();
  for (const char* relative : {"../lib", "../" STRAKE_LIBRARY_FOLDER, "../lib/strake"}) {
    const fs::path folder = (here / relative).lexically_normal();
    if (!fs::exists(folder / "libstrake-preload.so")) continue;
    if (folder.string().find_first_of(" :") != std::string::npos) {
      throw InvalidArgument(fmt::format(
          "Strake's libraries lie in \"{}\": LD_PRELOAD can't name a path with a space or a colon",
          folder.string()));
    }
    return folder.string();
  }
  throw InvalidArgument(fmt::format("libstrake-preload.so is not in {}",
                                    (here / "../lib").lexically_normal().string()));
}

void check_interposer(const std::string& folder, MpiLibrary library) {
  const std::string path = fmt::format("{}/libstrake-mpi-{}.so", folder, flavor_of(library));
  if (!fs::exists(path)) {
    throw InvalidArgument(
        fmt::format("the job uses {}, but Strake was built without it: there is no {}",
                    title_of(library), path));
  }
}

void check_heap(const std::string& folder) {
  const std::string path = folder + "/libstrake-heap.so";
  if (!fs::exists(path)) throw InvalidArgument(fmt::format("--shared-heap: there is no {}", path));
}

}  // namespace strake::run
