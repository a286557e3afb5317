#include "interpose/times.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "interpose/boundary.hpp"
#include "layout/expression.hpp"
#include "machine/transports.hpp"
#include "memory/per_thread.hpp"
#include "mpi/types.hpp"
#include "state/process_state.hpp"

namespace strake::interpose::times {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

/// Rows that a job's summary has at most.
constexpr std::size_t kMostRows = 64;
/// Rows that a process has at most: a program may make a new datatype for each message.
constexpr std::size_t kMostOfProcess = 1024;

/// A datatype, whatever its handle.
struct Type {
  bool used = false;     ///< the call has one
  bool decoded = false;  ///< what follows is known
  bool many = false;     ///< other than one element is moved, so its extent counts
  Hash128 hash;
  std::int64_t lb = 0;
  std::int64_t extent = 0;
  std::uint64_t handle = 0;  ///< of a predefined one
  std::int64_t size = -1;    ///< of an element; negative: not known [bytes]
  friend bool operator==(const Type&, const Type&) = default;
};
struct Identity {
  Wrapped call{};
  std::int16_t transport = -1;
  const void* site = nullptr;
  Type type;
  friend bool operator==(const Identity&, const Identity&) = default;
};
struct Hash {
  std::size_t operator()(const Identity& id) const noexcept {
    std::uint64_t mixed = static_cast<std::uint64_t>(id.call) << 8 ^
                          static_cast<std::uint64_t>(id.transport) ^ id.type.hash.lo ^
                          id.type.handle ^ (id.type.many ? 1U : 0U);
    mixed ^= reinterpret_cast<std::uintptr_t>(id.site);
    return static_cast<std::size_t>(mixed * 0x9E3779B97F4A7C15U >> 16);
  }
};

using Rows = std::unordered_map<Identity, Row, Hash>;

struct Process {
  std::mutex mutex;
  std::vector<struct Owned*> threads;
  Rows rows;                ///< of threads that have ended
  std::uint64_t total = 0;  ///< of those [ticks]
  Clock::time_point began;
  std::uint64_t first_tick = 0;
  double seconds_per_tick = 0;
};
Process& process() { return ProcessState::part<Process>(); }

/// The row of calls alike, or where there are too many that of the function.
Row& row_of(Rows& rows, Identity identity) {
  if (rows.size() >= kMostOfProcess && !rows.contains(identity))
    identity = {identity.call, -1, nullptr, {}};
  return rows[identity];
}

void merge(Rows& into, const Rows& rows) {
  for (const auto& [identity, row] : rows) {
    Row& sum = row_of(into, identity);
    sum.calls += row.calls;
    sum.bytes += row.bytes;
    sum.ticks += row.ticks;
    if (sum.datatype.empty()) sum.datatype = row.datatype;
  }
}

/// Also while the thread ends, so that its counts go on in the process's.
struct Owned : Thread {
  Rows rows;

  Owned() {
    const std::lock_guard lock(process().mutex);
    process().threads.push_back(this);
  }
  ~Owned() {
    t_thread = nullptr;
    Process& all = process();
    const std::lock_guard lock(all.mutex);
    std::erase(all.threads, this);
    merge(all.rows, rows);
    all.total += total;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
};

Owned& owned() { return PerThread<Owned>::get(); }

MPI_Datatype handle_of(std::uint64_t key) noexcept {
  MPI_Datatype type{};
  std::memcpy(&type, &key, sizeof type);
  return type;
}

std::string name_of_type(std::uint64_t handle) {
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  mpi::real_mpi().MPI_Type_get_name(handle_of(handle), name, &length);
  return name;
}

/// As `strake explain` takes it; empty if it is too long.
std::string datatype_of(const Type& type, const Layout& layout) {
  if (type.handle != 0) return name_of_type(type.handle);
  const std::string text = expression_of(layout);
  const ByteRange bounds = layout.bounds();
  // A datatype without padding has the bounds of its bytes.
  const bool plain = type.lb == bounds.begin && type.extent == bounds.size();
  if (text.empty() || !type.many || plain) return text;
  return fmt::format("resized({},{},{})", type.lb, type.extent, text);
}

/// The row of calls with this key. `*lasting`: as long as the generation of types.
Row& find_row(const Key& key, bool* lasting) {
  Identity identity{key.call, key.transport, key.site, {}};
  std::shared_ptr<const mpi::TypeInfo> info;
  Type& type = identity.type;
  if (key.type != 0) {
    const MPI_Datatype handle = handle_of(key.type);
    type.used = true;
    if (!g_disabled) info = mpi::decoded(handle);
    if (!g_disabled && info == nullptr) type.size = mpi::known_size(handle);
  }
  if (info != nullptr) {
    type.decoded = true;
    type.many = key.many;
    type.hash = info->layout.hash();
    type.lb = info->lb;
    type.extent = info->extent;
    type.size = info->size;
    if (info->predefined) type.handle = key.type;
  }
  // A datatype that is not decoded yet may be decoded later.
  *lasting = key.type == 0 || info != nullptr;
  Row& row = row_of(owned().rows, identity);
  if (row.calls == 0 && info != nullptr) row.datatype = datatype_of(type, info->layout);
  row.size = type.size;
  return row;
}

/// "halo3d+0x12f4": what `addr2line -e halo3d 0x12f4` takes.
std::string place_of(const void* site) {
  // The call, not what it returns to, which may belong to the next line.
  const void* const call = static_cast<const char*>(site) - 1;
  Dl_info info{};
  link_map* map = nullptr;
  if (site == nullptr ||
      dladdr1(call, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 ||
      info.dli_fname == nullptr || map == nullptr) {
    return "";
  }
  return fmt::format("{}+{:#x}", std::filesystem::path(info.dli_fname).filename().string(),
                     reinterpret_cast<std::uintptr_t>(call) - map->l_addr);
}

/// Whether a function only receives. The sender decides what carries a message, so the transport
/// that a receive asked for may not be the one that it gets, which is counted by function.
bool is_receive(std::string_view function) noexcept {
  return function.find("ecv") != std::string_view::npos &&
         function.find("endrecv") == std::string_view::npos;
}

Json to_json(const Identity& identity, const Row& row, double seconds_per_tick) {
  Json json = {{"function", name_of(identity.call)}, {"place", place_of(identity.site)}};
  if (identity.type.used)
    json["datatype"] = row.datatype.empty() ? Json(nullptr) : Json(row.datatype);
  if (identity.type.used && identity.transport >= 0 && !is_receive(name_of(identity.call)))
    json["method"] = machine::name_of(static_cast<machine::Transport>(identity.transport));
  json["calls"] = row.calls;
  if (identity.type.size >= 0) json["bytes"] = row.bytes;
  json["seconds"] = static_cast<double>(row.ticks) * seconds_per_tick;
  return json;
}

/// Equal for rows that say the same of their calls.
std::string shown_key(const Json& row) {
  std::string key;
  for (const char* part : {"function", "place", "datatype", "method"})
    key += row.value(part, Json(0)).dump(-1, ' ', false, Json::error_handler_t::replace) + '|';
  return key;
}

constexpr const char* kOthers = "others";

void add(Json& sum, const Json& row) {
  sum["calls"] = sum["calls"].get<std::uint64_t>() + row["calls"].get<std::uint64_t>();
  sum["seconds"] = sum["seconds"].get<double>() + row["seconds"].get<double>();
  if (row.contains("bytes"))
    sum["bytes"] = sum.value("bytes", std::uint64_t{0}) + row["bytes"].get<std::uint64_t>();
}

/// Sorts them, longest first, and adds up those past the most into a last row.
void cut(Json& rows) {
  Json others = {{"function", kOthers}, {"place", ""}, {"calls", 0}, {"seconds", 0.0}};
  const auto end = std::remove_if(rows.begin(), rows.end(), [&](const Json& row) {
    if (row["function"] != kOthers) return false;
    add(others, row);
    return true;
  });
  rows.erase(end, rows.end());
  std::stable_sort(rows.begin(), rows.end(), [](const Json& a, const Json& b) {
    return a["seconds"].get<double>() > b["seconds"].get<double>();
  });
  while (rows.size() > kMostRows) {
    add(others, rows.back());
    rows.erase(rows.size() - 1);
  }
  if (others["calls"] != 0) rows.push_back(std::move(others));
}

}  // namespace

Thread& make_thread() noexcept {
  t_thread = &owned();
  return *t_thread;
}

void start() noexcept {
  Process& all = process();
  all.began = Clock::now();
  all.first_tick = ticks();
  g_on.store(true, std::memory_order_relaxed);
}

namespace {

/// The key of a call that has ended, whose message, if it succeeded, went by the thread's
/// transport.
Key key_of(const Beginning& call, bool succeeded) noexcept {
  const std::int16_t transport = call.thread.transport;
  const bool nothing = transport == kNothing;
  Key key;
  key.call = call.call;
  key.many = call.type != 0 && call.count != 1;
  key.site = call.site;
  key.type = succeeded && !nothing ? call.type : 0;  // else its handle may be none
  key.transport = nothing ? std::int16_t{-1} : transport;
  key.generation = mpi::g_type_generation.load(std::memory_order_acquire);
  return key;
}

/// The row of calls with this key; null where there is no memory. `*lasting`: the row may be kept
/// until the generation of types changes.
Row* row_for(Thread& thread, const Key& key, bool* lasting) noexcept {
  const auto mixed = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(key.site) ^
                                                key.type ^ static_cast<std::uint64_t>(key.call));
  const std::size_t home = mixed * 0x9E3779B1U >> 16;
  Thread::Slot* place = &thread.slots[home % Thread::kSlots];  // of a key that is not there
  *lasting = true;
  for (std::size_t i = 0; i < Thread::kProbes; ++i) {
    Thread::Slot& slot = thread.slots[(home + i) % Thread::kSlots];
    if (slot.key == key && slot.row != nullptr) return slot.row;
    if (slot.row == nullptr || slot.key.generation != key.generation) {
      place = &slot;
      break;
    }
  }
  try {
    Row* const row = &find_row(key, lasting);
    if (*lasting) *place = {key, row};
    return row;
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // namespace

void Counted::count_elsewhere() noexcept {
  bool lasting = false;
  if (Row* const row = row_for(call_.thread, key_of(call_, succeeded_), &lasting))
    row->count(call_.count);
}

void Timed::finish() noexcept {
  const std::uint64_t spent = ticks() - begin_;
  Thread& own = call_.thread;
  own.inside = false;
  Thread::Turn* const turn = sampled_ ? find_turn() : nullptr;
  // Calls alike that were only counted lasted as long, unless the operating system interrupted this
  // one.
  const std::uint64_t most = 100 * own.short_ticks;
  const std::uint64_t all =
      turn == nullptr ? spent : spent + std::exchange(turn->counted, 0) * std::min(spent, most);
  own.total += all;
  bool lasting = false;
  Row* const row = row_for(own, key_of(call_, succeeded_), &lasting);
  if (row == nullptr) return;  // the total has it
  row->count(call_.count);
  row->ticks += all;
  if (turn != nullptr && succeeded_ && lasting) take_turn(*turn, *row, spent);
}

Thread::Turn* Timed::find_turn() const noexcept {
  const std::uint64_t key = call_.key();
  const std::uint64_t generation = mpi::g_type_generation.load(std::memory_order_acquire);
  Thread::Turn& turn = call_.thread.turn_of(key, generation);
  if (turn.is_of(key, generation)) return &turn;
  if (turn.row != nullptr && turn.generation == generation) return nullptr;  // of other calls
  turn = {.key = key, .generation = generation};
  return &turn;
}

void Timed::take_turn(Thread::Turn& turn, Row& row, std::uint64_t spent) noexcept {
  Thread& own = call_.thread;
  turn.row = &row;
  turn.transport = own.transport;
  if (turn.seen < Thread::kAllTimed) {
    ++turn.seen;
    return;
  }
  if (own.short_ticks == 0) {
    constexpr double kShort = 1e-6;
    const double passed = std::chrono::duration<double>(Clock::now() - process().began).count();
    const auto since = static_cast<double>(ticks() - process().first_tick);
    own.short_ticks = static_cast<std::uint64_t>(since * kShort / passed) + 1;
  }
  if (spent >= own.short_ticks) return;
  own.random = own.random * 1664525U + 1013904223U;
  turn.left = 8 + (own.random >> 28);
}

Spent stop() noexcept {
  if (!is_on()) return {};
  g_on.store(false, std::memory_order_relaxed);
  Process& all = process();
  const std::lock_guard lock(all.mutex);
  const double wall = std::chrono::duration<double>(Clock::now() - all.began).count();
  all.seconds_per_tick =
      wall / static_cast<double>(std::max<std::uint64_t>(ticks() - all.first_tick, 1));
  std::uint64_t total = all.total;
  for (const Owned* one : all.threads) total += one->total;
  return {wall, static_cast<double>(total) * all.seconds_per_tick};
}

Json rows() {
  Process& all = process();
  const std::lock_guard lock(all.mutex);
  Rows merged = all.rows;
  for (const Owned* one : all.threads) merge(merged, one->rows);
  // Rows that look alike become one: those of datatypes that are too long to be shown, for example.
  std::map<std::string, Json> alike;
  for (const auto& [identity, row] : merged) {
    Json json = to_json(identity, row, all.seconds_per_tick);
    const auto [same, is_new] = alike.try_emplace(shown_key(json), json);
    if (!is_new) add(same->second, json);
  }
  Json list = Json::array();
  for (auto& [key, json] : alike) list.push_back(std::move(json));
  cut(list);
  return list;
}

void add_rows(Json& rows, const Json& more) {
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < rows.size(); ++i) places.emplace(shown_key(rows[i]), i);
  for (const Json& row : more) {
    const auto same = places.find(shown_key(row));
    if (same != places.end()) {
      add(rows[same->second], row);
    } else {
      rows.push_back(row);
    }
  }
  cut(rows);
}

}  // namespace strake::interpose::times
