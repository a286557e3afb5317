#include "mpi/own_world.hpp"

#include <algorithm>
#include <array>

#include "mpi/real_mpi.hpp"
#include "state/process_state.hpp"

namespace strake::mpi {
namespace {

struct OwnWorld {
  MPI_Comm comm = MPI_COMM_NULL;
  std::int32_t next_number = 1;
  std::int32_t first_single = 0;
  Wishes wishes{.off = true, .kept = true};
};
OwnWorld& own() noexcept { return ProcessState::part<OwnWorld>(); }

/// The greatest tag that messages may have.
int last_tag(MPI_Comm comm) noexcept {
  constexpr int kLeast = 32767;
  int* value = nullptr;
  int found = 0;
  const int code = real_mpi().MPI_Comm_get_attr(comm, MPI_TAG_UB, &value, &found);
  return code == MPI_SUCCESS && found != 0 ? *value : kLeast;
}

}  // namespace

std::int32_t open_own_world(const Wishes& wishes) noexcept {
  const RealMpi& real = real_mpi();
  OwnWorld& made = own();
  std::array<bool, 6> any = {wishes.off,     wishes.forced, wishes.untried,
                             wishes.relayed, wishes.kept,   wishes.reordered};
  if (real.MPI_Allreduce(MPI_IN_PLACE, any.data(), static_cast<int>(any.size()), MPI_C_BOOL,
                         MPI_LOR, MPI_COMM_WORLD) != MPI_SUCCESS)
    return 0;
  made.wishes = {any[0], any[1], any[2], any[3], any[4], any[5]};
  if (any[0]) return 0;
  // MPI_Comm_dup would take tags of nonblocking collectives on MPI_COMM_WORLD. Open MPI 4.1 has no
  // others, and its MPI_Dist_graph_create hangs where the 24th of them is on its way.
  MPI_Group all = MPI_GROUP_NULL;
  if (real.MPI_Comm_group(MPI_COMM_WORLD, &all) != MPI_SUCCESS) return 0;
  const int code = real.MPI_Comm_create_group(MPI_COMM_WORLD, all, 0, &made.comm);
  real.MPI_Group_free(&all);
  if (code != MPI_SUCCESS) return 0;
  real.MPI_Comm_set_errhandler(made.comm, MPI_ERRORS_RETURN);
  constexpr int kEnough = 1 << 28;
  made.first_single = std::min(last_tag(made.comm) / 2, kEnough);
  return agree_on_number(MPI_COMM_WORLD, true);
}

void close_own_world() noexcept {
  if (own().comm != MPI_COMM_NULL) real_mpi().MPI_Comm_free(&own().comm);
}

const Wishes& common_wishes() noexcept { return own().wishes; }

MPI_Comm own_world() noexcept { return own().comm; }

std::int32_t agree_on_number(MPI_Comm made, bool willing) noexcept {
  const std::array<std::int32_t, 2> mine = {own().next_number, willing ? 0 : 1};
  std::array<std::int32_t, 2> all{};
  if (real_mpi().MPI_Allreduce(mine.data(), all.data(), 2, MPI_INT32_T, MPI_MAX, made) !=
      MPI_SUCCESS)
    return 0;
  const auto [number, unwilling] = all;
  if (unwilling != 0 || number >= first_single_tag()) return 0;
  own().next_number = number + 1;
  return number;
}

std::int32_t first_single_tag() noexcept { return own().first_single; }

}  // namespace strake::mpi
