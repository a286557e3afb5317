#include "program_facts.hpp"

#include <fstream>
#include <sstream>
#include <string_view>

#include "preload/elf_file.hpp"
#include "preload/needed_libraries.hpp"
#include "run/job.hpp"
#include "run/program_check.hpp"
#include "strake/error.hpp"

namespace strake::doctor {
namespace {

using Kind = ProgramFacts::Kind;
using preload::MpiLibrary;

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool is_python(const std::string& path) { return base_name(path).starts_with("python"); }

/// The interpreter of a script, found as by the kernel or by env; empty: not found.
std::string interpreter_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  if (!line.starts_with("#!")) return {};
  std::istringstream words(line.substr(2));
  std::string word;
  words >> word;
  if (base_name(word) == "env") words >> word;
  return run::find_program(word).value_or("");
}

/// The file of the module mpi4py.MPI that this python would load; empty: it has none.
std::string mpi4py_of(const std::string& python) {
  const std::string output =
      run::output_of({python, "-c",
                      "import importlib.util as u\n"
                      "s = u.find_spec('mpi4py') and u.find_spec('mpi4py.MPI')\n"
                      "print(s.origin if s else '')"});
  std::istringstream lines(output);
  std::string last;
  for (std::string line; std::getline(lines, line);) last = line;
  return last.starts_with('/') ? last : std::string();
}

void note_library(const preload::MpiUse& use, MpiLibrary forced, ProgramFacts& facts) {
  const MpiLibrary library = use.library == MpiLibrary::Unknown ? forced : use.library;
  if (library != MpiLibrary::OpenMpi && library != MpiLibrary::Mpich) return;
  facts.library = library;
  facts.library_path = use.path;
}

/// Whether a library is the system's, a compiler's or MPI's, by its name.
bool is_common(std::string_view library) {
  for (const std::string_view begin :
       {"libc.so", "libm.so", "libdl.so", "librt.so", "libpthread.so", "ld-linux", "libstdc++.so",
        "libgcc_s.so", "libgfortran.so", "libquadmath.so", "libgomp.so", "libmpi", "libfmpich",
        "libopen-"}) {
    if (library.starts_with(begin)) return true;
  }
  return false;
}

/// Whether an MPI program makes no datatypes: it never names the call that each must be committed
/// by (MPI_Type_commit, mpi_type_commit_), and has no other object that might.
bool makes_no_datatypes(const std::string& path) {
  const preload::ElfFile file(path.c_str());
  if (!file.valid() || file.contains("ype_commit") || file.contains("dlopen")) return false;
  for (std::size_t i = 0; const char* const needed = file.needed(i); ++i)
    if (!is_common(needed)) return false;
  return true;
}

/// Reason for which `strake run` would refuse the program; empty: it would not.
std::string refusal(const std::string& path, const std::string& folder, MpiLibrary forced) {
  try {
    const MpiLibrary library = run::check_program(path, forced);
    if (library != MpiLibrary::None && !folder.empty()) run::check_interposer(folder, library);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return {};
}

void describe_file(const std::string& path, const std::string& folder, MpiLibrary forced,
                   ProgramFacts& facts) {
  preload::MpiUse use;
  preload::find_mpi(path.c_str(), nullptr, use);
  facts.path = path;
  facts.problem = refusal(path, folder, forced);
  std::string python = is_python(path) ? path : "";
  if (!use.elf) {
    facts.kind = Kind::Script;
    const std::string interpreter = interpreter_of(path);
    if (python.empty() && is_python(interpreter)) python = interpreter;
  } else if (!use.dynamic) {
    facts.kind = Kind::Static;
  }
  if (!python.empty()) {
    facts.kind = Kind::Python;
    const std::string module = mpi4py_of(python);
    if (!module.empty()) preload::find_mpi(module.c_str(), nullptr, use, python.c_str());
  }
  note_library(use, forced, facts);
  facts.only_contiguous =
      facts.kind == Kind::Binary && facts.has_library() && makes_no_datatypes(path);
}

}  // namespace

ProgramFacts describe_program(const run::Arguments& command, const run::JobProgram& program,
                              const std::string& folder, MpiLibrary forced) {
  ProgramFacts facts;
  if (!program.segment.program) return facts;
  facts.word = command[*program.segment.program];
  facts.elsewhere = program.elsewhere;
  if (!program.path) return facts;
  describe_file(*program.path, folder, forced, facts);
  for (std::size_t i = *program.segment.program + 1; i < program.segment.end; ++i) {
    if (facts.has_library() || !facts.problem.empty() || facts.kind != Kind::Binary) break;
    const auto path = run::find_program(command[i]);
    if (!path) continue;
    ProgramFacts later;
    later.word = command[i];
    describe_file(*path, folder, forced, later);
    if (later.has_library() || !later.problem.empty()) facts = later;
  }
  facts.insists_on_first = run::insists_on_first(facts.path, command);
  return facts;
}

}  // namespace strake::doctor
