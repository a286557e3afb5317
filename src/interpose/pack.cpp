// MPI_Pack and MPI_Unpack: one copy, straight between the user's two buffers.
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>

#include "interpose/examine.hpp"
#include "interpose/summary.hpp"

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

/// A copy that this thread ran lately: all that the next call with the same arguments needs.
struct Recent {
  std::uint64_t key = 0;
  std::uint64_t generation = 0;
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  std::int64_t lowest = 0;
  std::int64_t first = 0;  ///< offset of the first packed byte
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
  const std::uint64_t mixed =
      (exchange::key_of(type) + static_cast<std::uint64_t>(count)) * 0x9E3779B97F4A7C15U;
  return exchange::PerThread<RecentTable>::get()[static_cast<std::size_t>(direction)]
                                                [mixed >> (64 - kRecentBits)];
}

/// What a call asks for, in one form for packing (Send) and unpacking (Receive).
template <typename Count>
struct Call {
  Function function;
  Direction direction;
  std::byte* typed;
  Count count;
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
  void finish(Method method, std::int64_t bytes) const {
    *position += static_cast<Count>(bytes);
    note(function, method, Reason::None, bytes);
  }
};

bool cpu_reaches(Place place) {
  return place.kind == MemoryKind::Host || place.kind == MemoryKind::Pinned;
}

/// The same copy again: a few nanoseconds beyond the copy in a process without a device, else the
/// time of asking where the two buffers lie. Nothing where it is another copy.
template <typename Count>
std::optional<int> run_again(const Call<Count>& call) {
  const Recent& last = recent(call.direction, call.type, call.count);
  if (last.key != exchange::key_of(call.type) || last.count != call.count || t_depth != 0 ||
      last.generation != exchange::g_type_generation.load(std::memory_order_acquire) ||
      !call.fits(last.bytes) || call.typed == nullptr ||
      address_of(call.typed, last.lowest) < kFirstPage) {
    return {};
  }
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
  if (record->contiguous() && !device) return leave(Reason::Contiguous);
  bool kept = false;
  if (!resolve(call.typed, call.count, *record, found, &kept)) return leave(found.reason);
  if (!call.fits(found.bytes)) return leave(Reason::BadArguments);
  const Typed& typed = found.typed;
  Place packed_place;
  if (device) packed_place = classify(call.packed + *call.position);
  const bool host = cpu_reaches(typed.place) && cpu_reaches(packed_place) && !typed.mixed;
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
    recent(call.direction, call.type, call.count) = {
        exchange::key_of(call.type),
        exchange::g_type_generation.load(std::memory_order_acquire),
        call.count,
        found.bytes,
        typed.shape->layout().bounds().begin,
        typed.shape->layout().offset(),
        saved_ns,
        &plan,
        method,
        typed.place,
        packed_place};
  }
  call.finish(method, found.bytes);
  return true;
}

template <typename Real, typename Count>
int pack(Real real, const void* in, Count count, MPI_Datatype type, void* out, Count size,
         Count* position, MPI_Comm comm) {
  const Call<Count> call = {Function::MPI_Pack,
                            Direction::Send,
                            static_cast<std::byte*>(const_cast<void*>(in)),
                            count,
                            type,
                            static_cast<std::byte*>(out),
                            size,
                            position,
                            comm};
  if (const std::optional<int> code = run_again(call)) return *code;
  const auto theirs = [&] { return real(in, count, type, out, size, position, comm); };
  const auto sample = [&] {
    Count at = *position;
    real(in, count, type, out, size, &at, comm);
  };
  return boundary(comm, theirs, [&] { return run_first(call, sample) ? MPI_SUCCESS : theirs(); });
}

template <typename Real, typename Count>
int unpack(Real real, const void* in, Count size, Count* position, void* out, Count count,
           MPI_Datatype type, MPI_Comm comm) {
  const Call<Count> call = {Function::MPI_Unpack,
                            Direction::Receive,
                            static_cast<std::byte*>(out),
                            count,
                            type,
                            static_cast<std::byte*>(const_cast<void*>(in)),
                            size,
                            position,
                            comm};
  if (const std::optional<int> code = run_again(call)) return *code;
  const auto theirs = [&] { return real(in, size, position, out, count, type, comm); };
  const auto sample = [&] {
    Count at = *position;
    real(in, size, &at, out, count, type, comm);
  };
  return boundary(comm, theirs, [&] { return run_first(call, sample) ? MPI_SUCCESS : theirs(); });
}

}  // namespace
}  // namespace strake::interpose

using namespace strake::interpose;

STRAKE_MPI int MPI_Pack(const void* in, int count, MPI_Datatype type, void* out, int size,
                        int* position, MPI_Comm comm) {
  return pack(next().MPI_Pack, in, count, type, out, size, position, comm);
}

STRAKE_MPI int MPI_Unpack(const void* in, int size, int* position, void* out, int count,
                          MPI_Datatype type, MPI_Comm comm) {
  return unpack(next().MPI_Unpack, in, size, position, out, count, type, comm);
}

// The external32 form has a byte order of its own: the system's business.
STRAKE_MPI int MPI_Pack_external(const char representation[], const void* in, int count,
                                 MPI_Datatype type, void* out, MPI_Aint size, MPI_Aint* position) {
  return next().MPI_Pack_external(representation, in, count, type, out, size, position);
}

STRAKE_MPI int MPI_Unpack_external(const char representation[], const void* in, MPI_Aint size,
                                   MPI_Aint* position, void* out, int count, MPI_Datatype type) {
  return next().MPI_Unpack_external(representation, in, size, position, out, count, type);
}

#if STRAKE_MPI_LARGE_COUNTS
STRAKE_MPI int MPI_Pack_c(const void* in, MPI_Count count, MPI_Datatype type, void* out,
                          MPI_Count size, MPI_Count* position, MPI_Comm comm) {
  return pack(next().MPI_Pack_c, in, count, type, out, size, position, comm);
}

STRAKE_MPI int MPI_Unpack_c(const void* in, MPI_Count size, MPI_Count* position, void* out,
                            MPI_Count count, MPI_Datatype type, MPI_Comm comm) {
  return unpack(next().MPI_Unpack_c, in, size, position, out, count, type, comm);
}
#endif
