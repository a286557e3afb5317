#include "plugins.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <climits>
#include <cstdlib>
#include <filesystem>

#include "preload/own_program.hpp"
#include "settings/settings.hpp"
#include "strake/error.hpp"

namespace strake::measure {
namespace fs = std::filesystem;

namespace {

/// Null where there is none, or it finds nothing to work with; `complaint` says which.
std::unique_ptr<Plugin> load(const std::string& name, std::string& complaint) {
  const std::string file = "libstrake-measure-" + name + ".so";
  char program[PATH_MAX];
  preload::own_program(program);
  const fs::path here = fs::path(program).parent_path();
  // Built, and installed.
  for (const char* relative : {"../lib", "../" STRAKE_LIBRARY_FOLDER, "../lib/strake"}) {
    const fs::path path = (here / relative / file).lexically_normal();
    if (!fs::exists(path)) continue;
    // Never unloaded: the runtimes inside register handlers that run at exit.
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) {
      complaint = dlerror();
      return nullptr;
    }
    const auto make = reinterpret_cast<MakePlugin>(dlsym(library, "strake_make_measure_plugin"));
    if (make == nullptr) {
      complaint = path.string() + " has no strake_make_measure_plugin";
      return nullptr;
    }
    std::unique_ptr<Plugin> plugin(make(kPluginVersion));
    if (plugin == nullptr) {
      complaint = path.string() + " is of another version, or finds nothing here to measure";
    }
    return plugin;
  }
  complaint =
      fmt::format("there is no {} in {}", file, (here / "../lib").lexically_normal().string());
  return nullptr;
}

}  // namespace

std::string launcher_flavor() {
  const auto is_set = [](const char* name) { return std::getenv(name) != nullptr; };
  const bool openmpi = is_set("OMPI_COMM_WORLD_SIZE");
  const bool mpich = is_set("PMI_SIZE") || is_set("PMI_RANK") || is_set("PMI_FD");
  if (!openmpi && !mpich && !is_set("PMIX_RANK")) return {};
  const std::string_view forced = settings::text(settings::Id::mpi);
  if (forced != "auto") return std::string(forced);
  return openmpi || !mpich ? "openmpi" : "mpich";
}

LoadedPlugin load_mpi_plugin() {
  LoadedPlugin result{launcher_flavor(), nullptr};
  if (result.name.empty()) return result;
  std::string complaint;
  result.plugin = load(result.name, complaint);
  if (result.plugin == nullptr || result.plugin->team() == nullptr) {
    throw Error(fmt::format("started as a rank of {}, which can't be measured: {}", result.name,
                            complaint.empty() ? "its plug-in has no ranks" : complaint));
  }
  return result;
}

LoadedPlugin load_cuda_plugin(std::string& complaint) {
  constexpr const char* kDriver = "libcuda.so.1";
  if (dlopen(kDriver, RTLD_LAZY | RTLD_LOCAL) == nullptr) return {};
  return {"cuda", load("cuda", complaint)};
}

}  // namespace strake::measure
