#include "interpose/staging.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "exchange/transport/mixed.hpp"
#include "interpose/errors.hpp"
#include "interpose/examine.hpp"
#include "mpi/neighbours.hpp"
#include "mpi/peers.hpp"
#include "mpi/real_mpi.hpp"
#include "mpi/types.hpp"
#include "settings/log.hpp"
#include "strake/error.hpp"

namespace strake::interpose {
namespace {

using exchange::Typed;

constexpr ByteRange kNothing{0, 0};

/// The ranks that a call is between.
class Ranks {
 public:
  /// \throws MpiError  it is no communicator, which the MPI library has raised
  explicit Ranks(MPI_Comm comm) : comm_(comm), inter_(mpi::is_inter(comm)) {
    ask(real_mpi().MPI_Comm_rank(comm, &rank_));
    ask(real_mpi().MPI_Comm_size(comm, &size_));
    peers_ = size_;
    if (inter_) ask(real_mpi().MPI_Comm_remote_size(comm, &peers_));
  }
  /// This rank alone, for a call without a communicator.
  Ranks() = default;

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] int peers() const noexcept { return peers_; }
  /// Whether this rank uses such a buffer in a call with that root.
  [[nodiscard]] bool use(UsedBy used_by, int root) const noexcept {
    if (used_by == UsedBy::All) return true;
    const bool is_root = inter_ ? root == MPI_ROOT : root == rank_;
    if (used_by == UsedBy::Root) return is_root;
    return !inter_ || (!is_root && root != MPI_PROC_NULL);
  }
  /// The neighbours in a topology; none without one.
  [[nodiscard]] mpi::Neighbours neighbours() const {
    return mpi::neighbours_of(comm_).value_or(mpi::Neighbours{});
  }

 private:
  static void ask(int code) { mpi::check(code, "the query of a communicator"); }

  MPI_Comm comm_ = MPI_COMM_NULL;
  bool inter_ = false;
  int rank_ = 0;
  int size_ = 1;
  int peers_ = 1;
};

/// One of a call's buffers, as its arguments describe it: blocks of elements.
class Described {
 public:
  Described(const BufferShape& shape, std::span<const Argument> arguments, const Ranks& ranks,
            bool in_place)
      : shape_(shape), arguments_(arguments), rank_(ranks.rank()) {
    switch (shape.blocks) {
      case Blocks::One:
        break;
      case Blocks::Peers:
        blocks_ = ranks.peers();
        break;
      case Blocks::Own:
        if (!in_place) {
          first_ = count_argument().is_array() ? ranks.rank() : 0;
          break;
        }
        [[fallthrough]];
      case Blocks::Ranks:
        blocks_ = ranks.size();
        break;
      case Blocks::Sources:
        blocks_ = static_cast<int>(ranks.neighbours().sources.size());
        break;
      case Blocks::Destinations:
        blocks_ = static_cast<int>(ranks.neighbours().destinations.size());
        break;
    }
  }

  [[nodiscard]] std::byte* address() const noexcept {
    // The arguments are of type void* and const void*.
    return const_cast<std::byte*>(
        static_cast<const std::byte*>(argument(shape_.address).as<const void*>()));
  }
  /// Where the elements lie, if that is in a device's memory, all or in part.
  /// \throws MpiError  a datatype there can't be decoded: the error was raised
  [[nodiscard]] std::optional<Typed> in_device(MPI_Comm comm) {
    if (!one_by_one()) return whole(comm);
    const std::int64_t first = first_with_bytes();
    if (first < 0) return std::nullopt;
    // Other blocks lie elsewhere only under MPI_BOTTOM (exchange::one_place()).
    if (address() != MPI_BOTTOM) {
      mpi::TypeRecord* const record = known(first, comm);
      if (record == nullptr) return std::nullopt;
      const Layout& layout = record->elements(count(first))->layout();
      const std::int64_t offset = displacement(first, *record) + layout.offset();
      if (classify(at(offset)).kind != MemoryKind::Device) return std::nullopt;
    }
    std::vector<Layout> parts;
    for (std::int64_t i = 0; i < blocks_; ++i) {
      if (i == rank_) own_.begin = bytes_;
      if (count(i) > 0) {
        mpi::TypeRecord* const record = known(i, comm);
        if (record == nullptr) return std::nullopt;
        const mpi::ElementsPtr elements = record->elements(count(i));
        const ByteRange bounds = elements->layout().bounds();
        if (address() != MPI_BOTTOM) {
          reach_.begin = std::min(reach_.begin, bounds.begin);
          reach_.end = std::max(reach_.end, bounds.end);
        }
        parts.push_back(elements->layout().shifted(displacement(i, *record)));
        bytes_ += elements->size_bytes();
      }
      if (i == rank_) own_.end = bytes_;
    }
    return placed(std::make_shared<mpi::Elements>(Layout::sequence(parts)));
  }
  /// After in_device(): this rank's block, in packed order.
  [[nodiscard]] ByteRange own_block() const noexcept { return own_; }
  /// After in_device(): where blocks lie by the buffer's address and without their displacements.
  /// (Open MPI 4.1: MPI_Alltoallw on one rank forgets these.)
  [[nodiscard]] ByteRange reach() const noexcept { return reach_; }

 private:
  [[nodiscard]] const Argument& argument(std::int8_t place) const noexcept {
    return arguments_[static_cast<std::size_t>(place)];
  }
  [[nodiscard]] const Argument& count_argument() const noexcept { return argument(shape_.count); }
  [[nodiscard]] const void* at(std::int64_t offset) const noexcept {
    return reinterpret_cast<const void*>(address_of(address(), offset));
  }
  /// Whether blocks need not lie side by side.
  [[nodiscard]] bool one_by_one() const noexcept { return shape_.displacements != kNone; }
  [[nodiscard]] std::int64_t count(std::int64_t i) const noexcept {
    return count_argument().is_array() ? count_argument().number(first_ + i)
                                       : count_argument().number();
  }
  [[nodiscard]] MPI_Datatype type(std::int64_t i) const noexcept {
    const Argument& types = argument(shape_.type);
    return shape_.types_of_blocks ? types.as<const MPI_Datatype*>()[i] : types.as<MPI_Datatype>();
  }
  /// [bytes]
  [[nodiscard]] std::int64_t displacement(std::int64_t i, const mpi::TypeRecord& record) const {
    const std::int64_t by = argument(shape_.displacements).number(i);
    return shape_.types_of_blocks ? by : by * record.info().extent;
  }
  /// -1: no block has bytes, or the MPI library is to refuse the call.
  [[nodiscard]] std::int64_t first_with_bytes() const {
    for (std::int64_t i = 0; i < blocks_; ++i) {
      if (count(i) > 0 && mpi::known_size(type(i)) != 0) return i;
    }
    return -1;
  }
  /// The record of a block's datatype. Null where that is not known, and the MPI library can have
  /// the buffer.
  mpi::TypeRecord* known(std::int64_t i, MPI_Comm comm) const {
    const MPI_Datatype handle = type(i);
    if (handle == MPI_DATATYPE_NULL) return nullptr;
    mpi::TypeRecord* const record = mpi::find_type(handle);
    if (record != nullptr && record->ready(handle, 1, mpi::Use::Often) && record->decodable())
      return record;
    if (classify(address()).kind != MemoryKind::Device) return nullptr;
    log::warn("elements in the memory of a device can't be copied: their datatype {}",
              record == nullptr ? "was never committed" : "can't be decoded");
    raise(comm, MPI_ERR_TYPE);
    throw MpiError("a datatype is not known", MPI_ERR_TYPE);
  }
  /// in_device() of blocks that lie side by side.
  std::optional<Typed> whole(MPI_Comm comm) {
    std::int64_t total = 0;
    if (count_argument().is_array()) {
      for (std::int64_t i = 0; i < blocks_; ++i) total += std::max<std::int64_t>(count(i), 0);
    } else {
      total = count(0) * blocks_;
    }
    if (total <= 0 || type(0) == MPI_DATATYPE_NULL) return std::nullopt;
    mpi::TypeRecord* const record = known(0, comm);
    if (record == nullptr) return std::nullopt;
    if (record->contiguous() && classify(address()).kind != MemoryKind::Device &&
        address() != MPI_BOTTOM)
      return std::nullopt;
    const std::int64_t block = count(0) * record->size_bytes();
    own_ = {rank_ * block, (rank_ + 1) * block};
    return placed(record->elements(total));
  }
  std::optional<Typed> placed(mpi::ElementsPtr elements) const {
    if (elements->size_bytes() == 0) return std::nullopt;
    Typed typed{std::move(elements), address(), {}, false};
    const Layout& layout = typed.elements->layout();
    typed.mixed = !exchange::one_place(layout, typed.address, typed.place);
    bool device = typed.place.kind == MemoryKind::Device;
    if (typed.mixed && !device) {
      layout.for_each_block([&](std::int64_t offset, std::int64_t /*length*/) {
        device = device || classify(at(offset)).kind == MemoryKind::Device;
      });
    }
    return device ? std::optional(std::move(typed)) : std::nullopt;
  }

  const BufferShape& shape_;
  std::span<const Argument> arguments_;
  int rank_;
  std::int64_t blocks_ = 1;
  std::int64_t first_ = 0;  ///< of the counts
  std::int64_t bytes_ = 0;
  ByteRange own_ = kNothing;
  ByteRange reach_ = kNothing;
};

bool is_in_place(const BufferShape& shape, std::span<const Argument> arguments) {
  return shape.address != kNone &&
         arguments[static_cast<std::size_t>(shape.address)].as<const void*>() == MPI_IN_PLACE;
}

/// Returns the bytes, in packed order, that the call needs of its received buffer before it begins.
ByteRange read_before(const CollectiveShape& shape, const Ranks& ranks, bool in_place,
                      ByteRange own_block) {
  if (in_place) return shape.before == Before::OwnBlock ? own_block : ByteRange::all();
  const bool all =
      shape.before == Before::All || (shape.before == Before::FirstRank && ranks.rank() == 0);
  return all ? ByteRange::all() : kNothing;
}

}  // namespace

std::unique_ptr<Staged> stage(Function function, const CollectiveShape& shape,
                              std::span<const Argument> arguments, Uses uses) {
  const bool has_comm = shape.comm != kNone;
  const MPI_Comm comm =
      has_comm ? arguments[static_cast<std::size_t>(shape.comm)].as<MPI_Comm>() : MPI_COMM_WORLD;
  const Ranks ranks = has_comm ? Ranks(comm) : Ranks();
  const int root = shape.root != kNone ? arguments[static_cast<std::size_t>(shape.root)].as<int>()
                                       : MPI_PROC_NULL;
  const bool gives_in_place = is_in_place(shape.sent, arguments);
  std::unique_ptr<Staged> staged;
  const auto made = [&]() -> Staged& {
    if (staged == nullptr) staged = std::make_unique<Staged>(function, comm);
    return *staged;
  };
  if (shape.sent.address != kNone && !gives_in_place && ranks.use(shape.sent.used_by, root)) {
    Described buffer(shape.sent, arguments, ranks, false);
    if (auto typed = buffer.in_device(comm))
      made().sent = std::make_unique<Staged::Buffer>(std::move(*typed), buffer.reach(),
                                                     ByteRange::all(), false);
  }
  const bool sends_it = shape.broadcasts && ranks.use(UsedBy::Root, root);
  const bool used = shape.broadcasts ? sends_it || ranks.use(UsedBy::Others, root)
                                     : ranks.use(shape.received.used_by, root);
  if (used && !is_in_place(shape.received, arguments)) {
    Described buffer(shape.received, arguments, ranks, gives_in_place);
    if (auto typed = buffer.in_device(comm)) {
      const ByteRange read = sends_it || uses == Uses::Many
                                 ? ByteRange::all()
                                 : read_before(shape, ranks, gives_in_place, buffer.own_block());
      made().received =
          std::make_unique<Staged::Buffer>(std::move(*typed), buffer.reach(), read, !sends_it);
    }
  }
  return staged;
}

Staged::~Staged() {
  if (!begun_) return;
  (void)sent.release();
  (void)received.release();
}

void Staged::begin() {
  std::int64_t bytes = 0;
  for (Buffer* const buffer : {sent.get(), received.get()}) {
    if (buffer == nullptr) continue;
    bytes += buffer->mirror.size_bytes();
    if (buffer->written) buffer->mirror.mark();
    buffer->mirror.copy_in(buffer->read);
  }
  begun_ = true;
  note(function_, Transport::Staged, Reason::None, bytes);
}

void Staged::end() {
  if (!std::exchange(begun_, false)) return;
  if (received && received->written) received->mirror.copy_back();
}

}  // namespace strake::interpose
