#include "mpi/types.hpp"

#include <bit>
#include <exception>
#include <unordered_map>
#include <utility>

#include "mpi/quirks.hpp"
#include "settings/log.hpp"
#include "strake/error.hpp"

namespace strake::mpi {
namespace {

/// Counts remembered per type: programs use few, and each costs a plan.
constexpr std::size_t kCountsPerType = 16;

using RecordPtr = std::shared_ptr<TypeRecord>;

struct Known {
  RecordPtr record;
  std::int64_t references = 1;  ///< how often the program must free the handle
};

struct Registry {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, Known> types;
};

void add_predefined(Registry& registry) {
  const MPI_Datatype types[] = {
      MPI_CHAR,
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
      MPI_LONG_DOUBLE_INT,
      MPI_CHARACTER,
      MPI_LOGICAL,
      MPI_INTEGER,
      MPI_REAL,
      MPI_DOUBLE_PRECISION,
      MPI_COMPLEX,
      MPI_DOUBLE_COMPLEX,
      MPI_2INTEGER,
      MPI_2REAL,
      MPI_2DOUBLE_PRECISION,
      MPI_INTEGER1,
      MPI_INTEGER2,
      MPI_INTEGER4,
      MPI_INTEGER8,
      MPI_REAL4,
      MPI_REAL8,
      MPI_REAL16,
      MPI_COMPLEX8,
      MPI_COMPLEX16,
      MPI_COMPLEX32,
      MPI_CXX_BOOL,
      MPI_CXX_FLOAT_COMPLEX,
      MPI_CXX_DOUBLE_COMPLEX,
      MPI_CXX_LONG_DOUBLE_COMPLEX,
#ifdef MPI_2COMPLEX  // Open MPI has it, and these
      MPI_LOGICAL1,
      MPI_LOGICAL2,
      MPI_LOGICAL4,
      MPI_LOGICAL8,
      MPI_2COMPLEX,
      MPI_2DOUBLE_COMPLEX,
#endif
  };
  for (const MPI_Datatype type : types) {
    if (type == MPI_DATATYPE_NULL) continue;  // a kind that this library was built without
    try {
      registry.types[key_of(type)] = {std::make_shared<TypeRecord>(decode(type))};
    } catch (const std::exception&) {
      registry.types[key_of(type)] = {std::make_shared<TypeRecord>()};
    }
  }
}

Registry& registry() {
  // Never destroyed: MPI calls may come from exit handlers.
  static Registry& instance = *[] {
    auto* made = new Registry;
    add_predefined(*made);
    return made;
  }();
  return instance;
}

/// The record that a handle has, or null.
RecordPtr record_of(MPI_Datatype type) {
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  const auto found = known.types.find(key_of(type));
  return found == known.types.end() ? nullptr : found->second.record;
}

bool same_type(const TypeRecord& a, const TypeRecord& b) {
  if (!a.decodable() || !b.decodable()) return a.decodable() == b.decodable();
  const TypeInfo& x = a.info();
  const TypeInfo& y = b.info();
  return x.size == y.size && x.lb == y.lb && x.extent == y.extent &&
         x.element_bytes == y.element_bytes && x.layout == y.layout;
}

/// Gives a handle its record, or with null none. One that says the same stays: it may be in use.
void assign(MPI_Datatype type, RecordPtr record) {
  Known replaced;  // goes when the lock is released
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  if (record == nullptr) {
    if (auto entry = known.types.extract(key_of(type))) replaced = std::move(entry.mapped());
  } else {
    Known& entry = known.types[key_of(type)];
    if (entry.record != nullptr && same_type(*entry.record, *record)) return;
    replaced = std::exchange(entry, Known{std::move(record)});
  }
  g_type_generation.fetch_add(1, std::memory_order_release);
}

std::shared_ptr<const TypeInfo> known_info(MPI_Datatype type) {
  RecordPtr record = record_of(type);
  if (record == nullptr) return nullptr;
  if (!record->decodable()) throw Unsupported("a datatype inside it is left to the system");
  const TypeInfo& info = record->info();
  return {std::move(record), &info};
}

}  // namespace

TypeRecord::TypeRecord(TypeInfo info) : info_(std::move(info)), decodable_(true) {
  contiguous_ =
      info_.layout.kind() == Layout::Kind::Empty ||
      (info_.layout.is_dense() && info_.layout.offset() == 0 && info_.extent == info_.size);
  const std::int64_t element = info_.element_bytes;
  uneven_ =
      quirks::kPiecesMustEndWithElements &&
      (element <= 0 || element > 16 || !std::has_single_bit(static_cast<std::uint64_t>(element)));
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

TypeRecord* fill_cached(CachedType& cached, std::uint64_t key, std::uint64_t generation) noexcept {
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  const auto found = known.types.find(key);
  cached = {key, generation, found == known.types.end() ? nullptr : found->second.record.get()};
  return cached.record;
}

void add_type(MPI_Datatype type) noexcept {
  try {
    const RecordPtr before = record_of(type);
    if (before != nullptr && before->predefined()) return;
    RecordPtr record;
    try {
      record = std::make_shared<TypeRecord>(decode(type, known_info));
    } catch (const std::exception& error) {
      log::info("a datatype is left to the system: {}", error.what());
      record = std::make_shared<TypeRecord>();
    }
    assign(type, std::move(record));
  } catch (const std::exception& error) {
    log::warn("a datatype is left to the system: {}", error.what());
  }
}

void add_duplicate(MPI_Datatype of, MPI_Datatype made) noexcept {
  try {
    const RecordPtr record = record_of(of);
    // A predefined type's record is not for its duplicate, which can be freed.
    record != nullptr && record->predefined() ? add_type(made) : assign(made, record);
  } catch (const std::exception& error) {
    log::warn("a duplicated datatype is left to the system: {}", error.what());
  }
}

void add_reference(MPI_Datatype type) noexcept {
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  if (const auto found = known.types.find(key_of(type)); found != known.types.end()) {
    ++found->second.references;
  }
}

void remove_type(MPI_Datatype type) noexcept {
  Known dropped;  // goes when the lock is released
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  const auto found = known.types.find(key_of(type));
  if (found == known.types.end() || found->second.record->predefined()) return;
  if (--found->second.references > 0) return;
  dropped = std::move(found->second);
  known.types.erase(found);
  g_type_generation.fetch_add(1, std::memory_order_release);
}

}  // namespace strake::mpi
