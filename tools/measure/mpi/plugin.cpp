// The plug-in's one symbol.
//
// The command that loads it is linked to no MPI library: this object brings its own along, in the
// scope of this object alone. Open MPI's components look for the library's symbols in the global
// scope, so the library is put there before it is initialised.
#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cases.hpp"
#include "device/own_folder.hpp"
#include "job.hpp"
#include "mpi/quirks.hpp"
#include "probe/gpu_aware.hpp"
#include "settings/settings.hpp"

namespace strake::measure {
namespace {

using mpi::quirks::kFlavor;
using probe::Awareness;
using probe::kTriedCollectives;

/// Whether a launcher that can start ranks of this library started this process.
bool launched() {
  const std::string_view wanted = settings::text(settings::Id::mpi);
  if (wanted != "auto" && wanted != kFlavor) return false;
  return std::ranges::any_of(mpi::quirks::kRankVariables,
                             [](const char* name) { return std::getenv(name) != nullptr; });
}

/// Whether calls from here reach the library that this was built for: the process may have put
/// another one first.
bool bound_to_own_library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  return PMPI_Get_library_version(text, &length) == MPI_SUCCESS &&
         std::string_view(text, static_cast<std::size_t>(length))
             .starts_with(mpi::quirks::kLibrary);
}

void put_into_global_scope() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&PMPI_Init_thread), &info) == 0) return;
  // Already loaded: this only promotes it, with all that it needs.
  dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
}

/// Whether the library takes device pointers, tried once, by two ranks. Without a device there is
/// no answer, and nothing is tried.
const probe::Tried& tried() {
  static const probe::Tried once = []() -> probe::Tried {
    if (CudaDriver::find() == nullptr) return {};
    const std::string folder = own_folder();
    // Beside this object, or where the build puts it.
    const std::string program = probe::probe_program(kFlavor, {folder, folder + "/../bin"});
    if (program.empty()) return {{}, "the probe of the MPI library is missing beside " + folder};
    std::vector<probe::Words> commands;
    for (const std::string& launcher : probe::launchers(mpi::quirks::kLaunchers))
      commands.push_back({launcher, "-n", "2"});
    if (commands.empty()) {
      return {{},
              "no launcher (" + std::string(mpi::quirks::kLaunchers[1]) +
                  ") was found beside the process that started this one, nor on the PATH"};
    }
    return probe::try_gpu_aware(commands, program, probe::clean_environment());
  }();
  return once;
}

class MpiPlugin final : public Plugin {
 public:
  Team* team() override { return &job_; }

  std::vector<Case> cases() override {
    std::vector<Case> all;
    add_messages(job_, Device{}, all);
    add_pairs(job_, all);
    add_strided(job_, sharing_, all);
    add_collectives(job_, Device{}, all, [](std::string_view) { return true; });
    add_memory(job_, all);
    const Awareness aware = agreed_awareness();
    if (aware.messages == 1) {
      const Device device{CudaDriver::find(), job_.local_rank()};
      add_messages(job_, device, all);
      add_collectives(job_, device, all, [aware](std::string_view name) {
        for (std::size_t i = 0; i < kTriedCollectives.size(); ++i) {
          if (kTriedCollectives[i] == name) return (aware.collectives >> i & 1U) != 0;
        }
        return false;
      });
      add_fans(job_, device, all);
    }
    return all;
  }

  int gpu_aware() override { return tried().answer.messages; }
  std::string gpu_aware_problem() override { return tried().problem; }

 private:
  /// Rank 0's answer, the same on all ranks; none where one of them has no device.
  Awareness agreed_awareness() {
    Awareness answer;
    if (job_.rank() == 0) answer = tried().answer;
    job_.broadcast(&answer, sizeof(answer));
    const bool device = CudaDriver::find() != nullptr;
    return job_.maximum(device ? 0 : 1) == 0 ? answer : Awareness{};
  }

  Job job_;
  Sharing sharing_{job_};
};

}  // namespace
}  // namespace strake::measure

extern "C" __attribute__((visibility("default"))) strake::measure::Plugin*
strake_make_measure_plugin(int version) {
  using namespace strake::measure;
  if (version != kPluginVersion || !launched() || !bound_to_own_library()) return nullptr;
  put_into_global_scope();
  try {
    return std::make_unique<MpiPlugin>().release();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "strake: %s takes no part: %s\n",
                 std::string(strake::mpi::quirks::kLibrary).c_str(), error.what());
    return nullptr;
  }
}
