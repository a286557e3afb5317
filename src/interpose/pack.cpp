// MPI_Pack and MPI_Unpack: one copy, straight between the user's two buffers.
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>

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

/// What the system would have taken can only be known by asking it: once per shape and direction,
/// when a summary is wanted. Both are timed warm; packing or unpacking again changes nothing.
constexpr std::int64_t kMaxSampled = 16 << 20;

/// Runs the copy; returns the time it saves from now on [ns].
template <typename Ours, typename Theirs>
std::int64_t run_sampled(Direction direction, exchange::Shape& shape, Ours&& ours,
                         Theirs&& theirs) {
  ours();
  if (shape.size_bytes() > kMaxSampled) return 0;
  exchange::Shape::Sample& sample = shape.sample(direction);
  std::int64_t saved_ns = sample.saved_ns.load(std::memory_order_relaxed);
  if (saved_ns != exchange::Shape::Sample::kNone) {
    exchange::record_saved(saved_ns);
    return saved_ns;
  }
  auto begin = Clock::now();
  theirs();
  const std::int64_t system_ns = nanoseconds_since(begin);
  begin = Clock::now();
  ours();
  saved_ns = system_ns - nanoseconds_since(begin);
  sample.saved_ns.store(saved_ns, std::memory_order_relaxed);
  return saved_ns;
}

/// A copy that this thread ran lately: all that the next call with the same arguments needs. What a
/// process without a device looks at comes first, in one cache line.
struct alignas(64) Recent {
  std::uint64_t key = 0;
  std::uint64_t generation = 0;
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  std::int64_t lowest = 0;
  std::int64_t first = 0;  ///< offset of the first packed byte
  /// Of the CPU's copies, where the time that they save is not recorded, one of these: adjacent
  /// bytes, or any others.
  void (*adjacent)(std::byte*, const std::byte*, std::int64_t) = nullptr;
  const cpu::Op* op = nullptr;

  std::int64_t saved_ns = 0;
  const CopyPlan* plan = nullptr;
  Method method = Method::Pack;
  Place typed;  ///< where both sides were; looked at only in a process with a device
  Place packed;
};
constexpr int kRecentBits = 8;  // a halo exchange uses 26 to 104 types
/// Direct-mapped, by direction.
using RecentTable = std::array<std::array<Recent, std::size_t{1} << kRecentBits>, 2>;

Recent& recent(Direction direction, MPI_Datatype type, std::int64_t count) {
  const std::uint64_t key = exchange::key_of(type) + static_cast<std::uint64_t>(count);
  return PerThread<RecentTable>::get()[static_cast<std::size_t>(direction)]
                                      [exchange::slot_of(key, kRecentBits)];
}

/// What a call asks for, in one form for packing (Send) and unpacking (Receive).
template <typename Count>
struct Call {
  Function function;
  Direction direction;
  Count count;
  std::byte* typed;
  MPI_Datatype type;
  std::byte* packed;
  Count size;
  Count* position;
  MPI_Comm comm;

  [[nodiscard]] bool fits(std::int64_t bytes) const {
    return comm != MPI_COMM_NULL && packed != nullptr && position != nullptr && *position >= 0 &&
           bytes <= static_cast<std::int64_t>(size) - static_cast<std::int64_t>(*position);
  }
  void run(const CopyPlan& plan) const {
    direction == Direction::Send ? plan.run(packed + *position, typed)
                                 : plan.run(typed, packed + *position);
  }
  int ask_system(Count* at) const {
    if constexpr (std::is_same_v<Count, int>) {
      return direction == Direction::Send
                 ? next().MPI_Pack(typed, count, type, packed, size, at, comm)
                 : next().MPI_Unpack(packed, size, at, typed, count, type, comm);
    }
#if STRAKE_MPI_LARGE_COUNTS
    else {
      return direction == Direction::Send
                 ? next().MPI_Pack_c(typed, count, type, packed, size, at, comm)
                 : next().MPI_Unpack_c(packed, size, at, typed, count, type, comm);
    }
#endif
  }
  void finish(Method method, std::int64_t bytes) const {
    *position += static_cast<Count>(bytes);
    note(function, method, Reason::None, bytes);
  }
};

/// Whether `last` is the copy that is asked for, with arguments that the system would accept.
template <typename Count>
inline bool is_again(const Call<Count>& call, const Recent& last) {
  return last.key == exchange::key_of(call.type) && last.count == call.count &&
         last.generation == exchange::g_type_generation.load(std::memory_order_acquire) &&
         call.fits(last.bytes) && call.typed != nullptr &&
         address_of(call.typed, last.lowest) >= kFirstPage;
}

/// The same copy again in a process without a device: 3 ns beyond the copy. A call from inside the
/// system's library may come here too: it asks for the same bytes.
template <typename Count>
inline bool run_at_once(const Call<Count>& call) {
  if (!no_object_since()) return false;
  const Recent& last = recent(call.direction, call.type, call.count);
  if (!is_again(call, last)) return false;
  const bool pack = call.direction == Direction::Send;
  std::byte* const packed = call.packed + *call.position;
  if (last.adjacent != nullptr) {
    auto* const typed = reinterpret_cast<std::byte*>(address_of(call.typed, last.first));
    last.adjacent(pack ? packed : typed, pack ? typed : packed, last.bytes);
  } else if (last.op != nullptr) {
    last.op->run(pack ? packed : call.typed, pack ? call.typed : packed);
  } else {
    return false;
  }
  call.finish(Method::Pack, last.bytes);
  return true;
}

/// The same copy again, in any process; with a device, after asking where the two buffers lie.
/// Nothing where it is another copy.
template <typename Count>
std::optional<int> run_again(const Call<Count>& call) {
  const Recent& last = recent(call.direction, call.type, call.count);
  if (t_depth != 0 || last.plan == nullptr || !is_again(call, last)) return {};
  const auto run = [&] {
    call.run(*last.plan);
    call.finish(last.method, last.bytes);
    if (last.saved_ns != 0) exchange::record_saved(last.saved_ns);
    return MPI_SUCCESS;
  };
  if (device_backend() == nullptr)
    return last.method == Method::Pack ? run() : std::optional<int>();
  const auto* first = reinterpret_cast<const void*>(address_of(call.typed, last.first));
  if (!(classify(first) == last.typed) ||
      !(classify(call.packed + *call.position) == last.packed)) {
    return {};
  }
  return boundary(call.comm, run, run);
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
  Recent& last = recent(call.direction, call.type, call.count);
  last = {};
  last.key = exchange::key_of(call.type);
  last.generation = exchange::g_type_generation.load(std::memory_order_acquire);
  last.count = call.count;
  last.bytes = bytes;
  last.adjacent = cpu::default_kernels().nest->copy;
  std::byte* const packed = call.packed + *call.position;
  if (call.direction == Direction::Send) {
    last.adjacent(packed, call.typed, bytes);
  } else {
    last.adjacent(call.typed, packed, bytes);
  }
  call.finish(Method::Pack, bytes);
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

/// The general case. False: the system's business.
template <typename Count, typename Theirs>
bool run_first(const Call<Count>& call, Theirs&& theirs) {
  Examined found;
  const auto leave = [&](Reason reason) {
    note(call.function, Method::System, reason, found.bytes);
    return false;
  };
  exchange::TypeRecord* record = exchange::find_type(call.type);
  if (record == nullptr) return leave(Reason::UnknownType);
  if (call.count <= 0) return leave(call.count == 0 ? Reason::Empty : Reason::BadArguments);
  const bool device = device_backend() != nullptr;
  if (record->contiguous() && !device) {
    return copy_adjacent(call, *record) || leave(Reason::Contiguous);
  }
  bool kept = false;
  if (!resolve(call.typed, call.count, *record, found, &kept)) return leave(found.reason);
  const Typed& typed = found.typed;
  const bool fits = call.fits(found.bytes);
  Place packed_place;
  if (device) packed_place = classify(fits ? call.packed + *call.position : call.packed);
  const bool host = typed.place.in_host_memory() && packed_place.in_host_memory() && !typed.mixed;
  if (!fits && !host) refuse_short(call, found.bytes);
  if (!fits) return leave(Reason::BadArguments);
  if (host && record->contiguous()) return leave(Reason::Contiguous);

  if (typed.mixed) {
    exchange::copy_mixed(call.direction, typed.shape->layout(), typed.address,
                         call.packed + *call.position, ByteRange::all());
    call.finish(Method::Pack, found.bytes);
    return true;
  }
  const CopyPlan& plan = host ? typed.shape->plan(call.direction, {}, {})
                              : typed.shape->plan(call.direction, typed.place, packed_place);
  const Method method = host                     ? Method::Pack
                        : packed_place.on_host() ? Method::OneShot
                                                 : Method::Device;
  const auto ours = [&] { call.run(plan); };
  std::int64_t saved_ns = 0;
  if (host && summary_wanted()) {
    saved_ns = run_sampled(call.direction, *typed.shape, ours, theirs);
  } else {
    ours();
  }
  // Absolute addresses may lie anywhere the next time.
  if (kept && call.typed != nullptr) {
    Recent& last = recent(call.direction, call.type, call.count);
    last = {};
    last.key = exchange::key_of(call.type);
    last.generation = exchange::g_type_generation.load(std::memory_order_acquire);
    last.count = call.count;
    last.bytes = found.bytes;
    last.lowest = typed.shape->layout().bounds().begin;
    last.first = typed.shape->layout().offset();
    last.saved_ns = saved_ns;
    last.plan = &plan;
    last.method = method;
    last.typed = typed.place;
    last.packed = packed_place;
    const CopyPlan::Impl* const impl = plan.impl();
    if (host && saved_ns == 0 && impl != nullptr && impl->op != nullptr) {
      if (typed.shape->dense()) {
        last.adjacent = cpu::default_kernels().nest->copy;
      } else {
        last.op = impl->op.get();
      }
    }
  }
  call.finish(method, found.bytes);
  return true;
}

template <typename Count>
[[gnu::noinline]] int run_any(const Call<Count> call) {
  if (const std::optional<int> code = run_again(call)) return *code;
  const auto theirs = [&] { return call.ask_system(call.position); };
  const auto sample = [&] {
    Count position = *call.position;
    call.ask_system(&position);
  };
  return boundary(call.comm, theirs,
                  [&] { return run_first(call, sample) ? MPI_SUCCESS : theirs(); });
}

template <typename Count>
inline int pack(const void* in, Count count, MPI_Datatype type, void* out, Count size,
                Count* position, MPI_Comm comm) {
  const Call<Count> call = {Function::MPI_Pack,
                            Direction::Send,
                            count,
                            static_cast<std::byte*>(const_cast<void*>(in)),
                            type,
                            static_cast<std::byte*>(out),
                            size,
                            position,
                            comm};
  return run_at_once(call) ? MPI_SUCCESS : run_any(call);
}

template <typename Count>
inline int unpack(const void* in, Count size, Count* position, void* out, Count count,
                  MPI_Datatype type, MPI_Comm comm) {
  const Call<Count> call = {Function::MPI_Unpack,
                            Direction::Receive,
                            count,
                            static_cast<std::byte*>(out),
                            type,
                            static_cast<std::byte*>(const_cast<void*>(in)),
                            size,
                            position,
                            comm};
  return run_at_once(call) ? MPI_SUCCESS : run_any(call);
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
