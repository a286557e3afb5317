#include "exchange/peers/group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "device/backend.hpp"
#include "job/names.hpp"
#include "memory/sharing/directories.hpp"
#include "mpi/agree.hpp"
#include "mpi/communicators.hpp"
#include "mpi/real_mpi.hpp"
#include "settings/log.hpp"
#include "settings/settings.hpp"
#include "state/process_state.hpp"
#include "strake/error.hpp"

namespace strake::exchange::peers {
namespace {

/// The attribute of a communicator that has a group: a `new std::shared_ptr<Group>`.
using Attribute = std::shared_ptr<Group>;

int drop_attribute(MPI_Comm /*comm*/, int /*key*/, void* value, void* /*state*/) {
  delete static_cast<Attribute*>(value);
  return MPI_SUCCESS;
}

/// The key of the attribute. \throws MpiError
int attribute_key() {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    mpi::check(mpi::real_mpi().MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, drop_attribute, &made,
                                                      nullptr),
               "MPI_Comm_create_keyval");
    return made;
  }();
  return key;
}

/// The greatest tag. (A communicator has no smaller limit than MPI_COMM_WORLD.)
int last_tag(MPI_Comm comm) {
  int* value = nullptr;
  int found = 0;
  mpi::check(mpi::real_mpi().MPI_Comm_get_attr(comm, MPI_TAG_UB, &value, &found),
             "MPI_Comm_get_attr");
  constexpr int kLeast = 32767;
  return found != 0 ? *value : kLeast;
}

/// Ranks may differ in other settings, such as STRAKE_METHOD: each pair of them settles those.
void require_one_protocol(MPI_Comm comm) {
  const mpi::Given given[] = {
      {"the version of Strake", STRAKE_VERSION},
      {"STRAKE_RANKS_PER_NODE", std::to_string(settings::number(settings::Id::ranks_per_node))}};
  mpi::require_alike(comm, given);
}

/// This rank in its MPI_COMM_WORLD; negative: it is in none.
int rank_in_world() {
  int rank = -1;
  mpi::real_mpi().MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

}  // namespace

SharedByAll& SharedByAll::get() { return ProcessState::part<SharedByAll>(); }

std::shared_ptr<Group> Group::of(MPI_Comm parent) {
  const mpi::RealMpi& real = mpi::real_mpi();
  Attribute* known = nullptr;
  int found = 0;
  mpi::check(real.MPI_Comm_get_attr(parent, attribute_key(), &known, &found), "MPI_Comm_get_attr");
  if (found != 0) return *known;
  auto made = std::make_unique<Attribute>(new Group(parent));
  std::shared_ptr<Group> group = *made;
  mpi::check(real.MPI_Comm_set_attr(parent, attribute_key(), made.get()), "MPI_Comm_set_attr");
  (void)made.release();
  return group;
}

Group::Group(MPI_Comm parent) : next_tag_(kFirstTag) {
  const mpi::RealMpi& real = mpi::real_mpi();
  mpi::check(real.MPI_Comm_dup(parent, &comm_), "MPI_Comm_dup");
  try {
    // The parent's error handler may change later.
    mpi::check(real.MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    require_one_protocol(comm_);
    real.MPI_Comm_rank(comm_, &rank_);
    int size = 0;
    real.MPI_Comm_size(comm_, &size);
    members_.resize(static_cast<std::size_t>(size));
    fill_table();
  } catch (...) {
    real.MPI_Comm_free(&comm_);
    throw;
  }
}

/// MPI_Comm_free is local in Open MPI and in MPICH, so ranks need not free communicators in the
/// same order.
Group::~Group() {
  if (!has_strays_ && !SharedByAll::get().has_ended) (void)mpi::real_mpi().MPI_Comm_free(&comm_);
}

void Group::end_all() noexcept {
  SharedByAll& all = SharedByAll::get();
  all.has_ended = true;
  const std::lock_guard lock(all.mutex);
  if (all.directory != nullptr) all.directory->retire();
}

void Group::fill_table() {
  const mpi::RealMpi& real = mpi::real_mpi();
  MPI_Comm node = MPI_COMM_NULL;
  mpi::check(real.MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
             "MPI_Comm_split_type");
  int ranks_here = 0;
  real.MPI_Comm_size(node, &ranks_here);
  // The number of the node, and of the directory for a process that has none yet: the job's, or one
  // that the node's first rank has made up.
  std::array<std::uint64_t, 2> of_node = {static_cast<std::uint64_t>(rank_), 0};
  SharedByAll& all = SharedByAll::get();
  {
    const std::lock_guard lock(all.mutex);
    const std::string_view job = settings::text(settings::Id::job);
    of_node[1] = all.directory != nullptr ? all.directory_number
                 : job.empty()            ? sharing::new_number()
                                          : job::hash_of(job);
  }
  const int code = real.MPI_Bcast(of_node.data(), 2, MPI_UINT64_T, 0, node);
  real.MPI_Comm_free(&node);
  mpi::check(code, "MPI_Bcast");
  if (ranks_here > 1) open_directory(of_node[1]);

  const auto pretended = static_cast<int>(settings::number(settings::Id::ranks_per_node));
  const DeviceBackend* const devices = device_backend();
  Member own;
  own.world_rank = rank_in_world();
  own.node = static_cast<std::int32_t>(of_node[0]);
  own.pretended = pretended == 0 ? 0 : own.world_rank / pretended;
  own.device = devices == nullptr ? 0 : devices->identity(-1);
  {
    const std::lock_guard lock(all.mutex);
    if (all.directory != nullptr) {
      own.directory = all.directory_number;
      own.job = all.directory->job();
    }
  }
  mpi::check(real.MPI_Allgather(&own, sizeof(own), MPI_BYTE, members_.data(), sizeof(own), MPI_BYTE,
                                comm_),
             "MPI_Allgather");
  const std::vector<int> in_world = mpi::world_ranks(comm_);
  for (std::size_t i = 0; i < members_.size(); ++i) members_[i].world_rank = in_world[i];
  const std::lock_guard lock(all.mutex);
  for (int other = 0; other < size(); ++other) {
    const Member& member = members_[static_cast<std::size_t>(other)];
    if (other != rank_ && is_near(other))
      all.directory->locate(member.world_rank, member.directory, member.job);
  }
}

/// Where this process has none yet. It does without where that can't be.
void Group::open_directory(std::uint64_t number) {
  SharedByAll& all = SharedByAll::get();
  const std::lock_guard lock(all.mutex);
  if (all.directory != nullptr) return;
  int ranks = 0;
  mpi::real_mpi().MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  try {
    all.directory = std::make_unique<Directory>(
        sharing::directory_of(number),
        Directory::Options{.rank = rank_in_world(), .ranks = ranks, .job = sharing::new_number()});
    all.directory_number = number;
  } catch (const std::exception& error) {
    log::info("planned exchanges go by MPI: {}", error.what());
  }
}

bool Group::is_near(int rank) const noexcept {
  const Member& own = members_[static_cast<std::size_t>(rank_)];
  const Member& other = members_[static_cast<std::size_t>(rank)];
  return own.node == other.node && own.pretended == other.pretended && own.job != 0 &&
         other.job != 0 && own.world_rank >= 0 && other.world_rank >= 0;
}

bool Group::is_connected(int rank) const noexcept {
  SharedByAll& all = SharedByAll::get();
  const std::lock_guard lock(all.mutex);
  return rank != rank_ && is_near(rank) && all.directory->both_know(world_rank(rank));
}

int Group::take_tag() {
  const std::lock_guard lock(mutex_);
  if (!free_tags_.empty()) return free_tags_.extract(free_tags_.begin()).value();
  if (next_tag_ > last_tag(comm_))
    throw Unsupported(
        fmt::format("exchanges with one parent communicator use all {} tags of the MPI library",
                    next_tag_ - kFirstTag));
  return next_tag_++;
}

void Group::give_back(int tag) {
  const std::lock_guard lock(mutex_);
  free_tags_.insert(tag);
}

void Group::abandon_tags() noexcept {
  const std::lock_guard lock(mutex_);
  has_strays_ = true;
}

}  // namespace strake::exchange::peers
