#include "mpi/world.hpp"

#include <cstdint>

#include "mpi/real_mpi.hpp"

namespace strake::mpi {
namespace {

enum class World : std::uint8_t { Unknown, Begun, Ended };
std::atomic<World> g_world{World::Unknown};

}  // namespace

bool in_world() noexcept {
  const World world = g_world.load(std::memory_order_relaxed);
  if (world != World::Unknown) return world == World::Begun;
  int flag = 0;
  real_mpi().MPI_Initialized(&flag);
  if (flag != 0) g_world.store(World::Begun, std::memory_order_relaxed);
  return flag != 0;
}

void leave_world() noexcept { g_world.store(World::Ended, std::memory_order_relaxed); }

}  // namespace strake::mpi
