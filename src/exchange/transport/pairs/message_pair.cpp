#include "exchange/transport/pairs/message_pair.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "exchange/transport/launch_batcher.hpp"
#include "machine/transports.hpp"
#include "mpi/real_mpi.hpp"
#include "settings/log.hpp"
#include "strake/error.hpp"

namespace strake::exchange::planned {
namespace {

/// Sections have about so many bytes: both ranks cut alike. A device packs one in 20 us, and a
/// request costs some microseconds. [bytes]
constexpr std::int64_t kSection = 1 << 20;
// No section that is packed has more than three times as many.
static_assert(3 * kSection < std::numeric_limits<int>::max());

constexpr std::int64_t kMostOfPiece = 1 << 30;

/// How long an object that gives up waits for the MPI library to read pieces of the user's memory.
constexpr std::chrono::seconds kSendPatience{2};

}  // namespace

/// Pieces that follow each other, until they are enough; long ones are cut.
std::vector<MessagePair::Section> MessagePair::sections_of(std::size_t which) const {
  std::vector<Section> made;
  std::int64_t at = 0;  // of the pair's bytes in the message
  bool open = false;
  for (std::size_t pair = 0; pair < schedules().size(); ++pair) {
    const PairSchedule& schedule = (*schedules()[pair])[which];
    for (std::size_t i = 0; i < schedule.transfers().size(); ++i) {
      const MatchedTransfer& transfer = schedule.transfers()[i];
      const std::int64_t bytes = transfer.mine.size_bytes();
      const std::int64_t begin = at + transfer.packed_at;
      if (transfer.dense && bytes >= kShortestPiece) {
        for (std::int64_t from = 0; from < bytes; from += kMostOfPiece) {
          const ByteRange part{from, std::min(from + kMostOfPiece, bytes)};
          made.push_back({{begin + part.begin, begin + part.end},
                          {{pair, {i, i + 1, part}}},
                          &transfer,
                          part});
        }
        open = false;
        continue;
      }
      const std::int64_t parts = std::max<std::int64_t>(bytes / kSection, 1);
      if (parts > 1) {
        const std::int64_t longest = whole_lines((bytes + parts - 1) / parts);
        for (std::int64_t from = 0; from < bytes; from += longest) {
          const ByteRange part{from, std::min(from + longest, bytes)};
          made.push_back(
              {{begin + part.begin, begin + part.end}, {{pair, {i, i + 1, part}}}, nullptr, {}});
        }
        open = false;
        continue;
      }
      if (!open) made.push_back({{begin, begin}, {}, nullptr, {}});
      open = true;
      Section& section = made.back();
      if (section.slices.empty() || section.slices.back().pair != pair)
        section.slices.push_back({pair, {i, i, ByteRange::all()}});
      section.slices.back().slice.last = i + 1;
      section.bytes.end = begin + bytes;
      open = section.bytes.size() < kSection;
    }
    at += schedule.packed_bytes();
  }
  return made;
}

/// Pinned where a device packs, unless the MPI library sends device memory.
Place MessagePair::memory_of(std::size_t which) const noexcept {
  for (const Schedules* const pair : schedules()) {
    const PairSchedule& schedule = (*pair)[which];
    if (!schedule.on_device()) continue;
    const bool aware = transport_ == Transport::Device;
    return {aware ? MemoryKind::Device : MemoryKind::Pinned, schedule.place().device};
  }
  return {};
}

void MessagePair::open(Message& message, std::size_t which, bool sends) {
  if (!message.requests.empty()) return;
  const Place place = memory_of(which);
  message.sections = sections_of(which);
  // Values that come back may have to be combined.
  const bool may_combine = !sends && which == kSends;
  const bool is_packed =
      may_combine || std::ranges::any_of(message.sections,
                                         [](const Section& one) { return one.piece == nullptr; });
  const std::int64_t bytes = is_packed ? packed_bytes(which) : 0;
  try {
    if (is_packed) message.packed = PoolBlock(place, bytes);
  } catch (const OutOfMemory& error) {
    if (place.kind == MemoryKind::Host) throw;
    log::info("an exchange with rank {} is copied once more: {}", peer_, error.what());
    message.packed = PoolBlock({}, bytes);
  }
  const mpi::RealMpi& real = mpi::real_mpi();
  for (const Section& section : message.sections) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (section.piece != nullptr) {
      // Begun anew in each round, since arrays may alternate.
      message.requests.push_back(request);
      continue;
    }
    std::byte* const data = message.packed.data() + section.bytes.begin;
    const auto count = static_cast<int>(section.bytes.size());
    if (sends) {
      mpi::check(real.MPI_Send_init(data, count, MPI_BYTE, peer_, out_tag_, comm_, &request),
                 "MPI_Send_init");
    } else {
      mpi::check(real.MPI_Recv_init(data, count, MPI_BYTE, peer_, in_tag_, comm_, &request),
                 "MPI_Recv_init");
    }
    message.requests.push_back(request);
  }
}

std::byte* MessagePair::packed_bytes_of(const Message& message, std::size_t which,
                                        std::size_t pair) const {
  std::byte* at = message.packed.data();
  if (at == nullptr) return nullptr;
  for (std::size_t i = 0; i < pair; ++i) at += (*schedules()[i])[which].packed_bytes();
  return at;
}

std::byte* MessagePair::piece_of(const Section& section, bool sends) const noexcept {
  if (section.piece == nullptr || (!sends && !round().combine.empty())) return nullptr;
  return round().bases[static_cast<std::size_t>(section.piece->array)] +
         section.piece->mine.bounds().begin + section.part.begin;
}

void MessagePair::begin(Message& message, std::size_t number, bool sends) {
  const mpi::RealMpi& real = mpi::real_mpi();
  const Section& section = message.sections[number];
  MPI_Request& request = message.requests[number];
  if (section.piece == nullptr) return mpi::check(real.MPI_Start(&request), "MPI_Start");
  std::byte* data = piece_of(section, sends);
  if (data == nullptr) data = message.packed.data() + section.bytes.begin;
  const auto count = static_cast<int>(section.bytes.size());
  if (sends)
    mpi::check(real.MPI_Isend(data, count, MPI_BYTE, peer_, out_tag_, comm_, &request),
               "MPI_Isend");
  else
    mpi::check(real.MPI_Irecv(data, count, MPI_BYTE, peer_, in_tag_, comm_, &request), "MPI_Irecv");
}

void MessagePair::pack_section(const Message& message, const Section& section) {
  if (piece_of(section, true) != nullptr) return;
  for (const auto& [pair, slice] : section.slices)
    (*schedules()[pair])[out()].pack(round().bases, packed_bytes_of(message, out(), pair), true,
                                     message.packed.place(), slice);
}

void MessagePair::unpack_section(const Message& message, const Section& section) {
  if (piece_of(section, false) != nullptr) return;
  // Nothing is read in place, so nothing is refused.
  for (const auto& [pair, slice] : section.slices)
    (void)(*schedules()[pair])[in()].unpack(round().bases, packed_bytes_of(message, in(), pair), {},
                                            round().combine, message.packed.place(), slice);
}

bool MessagePair::is_section_idle(std::size_t which, const Section& section) {
  return std::ranges::all_of(section.slices, [&](const PairSlice& part) {
    return (*schedules()[part.pair])[which].idle(part.slice);
  });
}

/// Whether no device copies from or to this object's memory.
bool MessagePair::is_device_done() const noexcept {
  try {
    return PairTransfer::is_idle(kSends) && PairTransfer::is_idle(kReceives);
  } catch (...) {
    return false;  // the device has failed
  }
}

void MessagePair::close(Message& message, bool sends, Clock::time_point until) noexcept {
  const mpi::RealMpi& real = mpi::real_mpi();
  for (std::size_t i = 0; i < message.requests.size(); ++i) {
    MPI_Request& request = message.requests[i];
    if (request == MPI_REQUEST_NULL) continue;
    const bool active = message.ended <= i && i < message.started;
    if (active && sends && message.sections[i].piece != nullptr) {
      int done = 0;
      while (done == 0 && Clock::now() < until)
        if (real.MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) break;
    } else if (active && sends) {
      message.packed.leak();  // the MPI library may read it for an unknown time
    } else if (active) {
      (void)real.MPI_Cancel(&request);
      (void)real.MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (request != MPI_REQUEST_NULL) (void)real.MPI_Request_free(&request);
  }
  message.ended = message.started;
}

/// The program may free its arrays from now on.
void MessagePair::cancel() noexcept {
  const Clock::time_point until = Clock::now() + kSendPatience;
  for (Message& message : receives_) close(message, false, until);
  for (Message& message : sends_) close(message, true, until);
}

MessagePair::~MessagePair() {
  if (!is_device_done())
    for (auto* const messages : {&sends_, &receives_})
      for (Message& message : *messages) message.packed.leak();
  int over = 0;
  mpi::real_mpi().MPI_Finalized(&over);
  if (over != 0) return;
  const Clock::time_point until = Clock::now() + kSendPatience;
  for (Message& message : receives_) close(message, false, until);
  for (Message& message : sends_) close(message, true, until);
}

void MessagePair::expect() {
  Message& message = receives_[in()];
  open(message, in(), false);
  message.started = message.ended = 0;
  // One by one, as the sections come: all have one tag.
  for (; message.started < message.requests.size(); ++message.started)
    begin(message, message.started, false);
}

bool MessagePair::may_be_packed_by(Place device, std::size_t which) const {
  return transport_ == Transport::OneShot && schedules().size() == 1 &&
         schedule(which).place() == device && sections_of(which).size() == 1;
}

std::byte* MessagePair::let_device_pack(std::size_t which, std::function<bool()> is_packed) {
  Message& message = sends_[which];
  open(message, which, true);
  if (message.packed.place().kind == MemoryKind::Host) return nullptr;
  message.is_packed = std::move(is_packed);
  return message.packed.data();
}

void MessagePair::leak() noexcept {
  for (Message& message : sends_) message.packed.leak();
}

bool MessagePair::pack() {
  Message& message = sends_[out()];
  open(message, out(), true);
  message.begun = message.started = message.ended = 0;
  if (message.is_packed) return true;
  for (const Section& section : message.sections) {
    pack_section(message, section);
    ++message.begun;
    // One section is on its way while the next is packed.
    if (message.sections.size() > 1) LaunchBatcher::get().launch();
    send_packed(message);
  }
  return true;
}

/// Sends the sections that are packed, in their order.
void MessagePair::send_packed(Message& message) {
  while (message.started < message.begun &&
         is_section_idle(out(), message.sections[message.started])) {
    begin(message, message.started, true);
    ++message.started;
  }
}

bool MessagePair::is_packed() {
  Message& message = sends_[out()];
  if (message.is_packed && message.begun == 0 && message.is_packed())
    message.begun = message.sections.size();
  send_packed(message);
  return message.started == message.sections.size();
}

bool MessagePair::post() { return false; }

PairTransfer::Completion MessagePair::poll_sent() {
  Message& message = sends_[out()];
  int done = 0;
  mpi::check(mpi::real_mpi().MPI_Testall(static_cast<int>(message.requests.size()),
                                         message.requests.data(), &done, MPI_STATUSES_IGNORE),
             "MPI_Testall");
  if (done == 0) return Completion::Pending;
  message.ended = message.started;
  return Completion::Done;
}

bool MessagePair::poll() {
  Message& message = receives_[in()];
  while (message.ended < message.sections.size()) {
    int done = 0;
    mpi::check(mpi::real_mpi().MPI_Test(&message.requests[message.ended], &done, MPI_STATUS_IGNORE),
               "MPI_Test");
    if (done == 0) return false;
    unpack_section(message, message.sections[message.ended++]);
    if (message.sections.size() > 1) LaunchBatcher::get().launch();
  }
  return true;
}

std::string MessagePair::describe() const {
  const bool on_device = memory_of(kSends).kind != MemoryKind::Host;
  const Transport packs = on_device ? transport_ : Transport::Pack;
  const std::vector<Section> sections = sections_of(kSends);
  const auto pieces = static_cast<std::size_t>(
      std::ranges::count_if(sections, [](const Section& one) { return one.piece != nullptr; }));
  const std::size_t packed = sections.size() - pieces;
  if (packed == 0 && pieces > 0) return fmt::format("{} messages from where they lie", pieces);
  const std::string cut = packed > 1 ? fmt::format(" in {} sections", packed) : "";
  const std::string from_there =
      pieces > 0 ? fmt::format(", beside {} from where they lie", pieces) : "";
  const char* const beside = sends_[kSends].is_packed ? " by the launch that puts" : "";
  return fmt::format("one message each way{}, {}{}{}", cut, machine::facts_of(packs).describe,
                     from_there, beside);
}

}  // namespace strake::exchange::planned
