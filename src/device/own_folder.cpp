#include "device/own_folder.hpp"

#include <dlfcn.h>

#include <climits>
#include <cstdlib>

namespace strake {

std::string own_folder() {
  Dl_info info{};
  char path[PATH_MAX] = "";
  // A program's name may be relative to a folder that it has left, so the kernel is asked.
  const bool known = dladdr(reinterpret_cast<const void*>(&own_folder), &info) != 0 &&
                     info.dli_fname != nullptr && info.dli_fname[0] == '/';
  if (realpath(known ? info.dli_fname : "/proc/self/exe", path) == nullptr) return {};
  const std::string file = path;
  return file.substr(0, file.rfind('/'));
}

}  // namespace strake
