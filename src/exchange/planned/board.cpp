#include "exchange/planned/board.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "exchange/backoff.hpp"
#include "exchange/planned/swap_with.hpp"
#include "job/names.hpp"
#include "mpi/agree.hpp"
#include "mpi/real_mpi.hpp"
#include "settings/log.hpp"
#include "settings/settings.hpp"
#include "strake/error.hpp"

namespace strake::exchange::planned {
namespace {

/// What goes with a descriptor from rank to rank.
struct Note {
  std::uint64_t from = 0;  ///< the sender's nonce
  std::int32_t region = kBoard;
  std::uint32_t generation = 0;
  std::int64_t bytes = 0;
  ExportedMemory device_memory{};  ///< of a region from Arenas::kMost on
  static constexpr std::int32_t kBoard = -1;
};
static_assert(sizeof(Note) < sharing::DescriptorSocket::kLongestMessage);

// With peers whose queues are full.
constexpr std::chrono::seconds kPatience{10};

sharing::SocketName name_of(std::uint64_t nonce) noexcept {
  sharing::SocketName name;
  std::snprintf(name.text, sizeof(name.text), "plan-%016" PRIx64, nonce);
  return name;
}

}  // namespace

Boards::OnNode Boards::on_this_node(MPI_Comm comm, const std::set<int>& peers) {
  const mpi::RealMpi& real = mpi::real_mpi();
  int rank = 0;
  int world_rank = 0;
  real.MPI_Comm_rank(comm, &rank);
  real.MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm node = MPI_COMM_NULL;
  mpi::check(real.MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
             "MPI_Comm_split_type");
  int here = 0;
  real.MPI_Comm_size(node, &here);
  const std::array<int, 2> own = {rank, world_rank};
  std::vector<std::array<int, 2>> all(static_cast<std::size_t>(here));
  mpi::check(real.MPI_Allgather(own.data(), 2, MPI_INT, all.data(), 2, MPI_INT, node),
             "MPI_Allgather");
  // The job's directory, or one that the node's first rank makes up.
  const std::string_view job = settings::text(settings::Id::job);
  OnNode found{{}, job.empty() ? sharing::new_number() : job::hash_of(job)};
  mpi::check(real.MPI_Bcast(&found.directory, 1, MPI_UINT64_T, 0, node), "MPI_Bcast");
  real.MPI_Comm_free(&node);
  const auto pretended = static_cast<int>(settings::number(settings::Id::ranks_per_node));
  for (const auto& [other, others_world_rank] : all) {
    const bool here_too = pretended == 0 || others_world_rank / pretended == world_rank / pretended;
    if (other != rank && here_too && peers.contains(other)) found.ranks.push_back(other);
  }
  return found;
}

void Board::populate(std::int64_t begin, std::int64_t end) {
  if (begin < end && !memory_.populate(shape_.packed_at() + begin, shape_.packed_at() + end))
    throw OutOfMemory(fmt::format("no memory for {} packed bytes of an exchange", end - begin));
}

Boards::Boards(MPI_Comm comm, std::vector<Neighbour> neighbours, const BoardShape& own)
    : neighbours_(std::move(neighbours)) {
  mpi::real_mpi().MPI_Comm_rank(comm, &rank_);
  std::set<int> peers;
  for (const Neighbour& neighbour : neighbours_) peers.insert(neighbour.rank);
  const auto [on_node, directory] = on_this_node(comm, peers);
  const bool has_own = peers.contains(rank_);
  std::string fault;
  if (!on_node.empty() || has_own) {
    try {
      own_ = Board(own);
      const std::uint64_t nonce = on_node.empty() ? 0 : sharing::new_number();
      if (nonce != 0)
        socket_ = std::make_unique<sharing::DescriptorSocket>(sharing::directory_of(directory),
                                                              name_of(nonce).text);
      nonce_ = nonce;
    } catch (const std::exception& error) {
      if (has_own && !own_.is_there())
        fault = fmt::format("rank {} has no memory for {} bytes of an exchange: {}", rank_,
                            own.bytes(), error.what());
      log::info("a planned exchange goes by MPI: {}", error.what());
    }
  }
  mpi::agree(comm, fault, mpi::FaultKind::Memory);
  swap_boards(comm, on_node, own);
  swap_corners(comm);
}

Boards::~Boards() = default;

/// Each of a pair sends its board to the other, and says whether it has got the other's.
void Boards::swap_boards(MPI_Comm comm, const std::vector<int>& on_node, const BoardShape& shape) {
  constexpr int kHello = 2;
  constexpr int kSent = 3;
  constexpr int kGot = 4;
  struct Hello {
    std::uint64_t nonce;
    BoardShape shape;
  };
  const std::vector<Hello> mine(on_node.size(), {nonce_, shape});
  std::vector<Hello> theirs;
  // Others may still send when this rank has nothing to send any more, and its queue is short.
  const auto take = [&] {
    if (socket_ != nullptr) take_messages();
  };
  swap_with(comm, on_node, kHello, mine, theirs, [] {});
  for (std::size_t i = 0; i < on_node.size(); ++i) {
    if (nonce_ == 0 || theirs[i].nonce == 0) continue;
    Peer& peer = peers_[on_node[i]];
    peer.nonce = theirs[i].nonce;
    peer.board = Board(theirs[i].shape, {});
    rank_of_[peer.nonce] = on_node[i];
  }
  send_board(shape);
  // What was sent waits in the socket, and nobody sends any more.
  std::vector<char> done(on_node.size(), 1), all_done;
  swap_with(comm, on_node, kSent, done, all_done, take);
  take();
  std::vector<char> got, gotten;
  for (const int peer : on_node)
    got.push_back(reaches(peer) && peers_.at(peer).board.is_there() ? 1 : 0);
  swap_with(comm, on_node, kGot, got, gotten, take);
  for (std::size_t i = 0; i < on_node.size(); ++i) {
    if (got[i] != 0 && gotten[i] != 0) continue;
    if (peers_.erase(on_node[i]) != 0)
      log::info("an exchange with rank {} goes by MPI: no descriptors reach it", on_node[i]);
  }
}

/// With ranks that are reached.
void Boards::swap_corners(MPI_Comm comm) {
  constexpr int kCorner = 10;
  corners_.resize(neighbours_.size());
  std::vector<int> ranks;
  std::vector<std::size_t> numbers;
  std::vector<Corner> mine, theirs;
  for (std::size_t i = 0; i < neighbours_.size(); ++i) {
    const Neighbour& neighbour = neighbours_[i];
    if (neighbour.rank == rank_) {
      corners_[i] = neighbours_[neighbour.twin].corner;
    } else if (reaches(neighbour.rank)) {
      ranks.push_back(neighbour.rank);
      numbers.push_back(i);
      mine.push_back(neighbour.corner);
    }
  }
  swap_with(comm, ranks, kCorner, mine, theirs, [&] { look(); });
  for (std::size_t i = 0; i < numbers.size(); ++i) corners_[numbers[i]] = theirs[i];
}

/// To all peers. Their queues are short: what they have sent is taken meanwhile.
void Boards::send_board(const BoardShape& shape) {
  const auto begin = std::chrono::steady_clock::now();
  const Note note{nonce_, Note::kBoard, 0, shape.bytes(), {}};
  std::vector<const Peer*> left;
  for (const auto& [rank, peer] : peers_) left.push_back(&peer);
  while (!left.empty() && std::chrono::steady_clock::now() - begin < kPatience) {
    std::erase_if(left, [&](const Peer* peer) {
      return socket_->send(name_of(peer->nonce).text, std::as_bytes(std::span(&note, 1)),
                           std::array{own_.descriptor()}) != sharing::DescriptorSocket::Sent::Full;
    });
    take_messages();
    if (!left.empty()) sched_yield();
  }
}

/// Boards and arrays that peers have sent.
void Boards::take_messages() {
  while (auto received = socket_->receive()) {
    Note note;
    if (received->message.size() != sizeof(note)) continue;
    std::memcpy(&note, received->message.data(), sizeof(note));
    const auto from = rank_of_.find(note.from);
    if (from == rank_of_.end()) continue;
    Peer& peer = peers_.at(from->second);
    const int descriptor = received->descriptors.front().get();
    try {
      if (note.region == Note::kBoard) {
        if (peer.board.is_there()) continue;  // it is in use
        peer.board.take(sharing::SharedMemory::map(descriptor, peer.board.shape().bytes()));
      } else if (note.region >= 0 && note.region < static_cast<std::int32_t>(kRegions)) {
        Mapped& mapped = peer.regions[static_cast<std::size_t>(note.region)];
        mapped = {};  // what had the number before is freed
        if (note.region < sharing::Arenas::kMost) {
          mapped.memory = sharing::SharedMemory::map(descriptor, note.bytes,
                                                     sharing::SharedMemory::Access::Read);
        } else {
          if (!std::ranges::all_of(received->numbers(), sharing::is_of_memory))
            throw InvalidArgument("a descriptor came that is not of a device's memory");
          const auto is_freed = [&](const sharing::DeviceImport& import) {
            return import.replaced_by(note.device_memory);
          };
          for (Mapped& known : peer.regions)
            if (std::ranges::any_of(known.imports, is_freed)) known = {};
          mapped.exported = note.device_memory;
          if (mapped.exported.pieces != 0) mapped.pieces = std::move(received->descriptors);
        }
        mapped.generation = note.generation;
      }
    } catch (const Error& error) {
      log::warn("memory of rank {} can't be used in an exchange: {}", from->second, error.what());
    }
  }
}

void Boards::look() {
  if (socket_ != nullptr) take_messages();
}

bool Boards::is_gone(int peer) const noexcept {
  const auto found = peers_.find(peer);
  return found != peers_.end() && socket_->has_died(name_of(found->second.nonce).text);
}

/// Gives an allocation to all peers that do not have it. False: one of them can't be given it now.
bool Boards::tell(const sharing::Arenas::Region& region, bool device) {
  const auto number = static_cast<std::size_t>(region.number);
  const auto knows = [&](const auto& entry) {
    return entry.second.told[number] == region.generation;
  };
  if (std::ranges::all_of(peers_, knows)) return true;
  Note note{nonce_, region.number, region.generation, region.bytes, {}};
  sharing::DeviceExports::Export exported;
  std::vector<int> descriptors = {device ? own_.descriptor() : region.descriptor};
  if (device) {
    exported = sharing::DeviceExports::get().export_of(region);
    note.device_memory = exported.memory;
    if (std::ssize(exported.descriptors) != exported.memory.pieces) return false;
    if (exported.memory.pieces != 0) descriptors.clear();
    for (const sharing::Descriptor& piece : exported.descriptors)
      descriptors.push_back(piece.get());
  }
  bool all = true;
  for (auto& [rank, peer] : peers_) {
    if (peer.told[number] == region.generation) continue;
    const auto how =
        socket_->send(name_of(peer.nonce).text, std::as_bytes(std::span(&note, 1)), descriptors);
    if (how == sharing::DescriptorSocket::Sent::Yes) {
      peer.told[number] = region.generation;
    } else {
      all = false;
    }
  }
  return all;
}

bool Boards::show(std::int64_t array, const std::byte* address, std::int64_t begin,
                  std::int64_t end) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  ArrayPlace& place = own_.array(array);
  const auto region = sharing::Arenas::get().find(address + begin, address + end);
  if (!region || !tell(*region, false)) return false;
  place.generation.store(region->generation, kRelaxed);
  place.offset.store(
      reinterpret_cast<std::intptr_t>(address) - reinterpret_cast<std::intptr_t>(region->data),
      kRelaxed);
  place.region.store(region->number, kRelaxed);
  return true;
}

/// What a peer has given by that number; null: it has not come.
Boards::Mapped* Boards::mapped(int rank, std::int32_t number, std::uint32_t generation) {
  if (number < 0 || number >= static_cast<std::int32_t>(kRegions)) return nullptr;
  Mapped& found = peers_.at(rank).regions[static_cast<std::size_t>(number)];
  if (found.generation != generation) take_messages();  // it was sent before it was told of
  return found.generation == generation ? &found : nullptr;
}

const std::byte* Boards::find(int rank, std::int64_t array, ByteRange touched) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  const ArrayPlace& place = peers_.at(rank).board.array(array);
  const Mapped* const found =
      mapped(rank, place.region.load(kRelaxed), place.generation.load(kRelaxed));
  if (found == nullptr || found->memory.data() == nullptr) return nullptr;
  const std::int64_t offset = place.offset.load(kRelaxed);
  std::int64_t begin = 0;
  std::int64_t end = 0;
  if (__builtin_add_overflow(offset, touched.begin, &begin) ||
      __builtin_add_overflow(offset, touched.end, &end) || begin < 0 || end > found->memory.bytes())
    return nullptr;
  return reinterpret_cast<const std::byte*>(reinterpret_cast<std::intptr_t>(found->memory.data()) +
                                            offset);
}

Boards::InDevice Boards::give_device_memory(const std::byte* first, const std::byte* last) {
  auto& exports = sharing::DeviceExports::get();
  sharing::Declined why{};
  auto region = exports.find(first, last, why);
  if (!region && !exports.take_freed([](std::int32_t) { return false; }).empty())
    region = exports.find(first, last, why);
  if (!region) {
    log::info("memory of a device can't be given to other ranks in an exchange: {}",
              sharing::name_of(why));
    return {};
  }
  const auto begin = std::chrono::steady_clock::now();
  while (!tell(*region, true)) {
    if (std::chrono::steady_clock::now() - begin > kPatience) return {};
    take_messages();
    sched_yield();
  }
  return {region->number, region->generation, first - region->data};
}

std::byte* Boards::device_memory(int rank, const InDevice& where, Place place) {
  Mapped* const found = mapped(rank, where.region, where.generation);
  if (found == nullptr || where.offset < 0 || where.offset >= found->exported.bytes) return nullptr;
  auto known = std::ranges::find(found->imports, place, &sharing::DeviceImport::place);
  if (known == found->imports.end()) {
    try {
      std::vector<int> pieces;
      for (const sharing::Descriptor& piece : found->pieces) pieces.push_back(piece.get());
      known = found->imports.emplace(known, found->exported, pieces, place.device);
    } catch (const Error& error) {
      log::warn("memory of rank {} can't be used in an exchange: {}", rank, error.what());
      return nullptr;
    }
  }
  return known->data() + where.offset;
}

}  // namespace strake::exchange::planned
