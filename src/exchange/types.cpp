#include "exchange/types.hpp"

#include <array>
#include <exception>
#include <unordered_map>
#include <utility>

#include "exchange/per_thread.hpp"
#include "settings/log.hpp"

namespace strake::exchange {
namespace {

/// Counts remembered per type: programs use few, and each costs a plan.
constexpr std::size_t kShapesPerType = 16;

struct Registry {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, std::shared_ptr<TypeRecord>> records;
};

void add_predefined(Registry& registry) {
  const MPI_Datatype types[] = {MPI_CHAR,
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
                                MPI_COMPLEX32};
  for (const MPI_Datatype type : types) {
    if (type == MPI_DATATYPE_NULL) continue;  // a kind that this library was built without
    try {
      registry.records.emplace(key_of(type), std::make_shared<TypeRecord>(mpi::decode(type)));
    } catch (const std::exception&) {
      registry.records.emplace(key_of(type), std::make_shared<TypeRecord>());
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

/// A direct-mapped cache of each thread; entries of an older generation are dead.
struct CachedType {
  std::uint64_t key = 0;
  std::uint64_t generation = 0;
  TypeRecord* record = nullptr;
};
constexpr int kCacheBits = 8;  // a halo exchange uses 26 to 104 types
using Cache = std::array<CachedType, std::size_t{1} << kCacheBits>;

std::size_t slot_of(std::uint64_t key) noexcept {
  return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15U) >> (64 - kCacheBits));
}

void insert(MPI_Datatype type, std::shared_ptr<TypeRecord> record) {
  Registry& types = registry();
  const std::lock_guard lock(types.mutex);
  types.records.insert_or_assign(key_of(type), std::move(record));
  g_type_generation.fetch_add(1, std::memory_order_release);
}

}  // namespace

std::atomic<std::uint64_t> g_type_generation{1};

TypeRecord::TypeRecord(mpi::TypeInfo info) : info_(std::move(info)), decodable_(true) {
  contiguous_ =
      info_.layout.kind() == Layout::Kind::Empty ||
      (info_.layout.is_dense() && info_.layout.offset() == 0 && info_.extent == info_.size);
}

ShapePtr TypeRecord::shape(std::int64_t count, bool* kept) {
  const std::lock_guard lock(mutex_);
  if (kept != nullptr) *kept = true;
  for (const Entry& entry : shapes_) {
    if (entry.count == count) return entry.shape;
  }
  auto made = std::make_shared<Shape>(mpi::layout_for_count(info_, count));
  if (shapes_.size() < kShapesPerType) {
    shapes_.push_back({count, made});
  } else if (kept != nullptr) {
    *kept = false;
  }
  return made;
}

TypeRecord* find_type(MPI_Datatype type) noexcept {
  const std::uint64_t key = key_of(type);
  CachedType& cached = PerThread<Cache>::get()[slot_of(key)];
  const std::uint64_t generation = g_type_generation.load(std::memory_order_acquire);
  if (cached.key == key && cached.generation == generation) return cached.record;
  Registry& types = registry();
  const std::lock_guard lock(types.mutex);
  const auto found = types.records.find(key);
  cached = {key, generation, found == types.records.end() ? nullptr : found->second.get()};
  return cached.record;
}

void add_type(MPI_Datatype type) noexcept {
  try {
    // Committing again changes nothing; predefined types are known from the start.
    if (find_type(type) != nullptr) return;
    std::shared_ptr<TypeRecord> record;
    try {
      record = std::make_shared<TypeRecord>(mpi::decode(type));
    } catch (const std::exception& error) {
      log::info("a datatype is left to the system: {}", error.what());
      record = std::make_shared<TypeRecord>();
    }
    insert(type, std::move(record));
  } catch (const std::exception& error) {
    log::warn("a datatype is left to the system: {}", error.what());
  }
}

void add_duplicate(MPI_Datatype of, MPI_Datatype made) noexcept {
  try {
    Registry& types = registry();
    std::shared_ptr<TypeRecord> record;
    {
      const std::lock_guard lock(types.mutex);
      const auto found = types.records.find(key_of(of));
      if (found != types.records.end()) record = found->second;
    }
    if (record == nullptr) return;
    // A record of its own: unlike the handle it is of, this one can be freed.
    record->predefined() ? add_type(made) : insert(made, std::move(record));
  } catch (const std::exception& error) {
    log::warn("a duplicated datatype is left to the system: {}", error.what());
  }
}

void remove_type(MPI_Datatype type) noexcept {
  Registry& types = registry();
  std::shared_ptr<TypeRecord> dropped;
  const std::lock_guard lock(types.mutex);
  const auto found = types.records.find(key_of(type));
  if (found == types.records.end() || found->second->predefined()) return;
  dropped = std::move(found->second);
  types.records.erase(found);
  g_type_generation.fetch_add(1, std::memory_order_release);
}

}  // namespace strake::exchange
