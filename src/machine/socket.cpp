#include "machine/socket.hpp"

#include <sched.h>

#include <cstdio>

namespace strake::machine {

int current_socket() noexcept {
  char path[96];
  std::snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/physical_package_id",
                sched_getcpu());
  std::FILE* const file = std::fopen(path, "re");
  if (file == nullptr) return -1;
  int found = -1;
  if (std::fscanf(file, "%d", &found) != 1) found = -1;
  (void)std::fclose(file);
  return found;
}

}  // namespace strake::machine
