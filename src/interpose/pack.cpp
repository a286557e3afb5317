// MPI_Pack and MPI_Unpack: one copy, straight between the user's two buffers.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "copy/cpu/few.hpp"
#include "copy/cpu/kernels.hpp"
#include "copy/plan_impl.hpp"
#include "interpose/examine.hpp"
#include "interpose/summary.hpp"
#include "memory/loaded_objects.hpp"
#include "strake/error.hpp"

namespace strake::interpose {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t nanoseconds_since(Clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
}

/// What the system would have taken can only be known by asking it: once per shape, when a summary
/// is wanted, and just for packing, into memory of our own: a library that is wrong about a type
/// would unpack over what is not the call's.
constexpr std::int64_t kMaxSampled = 16 << 20;

/// Runs the copy; returns the time it saves from now on [ns]. `theirs(scratch)` packs by the
/// system.
template <typename Ours, typename Theirs>
std::int64_t run_sampled(exchange::Shape& shape, Ours&& ours, Theirs&& theirs) {
  ours();
  // What begins before its address may be more than the system bears.
  if (shape.size_bytes() > kMaxSampled || shape.layout().bounds().begin < 0) return 0;
  exchange::Shape::Sample& sample = shape.sample();
  std::int64_t saved_ns = sample.saved_ns.load(std::memory_order_relaxed);
  if (saved_ns != exchange::Shape::Sample::kNone) {
    exchange::record_saved(saved_ns);
    return saved_ns;
  }
  std::vector<std::byte> scratch;
  try {
    scratch.resize(static_cast<std::size_t>(shape.size_bytes()));
  } catch (const std::bad_alloc&) {
    return 0;
  }
  auto begin = Clock::now();
  theirs(scratch);
  const std::int64_t system_ns = nanoseconds_since(begin);
  begin = Clock::now();
  ours();  // both are timed warm
  saved_ns = system_ns - nanoseconds_since(begin);
  sample.saved_ns.store(saved_ns, std::memory_order_relaxed);
  return saved_ns;
}

/// How a process without a device runs a copy again.
enum class AtOnce : std::uint8_t {
  No,        ///< not at once
  Few,       ///< adjacent bytes, up to cpu::kFewBytes, that save no time to be told of
  Adjacent,  ///< adjacent bytes
  Op,        ///< any others
};

/// Where the two sides of a copy lie.
struct Places {
  Place typed;
  Place packed;
  [[nodiscard]] bool host() const noexcept {
    return typed.in_host_memory() && packed.in_host_memory();
  }
  friend bool operator==(const Places&, const Places&) = default;
};

/// A copy that this thread ran lately: all that the next call with the same arguments needs. What a
/// process without a device looks at comes first, in one cache line.
struct alignas(64) Recent {
  std::uint64_t key = 0;  ///< Call::key
  std::uint64_t generation = 0;
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  std::uintptr_t least = 0;  ///< no buffer is at a lower address
  std::int64_t first = 0;    ///< offset of the first packed byte
  union {                    ///< what copies other than a few bytes at once
    const cpu::Op* op = nullptr;
    cpu::CopyFn copy;  ///< adjacent bytes
  };
  AtOnce at_once = AtOnce::No;
  std::int32_t saved_ns = 0;

  const CopyPlan* plan = nullptr;
  Method method = Method::Pack;
  ByteRange bounds = {0, 0};  ///< the rest is looked at only in a process with a device
  Places places;
};
constexpr int kRecentBits = 8;  // a halo exchange uses 26 to 104 types
/// Direct-mapped, by direction.
using RecentTable = std::array<std::array<Recent, std::size_t{1} << kRecentBits>, 2>;

inline Recent& recent(RecentTable& table, Direction direction, MPI_Datatype type,
                      std::int64_t count) {
  const std::uint64_t key = exchange::key_of(type) + static_cast<std::uint64_t>(count);
  return table[static_cast<std::size_t>(direction)][exchange::slot_of(key, kRecentBits)];
}
Recent& recent(Direction direction, MPI_Datatype type, std::int64_t count) {
  return recent(PerThread<RecentTable>::get(), direction, type, count);
}

/// `last` copies adjacent bytes at once.
void remember_adjacent(Recent& last) {
  const bool few = last.bytes <= cpu::kFewBytes && last.saved_ns == 0;
  last.at_once = few ? AtOnce::Few : AtOnce::Adjacent;
  last.copy = cpu::default_kernels().nest->copy;
}

constexpr Function function_of(Direction direction) {
  return direction == Direction::Send ? Function::MPI_Pack : Function::MPI_Unpack;
}

/// The two ends of a copy.
struct Ends {
  std::byte* to;
  const std::byte* from;
};
inline Ends ends_of(Direction direction, std::byte* typed, std::byte* packed) {
  return direction == Direction::Send ? Ends{packed, typed} : Ends{typed, packed};
}

/// What follows each copy.
template <typename Count>
inline void finish_copy(Direction direction, Method method, std::int64_t bytes,
                        std::int64_t saved_ns, Count* position) {
  *position += static_cast<Count>(bytes);
  if (saved_ns != 0) exchange::record_saved(saved_ns);
  note(function_of(direction), method, Reason::None, bytes);
}

/// What a call asks for, in one form for packing (Send) and unpacking (Receive).
template <typename Count>
struct Call {
  Direction direction;
  Count count;
  std::byte* typed;
  MPI_Datatype type;
  std::byte* packed;
  Count size;
  Count* position;
  MPI_Comm comm;

  /// The handles. MPICH's two fit one word; Open MPI's communicator can't be asked whether it is
  /// one.
  [[nodiscard]] std::uint64_t key() const {
    std::uint64_t key = exchange::key_of(type);
#ifndef OPEN_MPI
    key |= std::uint64_t{static_cast<std::uint32_t>(comm)} << 32;
#endif
    return key;
  }
  /// The position, where a negative one is past all that a Count can say.
  [[nodiscard]] std::make_unsigned_t<Count> start() const {
    return static_cast<std::make_unsigned_t<Count>>(*position);
  }
  [[nodiscard]] bool fits(std::int64_t bytes) const {
#ifdef OPEN_MPI
    if (comm == MPI_COMM_NULL) return false;
#endif
    if (packed == nullptr || position == nullptr) return false;
    if constexpr (sizeof(Count) < sizeof bytes) {
      return bytes <= std::int64_t{size} - std::int64_t{start()};
    } else {
      return *position >= 0 && bytes <= size - *position;
    }
  }
  void run(const CopyPlan& plan) const {
    const Ends ends = ends_of(direction, typed, packed + *position);
    plan.run(ends.to, ends.from);
  }
  int ask_system() const {
    if constexpr (std::is_same_v<Count, int>) {
      return direction == Direction::Send
                 ? next().MPI_Pack(typed, count, type, packed, size, position, comm)
                 : next().MPI_Unpack(packed, size, position, typed, count, type, comm);
    }
#if STRAKE_MPI_LARGE_COUNTS
    else {
      return direction == Direction::Send
                 ? next().MPI_Pack_c(typed, count, type, packed, size, position, comm)
                 : next().MPI_Unpack_c(packed, size, position, typed, count, type, comm);
    }
#endif
  }
  void finish(Method method, std::int64_t bytes, std::int64_t saved_ns = 0) const {
    finish_copy(direction, method, bytes, saved_ns, position);
  }
};

/// Where the bytes of a call that fits lie, typed ones in `bounds`.
template <typename Count>
Places places_of(const Call<Count>& call, ByteRange bounds, std::int64_t bytes) {
  const auto at = [&](std::int64_t offset) {
    return reinterpret_cast<const void*>(address_of(call.typed, offset));
  };
  const std::byte* const packed = call.packed + *call.position;
  return {classify(at(bounds.begin), at(bounds.end - 1)), classify(packed, packed + bytes - 1)};
}

/// Whether `last` is the copy that is asked for, with arguments that the system would accept.
template <typename Count>
inline bool is_again(const Call<Count>& call, const Recent& last) {
  const auto likely = [](bool same) { return __builtin_expect(same, true); };
  return likely(last.key == call.key()) && likely(last.count == call.count) &&
         likely(last.generation == exchange::g_type_generation.load(std::memory_order_acquire)) &&
         likely(call.fits(last.bytes)) && likely(address_of(call.typed, 0) >= last.least);
}

/// The copy that `last` remembers for processes without a device, and what a call ends with.
template <typename Count>
[[gnu::noinline]] int run_kept(Direction direction, const Recent& last, std::byte* typed,
                               std::byte* packed, Count* position) {
  packed += *position;
  if (last.at_once == AtOnce::Op) {
    const Ends ends = ends_of(direction, typed, packed);
    last.op->run(ends.to, ends.from);
  } else {
    const Ends ends = ends_of(direction, typed + last.first, packed);
    last.copy(ends.to, ends.from, last.bytes);
  }
  finish_copy(direction, Method::Pack, last.bytes, last.saved_ns, position);
  return MPI_SUCCESS;
}

/// The same copy again in a process without a device, by the first thread that packed: 2 ns beyond
/// the copy; else `rest()`. (Nothing is called but to end with, so little has to be saved.) A call
/// from inside the system's library may come here too: it asks for the same bytes.
template <typename Count, typename Rest>
[[gnu::always_inline]] inline int run_at_once(const Call<Count>& call, Rest&& rest) {
  RecentTable* const table = PerThread<RecentTable>::of_first_thread();
  if (table == nullptr || !no_object_since()) [[unlikely]]
    return rest();
  const Recent& last = recent(*table, call.direction, call.type, call.count);
  if (!is_again(call, last)) [[unlikely]]
    return rest();
  if (last.at_once == AtOnce::Few) [[likely]] {
    const auto start = call.start();  // else both would be read again after the copy
    const std::int64_t bytes = last.bytes;
    const Ends ends = ends_of(call.direction, call.typed + last.first, call.packed + start);
    cpu::copy_few(ends.to, ends.from, bytes);
    *call.position = static_cast<Count>(start + bytes);
    note(function_of(call.direction), Method::Pack, Reason::None, bytes);
    return MPI_SUCCESS;
  }
  if (last.at_once == AtOnce::No) return rest();
  return run_kept(call.direction, last, call.typed, call.packed, call.position);
}

/// The same copy again, in any thread and process; with a device, after asking where the two
/// buffers lie. Nothing where it is another copy.
template <typename Count>
std::optional<int> run_again(const Call<Count>& call) {
  const Recent& last = recent(call.direction, call.type, call.count);
  if (!is_again(call, last)) return {};
  if (last.at_once != AtOnce::No && no_object_since()) {
    return run_kept(call.direction, last, call.typed, call.packed, call.position);
  }
  if (t_depth != 0 || last.plan == nullptr) return {};
  const auto run = [&] {
    call.run(*last.plan);
    call.finish(last.method, last.bytes, last.saved_ns);
    return MPI_SUCCESS;
  };
  if (device_backend() == nullptr)
    return last.method == Method::Pack ? run() : std::optional<int>();
  if (!(places_of(call, last.bounds, last.bytes) == last.places)) return {};
  return boundary(call.comm, run, run);
}

/// Begins to remember a copy of so many bytes.
template <typename Count>
Recent& remember(const Call<Count>& call, std::int64_t bytes) {
  Recent& last = recent(call.direction, call.type, call.count);
  last = {};
  last.key = call.key();
  last.generation = exchange::g_type_generation.load(std::memory_order_acquire);
  last.count = call.count;
  last.bytes = bytes;
  return last;
}

/// A contiguous type in a process without a device. It is not passed on, since looking it up has
/// cost what the system's way costs beyond the copy. False: the system's business.
template <typename Count>
bool copy_adjacent(const Call<Count>& call, const exchange::TypeRecord& record) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(record.size_bytes(), std::int64_t{call.count}, &bytes) || bytes == 0 ||
      !call.fits(bytes) || address_of(call.typed, 0) < kFirstPage) {
    return false;
  }
  Recent& last = remember(call, bytes);
  last.least = kFirstPage;
  remember_adjacent(last);
  run_kept(call.direction, last, call.typed, call.packed, call.position);
  return true;
}

/// A buffer that is too small is the system's business, but MPICH packs and unpacks past its end,
/// and would do so in memory that it can't touch. \throws MpiError  raised
template <typename Count>
void refuse_short([[maybe_unused]] const Call<Count>& call, [[maybe_unused]] std::int64_t bytes) {
#ifndef OPEN_MPI
  if (call.comm == MPI_COMM_NULL || call.packed == nullptr || call.position == nullptr) return;
  if (call.size < 0 || *call.position < 0) return;
  raise(call.comm, MPI_ERR_TRUNCATE);
  throw MpiError("a buffer of " + std::to_string(call.size) + " bytes has no room for " +
                     std::to_string(bytes) + " from " + std::to_string(*call.position) + " on",
                 MPI_ERR_TRUNCATE);
#endif
}

/// \throws MpiError  no communicator, which the system has raised
template <typename Count>
void require_communicator([[maybe_unused]] const Call<Count>& call) {
#ifndef OPEN_MPI
  int inter = 0;
  mpi::check(mpi::real_mpi().MPI_Comm_test_inter(call.comm, &inter), "MPI_Comm_test_inter");
#endif
}

/// The general case. False: the system's business.
template <typename Count, typename Theirs>
bool run_first(const Call<Count>& call, Theirs&& theirs) {
  Examined found;
  const auto leave = [&](Reason reason) {
    note(function_of(call.direction), Method::System, reason, found.bytes);
    return false;
  };
  exchange::TypeRecord* record = exchange::find_type(call.type);
  if (record == nullptr) return leave(Reason::UnknownType);
  if (call.count <= 0) return leave(call.count == 0 ? Reason::Empty : Reason::BadArguments);
  require_communicator(call);
  const bool device = device_backend() != nullptr;
  if (record->contiguous() && !device) {
    return copy_adjacent(call, *record) || leave(Reason::Contiguous);
  }
  bool kept = false;
  if (!resolve(call.typed, call.count, *record, found, &kept)) return leave(found.reason);
  const Typed& typed = found.typed;
  const bool fits = call.fits(found.bytes);
  const Layout& layout = typed.shape->layout();
  Places places;
  if (device && fits) {
    places = places_of(call, layout.bounds(), found.bytes);
  } else if (device) {
    places = {typed.place, classify(call.packed)};
  }
  const bool host = places.host() && !typed.mixed;
  if (!fits && !host) refuse_short(call, found.bytes);
  if (!fits) return leave(Reason::BadArguments);
  if (host && record->contiguous()) return leave(Reason::Contiguous);

  if (typed.mixed) {
    exchange::copy_mixed(call.direction, layout, typed.address, call.packed + *call.position,
                         ByteRange::all());
    call.finish(Method::Pack, found.bytes);
    return true;
  }
  const CopyPlan* compiled = nullptr;
  try {
    compiled = host ? &typed.shape->plan(call.direction, {}, {})
                    : &typed.shape->plan(call.direction, places.typed, places.packed);
  } catch (const std::exception& error) {
    if (!host || !can_leave(found, error)) throw;
    return leave(Reason::OutOfMemory);
  }
  const CopyPlan& plan = *compiled;
  const Method method = host                      ? Method::Pack
                        : places.packed.on_host() ? Method::OneShot
                                                  : Method::Device;
  const auto ours = [&] { call.run(plan); };
  std::int64_t saved_ns = 0;
  const bool packs = call.direction == Direction::Send && call.typed != nullptr;
  if (host && packs && summary_wanted()) {
    saved_ns = run_sampled(*typed.shape, ours, theirs);
  } else {
    ours();
  }
  // Absolute addresses may lie anywhere the next time.
  if (kept && call.typed != nullptr) {
    Recent& last = remember(call, found.bytes);
    // Null is not passed on: what begins late enough behind it may be memory.
    last.bounds = layout.bounds();
    const std::int64_t begin = last.bounds.begin;
    last.least =
        begin < std::int64_t{kFirstPage} ? kFirstPage - static_cast<std::uintptr_t>(begin) : 1;
    last.first = layout.offset();
    last.saved_ns =
        static_cast<std::int32_t>(std::clamp<std::int64_t>(saved_ns, INT32_MIN, INT32_MAX));
    last.plan = &plan;
    last.method = method;
    last.places = places;
    const CopyPlan::Impl* const impl = plan.impl();
    // What is large may be shared out to threads.
    if (host && typed.shape->dense() && found.bytes <= cpu::kSecondLevelBytes) {
      remember_adjacent(last);
    } else if (host && impl != nullptr && impl->op != nullptr) {
      last.at_once = AtOnce::Op;
      last.op = impl->op.get();
    }
  }
  call.finish(method, found.bytes);
  return true;
}

template <typename Count>
int run_any(const Call<Count>& call) {
  if (const std::optional<int> code = run_again(call)) return *code;
  const auto theirs = [&] { return call.ask_system(); };
  const auto sample = [&](std::vector<std::byte>& scratch) {
    Count position = 0;
    Call<Count> other = call;
    other.packed = scratch.data();
    other.size = static_cast<Count>(scratch.size());
    other.position = &position;
    other.ask_system();
  };
  return boundary(call.comm, theirs,
                  [&] { return run_first(call, sample) ? MPI_SUCCESS : theirs(); });
}

template <typename Count>
Call<Count> packing(const void* in, Count count, MPI_Datatype type, void* out, Count size,
                    Count* position, MPI_Comm comm) {
  return {Direction::Send,
          count,
          static_cast<std::byte*>(const_cast<void*>(in)),
          type,
          static_cast<std::byte*>(out),
          size,
          position,
          comm};
}

template <typename Count>
Call<Count> unpacking(const void* in, Count size, Count* position, void* out, Count count,
                      MPI_Datatype type, MPI_Comm comm) {
  return {Direction::Receive,
          count,
          static_cast<std::byte*>(out),
          type,
          static_cast<std::byte*>(const_cast<void*>(in)),
          size,
          position,
          comm};
}

// With the arguments of MPI's functions, so that these end with a jump to them.
template <typename... Arguments>
[[gnu::noinline]] int pack_any(Arguments... arguments) {
  return run_any(packing(arguments...));
}
template <typename... Arguments>
[[gnu::noinline]] int unpack_any(Arguments... arguments) {
  return run_any(unpacking(arguments...));
}

template <typename... Arguments>
[[gnu::always_inline]] inline int pack(Arguments... arguments) {
  return run_at_once(packing(arguments...), [&] { return pack_any(arguments...); });
}
template <typename... Arguments>
[[gnu::always_inline]] inline int unpack(Arguments... arguments) {
  return run_at_once(unpacking(arguments...), [&] { return unpack_any(arguments...); });
}

}  // namespace
}  // namespace strake::interpose

using namespace strake::interpose;

STRAKE_MPI int MPI_Pack(const void* in, int count, MPI_Datatype type, void* out, int size,
                        int* position, MPI_Comm comm) {
  return pack(in, count, type, out, size, position, comm);
}

STRAKE_MPI int MPI_Unpack(const void* in, int size, int* position, void* out, int count,
                          MPI_Datatype type, MPI_Comm comm) {
  return unpack(in, size, position, out, count, type, comm);
}

#if STRAKE_MPI_LARGE_COUNTS
STRAKE_MPI int MPI_Pack_c(const void* in, MPI_Count count, MPI_Datatype type, void* out,
                          MPI_Count size, MPI_Count* position, MPI_Comm comm) {
  return pack(in, count, type, out, size, position, comm);
}

STRAKE_MPI int MPI_Unpack_c(const void* in, MPI_Count size, MPI_Count* position, void* out,
                            MPI_Count count, MPI_Datatype type, MPI_Comm comm) {
  return unpack(in, size, position, out, count, type, comm);
}
#endif
