#include "mpi/types.hpp"

#include <algorithm>
#include <bit>
#include <exception>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "device/backend.hpp"
#include "memory/handle_map.hpp"
#include "mpi/quirks.hpp"
#include "mpi/real_mpi.hpp"
#include "mpi/world.hpp"
#include "settings/log.hpp"
#include "settings/settings.hpp"
#include "state/process_state.hpp"
#include "strake/error.hpp"

namespace strake::mpi {
namespace {

/// Counts whose elements a record keeps. Programs use few counts of a type; each has its own plans.
constexpr std::size_t kCountsPerType = 16;

/// Every type may take this long to decode, in units of decode_within: 5 us, a list of 64 blocks.
constexpr std::int64_t kLittleWork = 128;
/// A list is decoded when the MPI library has moved it so often, which took about as long as
/// decoding and compiling take. hindexed lists of 1000 and 100,000 blocks of 8 to 24 B took 47 us
/// and 10 ms to decode and compile, each pack by Open MPI 4.4 us and 0.8 ms, by MPICH 1.2 us and
/// 0.5 ms.
constexpr double kUsesPerDecode = 16;
/// Amount that the MPI library copies in the time of one unit of decode_within, if blocks are long.
/// [bytes]
constexpr double kBytesPerWork = 600;

/// Amount that a type moves as long as it is new: making a record and its first plan takes about as
/// long as the MPI library takes for that. Each use counts as kNewUse more. [bytes]
constexpr std::int64_t kNewMoves = 16 << 10;
constexpr std::int64_t kNewUse = 1 << 10;

using RecordPtr = std::shared_ptr<TypeRecord>;

struct Known {
  RecordPtr record;             ///< null: it is new
  std::int64_t references = 1;  ///< how often the program must free the handle
  std::int64_t size = -1;       ///< of an element, once asked for [bytes]
  std::int64_t moved = 0;       ///< as long as it is new [bytes]
};

struct TypeRegistry {
  std::mutex mutex;
  HandleMap<Known> types;
};

/// 0 if the library returns an error: then decoding fails as well. [bytes]
std::int64_t bytes_of(MPI_Datatype type) {
  MPI_Count size = 0;
  return real_mpi().MPI_Type_size_x(type, &size) == MPI_SUCCESS ? size : 0;
}

/// Enters types that need no commit.
void add_types(TypeRegistry& registry, std::initializer_list<MPI_Datatype> types) {
  for (const MPI_Datatype type : types) {
    if (type == MPI_DATATYPE_NULL) continue;  // a kind that this library was built without
    auto record = std::make_shared<TypeRecord>(bytes_of(type));
    record->decode(type, INT64_MAX);
    registry.types.add(key_of(type)).record = std::move(record);
  }
}

void add_types_of_c(TypeRegistry& registry) {
  add_types(registry, {MPI_CHAR,
                       MPI_SIGNED_CHAR,
                       MPI_UNSIGNED_CHAR,
                       MPI_BYTE,
                       MPI_WCHAR,
                       MPI_SHORT,
                       MPI_UNSIGNED_SHORT,
                       MPI_INT,
                       MPI_UNSIGNED,
                       MPI_LONG,
                       MPI_UNSIGNED_LONG,
                       MPI_FLOAT,
                       MPI_DOUBLE,
                       MPI_LONG_DOUBLE,
                       MPI_LONG_LONG,
                       MPI_UNSIGNED_LONG_LONG,
                       MPI_PACKED,
                       MPI_INT8_T,
                       MPI_INT16_T,
                       MPI_INT32_T,
                       MPI_INT64_T,
                       MPI_UINT8_T,
                       MPI_UINT16_T,
                       MPI_UINT32_T,
                       MPI_UINT64_T,
                       MPI_C_BOOL,
                       MPI_C_FLOAT_COMPLEX,
                       MPI_C_DOUBLE_COMPLEX,
                       MPI_C_LONG_DOUBLE_COMPLEX,
                       MPI_AINT,
                       MPI_OFFSET,
                       MPI_COUNT,
                       MPI_FLOAT_INT,
                       MPI_DOUBLE_INT,
                       MPI_LONG_INT,
                       MPI_2INT,
                       MPI_SHORT_INT,
                       MPI_LONG_DOUBLE_INT});
}

void add_types_of_fortran(TypeRegistry& registry) {
  add_types(registry,
            {MPI_CHARACTER, MPI_LOGICAL,        MPI_INTEGER,  MPI_REAL,      MPI_DOUBLE_PRECISION,
             MPI_COMPLEX,   MPI_DOUBLE_COMPLEX, MPI_2INTEGER, MPI_2REAL,     MPI_2DOUBLE_PRECISION,
             MPI_INTEGER1,  MPI_INTEGER2,       MPI_INTEGER4, MPI_INTEGER8,  MPI_REAL4,
             MPI_REAL8,     MPI_REAL16,         MPI_COMPLEX8, MPI_COMPLEX16, MPI_COMPLEX32});
}

void add_predefined(TypeRegistry& registry) {
  add_types_of_c(registry);
  add_types_of_fortran(registry);
  add_types(registry, {MPI_CXX_BOOL, MPI_CXX_FLOAT_COMPLEX, MPI_CXX_DOUBLE_COMPLEX,
                       MPI_CXX_LONG_DOUBLE_COMPLEX});
#ifdef MPI_2COMPLEX  // Open MPI has it, and these
  add_types(registry, {MPI_LOGICAL1, MPI_LOGICAL2, MPI_LOGICAL4, MPI_LOGICAL8, MPI_2COMPLEX,
                       MPI_2DOUBLE_COMPLEX});
#endif
}

TypeRegistry& type_registry() {
  struct Filled {
    TypeRegistry registry;
    Filled() { add_predefined(registry); }
  };
  return ProcessState::part<Filled>().registry;
}

/// The record that a handle has, or null: `*is_known` says whether the type is new then.
RecordPtr record_of(MPI_Datatype type, bool* is_known = nullptr) {
  TypeRegistry& known = type_registry();
  const Lock lock(known.mutex);
  const Known* const found = known.types.find(key_of(type));
  if (is_known != nullptr) *is_known = found != nullptr;
  return found != nullptr ? found->record : nullptr;
}

bool same_type(const TypeRecord& a, const TypeRecord& b) {
  if (a.waits() || b.waits()) return false;
  if (!a.decodable() || !b.decodable()) return a.decodable() == b.decodable();
  const TypeInfo& x = a.info();
  const TypeInfo& y = b.info();
  return x.size == y.size && x.lb == y.lb && x.extent == y.extent &&
         x.element_bytes == y.element_bytes && x.layout == y.layout;
}

/// Gives a handle a record; null removes it. A record of the same type stays: it may be in use.
void assign(MPI_Datatype type, RecordPtr record) {
  Known replaced;  // destroyed after the lock is released
  TypeRegistry& known = type_registry();
  const Lock lock(known.mutex);
  if (record == nullptr) {
    if (Known* const found = known.types.find(key_of(type))) replaced = std::move(*found);
    known.types.erase(key_of(type));
  } else {
    Known& entry = known.types.add(key_of(type));
    if (entry.record != nullptr && same_type(*entry.record, *record)) return;
    replaced = std::exchange(entry, Known{std::move(record)});
  }
  g_type_generation.fetch_add(1, std::memory_order_release);
}

/// The record of a type that is new; or the one that another thread has just made.
TypeRecord* make_record(MPI_Datatype type) {
  auto record = std::make_shared<TypeRecord>(bytes_of(type));
  record->decode(type, kLittleWork);
  TypeRegistry& known = type_registry();
  const Lock lock(known.mutex);
  Known& entry = known.types.add(key_of(type));
  if (entry.record == nullptr) entry.record = std::move(record);
  return entry.record.get();
}

std::shared_ptr<const TypeInfo> info_of(RecordPtr record) {
  if (record == nullptr || record->waits() || !record->decodable()) return nullptr;
  const TypeInfo& info = record->info();
  return {std::move(record), &info};
}

std::shared_ptr<const TypeInfo> known_info(MPI_Datatype type) {
  RecordPtr record = record_of(type);
  if (record != nullptr && !record->waits() && !record->decodable())
    throw Unsupported("a datatype inside it is left to the MPI library");
  return info_of(std::move(record));
}

/// TypeRecord::uneven for elements of this size.
bool is_uneven(std::int64_t element_bytes) noexcept {
  return quirks::kPiecesMustEndWithElements &&
         (element_bytes <= 0 || element_bytes > 16 ||
          !std::has_single_bit(static_cast<std::uint64_t>(element_bytes)));
}

/// Whether no type may wait. With a device: the MPI library may not reach its memory. With a forced
/// transport: that holds for all messages.
bool nothing_waits() noexcept {
  static const bool forced = [] {
    const std::string_view method = settings::text(settings::Id::method);
    return method != "auto" && method != "library" && method != "system";
  }();
  return forced || device_backend() != nullptr;
}

}  // namespace

bool TypeRecord::decode(MPI_Datatype type, std::int64_t most_work) {
  std::optional<TypeInfo> info;
  try {
    work_ = most_work;
    info = decode_within(type, known_info, work_);
    if (!info) return false;
  } catch (const std::exception& error) {
    log::info("a datatype is left to the MPI library: {}", error.what());
  }
  if (info) set(std::move(*info));
  waits_.store(false, std::memory_order_release);
  return true;
}

bool TypeRecord::can_wait(MPI_Datatype type, Use use) {
  if (use == Use::Often || nothing_waits()) return false;
  if (quirks::kPiecesMustEndWithElements && use == Use::Receive) {
    try {
      if (!elements_are_known_) uneven_ = is_uneven(element_bytes(type));
      elements_are_known_ = true;
      return !uneven_;
    } catch (const std::exception&) {
      return false;  // decoding fails as well, and logs why
    }
  }
  return true;
}

bool TypeRecord::decode_if_it_pays(MPI_Datatype type, std::int64_t count, Use use) {
  const std::lock_guard lock(mutex_);
  if (!waits()) return true;  // another thread has just decoded it
  constexpr double kEnough = 1e15;
  const double each = std::max(static_cast<double>(work_) / kUsesPerDecode,
                               static_cast<double>(size_bytes_) / kBytesPerWork);
  library_work_ = std::min(library_work_ + static_cast<double>(count) * each, kEnough);
  if (!can_wait(type, use)) return decode(type, INT64_MAX);
  const auto worth = static_cast<std::int64_t>(library_work_);
  return worth >= work_ && decode(type, worth + kLittleWork);
}

void TypeRecord::doubt() {
  const std::lock_guard lock(mutex_);
  elements_are_known_ = false;
}

void TypeRecord::set(TypeInfo info) {
  info_ = std::move(info);
  decodable_ = true;
  contiguous_ =
      info_.layout.kind() == Layout::Kind::Empty ||
      (info_.layout.is_dense() && info_.layout.offset() == 0 && info_.extent == info_.size);
  uneven_ = is_uneven(info_.element_bytes);
}

ElementsPtr TypeRecord::elements(std::int64_t count, bool* kept) {
  const std::lock_guard lock(mutex_);
  if (kept != nullptr) *kept = true;
  for (const Entry& entry : kept_) {
    if (entry.count == count) return entry.elements;
  }
  auto made = std::make_shared<Elements>(layout_for_count(info_, count));
  if (kept_.size() < kCountsPerType) {
    kept_.push_back({count, made});
  } else if (kept != nullptr) {
    *kept = false;
  }
  return made;
}

namespace {

/// Whether a type that is new stays so although `count` elements of it are used.
bool stays_new(Known& known, std::int64_t count, Use use) {
  if (known.size > kNewMoves || count > kNewMoves) return false;
  const std::int64_t bytes = known.size * count;
  if (use == Use::Receive && quirks::kPiecesMustEndWithElements && bytes > quirks::kOnePiece)
    return false;  // its elements have to be known
  known.moved += bytes + kNewUse;
  return known.moved <= kNewMoves;
}

/// The record of a type that was just committed; null: it is new.
RecordPtr know(MPI_Datatype type) {
  TypeRegistry& all = type_registry();
  const Lock lock(all.mutex);
  Known& known = all.types.add(key_of(type));
  known.size = -1;
  known.moved = 0;
  return known.record;
}

}  // namespace

InUse use_type(MPI_Datatype type, std::int64_t count, Use use) {
  TypeRegistry& all = type_registry();
  const bool may_stay = use != Use::Often && !nothing_waits();
  for (std::int64_t size = -1;; size = bytes_of(type)) {
    const Lock lock(all.mutex);
    Known* const known = all.types.find(key_of(type));
    if (known == nullptr) return {};
    if (known->record != nullptr) return {known->record.get()};
    if (!may_stay) break;
    if (size >= 0) known->size = size;
    if (known->size < 0) continue;  // asked for without the lock: the library may call back
    if (stays_new(*known, count, use)) return {nullptr, known->size};
    break;
  }
  return {make_record(type)};
}

TypeRecord* find_type(MPI_Datatype type) { return use_type(type, 1, Use::Often).record; }

std::int64_t known_size(MPI_Datatype type) {
  bool is_known = false;
  const RecordPtr record = record_of(type, &is_known);
  if (record != nullptr) return record->size_bytes();
  return is_known ? bytes_of(type) : -1;
}

std::shared_ptr<const TypeInfo> decoded(MPI_Datatype type) { return info_of(record_of(type)); }

void add_type(MPI_Datatype type) noexcept {
  try {
    const RecordPtr before = know(type);
    if (before == nullptr || before->predefined()) return;
    const std::int64_t size = bytes_of(type);
    // The record may be in use. While it waits it fits any type of that size.
    if (before->waits() && before->size_bytes() == size) return before->doubt();
    auto record = std::make_shared<TypeRecord>(size);
    // If the handle had a decoded type, decode this one at once: assign() compares them.
    record->decode(type, before->waits() ? kLittleWork : INT64_MAX);
    assign(type, std::move(record));
  } catch (const std::exception& error) {
    log::warn("a datatype is left to the MPI library: {}", error.what());
  }
}

void add_duplicate(MPI_Datatype of, MPI_Datatype made) noexcept {
  try {
    bool known = false;
    const RecordPtr record = record_of(of, &known);
    // A predefined type's record is not for its duplicate, which can be freed.
    // Nor is one that waits, which is decoded through its handle.
    const bool own = known && (record == nullptr || record->predefined() || record->waits());
    own ? add_type(made) : assign(made, record);
  } catch (const std::exception& error) {
    log::warn("a duplicated datatype is left to the MPI library: {}", error.what());
  }
}

void add_reference(MPI_Datatype type) noexcept {
  TypeRegistry& known = type_registry();
  const Lock lock(known.mutex);
  if (Known* const found = known.types.find(key_of(type))) ++found->references;
}

void remove_type(MPI_Datatype type) noexcept {
  RecordPtr dropped;  // goes when the lock is released
  TypeRegistry& known = type_registry();
  const Lock lock(known.mutex);
  Known* const found = known.types.find(key_of(type));
  if (found == nullptr || (found->record != nullptr && found->record->predefined()) ||
      --found->references > 0)
    return;
  dropped = std::move(found->record);
  known.types.erase(key_of(type));
  if (dropped != nullptr) g_type_generation.fetch_add(1, std::memory_order_release);
}

}  // namespace strake::mpi
