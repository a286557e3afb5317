#include "put.hpp"

#include <chrono>
#include <cstdlib>
#include <thread>

#include "cuda_runtime_api.h"
#include "queue.hpp"
#include "strake/combine.hpp"
#include "stream.hpp"

namespace standin {

using strake::ByteRange;
using strake::Layout;

namespace {

Queue& queue_of(strake::DeviceStream& stream) { return static_cast<Stream&>(stream).queue(); }

std::vector<strake::CopyBatch::Copy> joined(std::span<const strake::CopyBatch::Copy> some,
                                            std::span<const strake::CopyBatch::Copy> more) {
  std::vector<strake::CopyBatch::Copy> all(some.begin(), some.end());
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

template <typename T>
strake::Combine combine_of(strake::ValueOp op) {
  switch (op) {
    case strake::ValueOp::Min:
      return strake::min<T>();
    case strake::ValueOp::Max:
      return strake::max<T>();
    default:
      return strake::sum<T>();
  }
}

strake::Combine combine_of(const strake::DeviceCombine& how) {
  switch (how.type) {
    case strake::ValueType::Float32:
      return combine_of<float>(how.op);
    case strake::ValueType::Int32:
      return combine_of<std::int32_t>(how.op);
    case strake::ValueType::Int64:
      return combine_of<std::int64_t>(how.op);
    case strake::ValueType::UInt32:
      return combine_of<std::uint32_t>(how.op);
    case strake::ValueType::UInt64:
      return combine_of<std::uint64_t>(how.op);
    default:
      return combine_of<double>(how.op);
  }
}

}  // namespace

DevicePut::DevicePut(const strake::PutCopies& copies, const strake::PutState& state, int device)
    : put_(copies.put, device),
      own_(copies.own, device),
      take_(copies.take, device),
      engine_out_(joined(copies.engine_put, copies.engine_own), device),
      engine_in_(copies.engine_take, device),
      has_engines_(
          copies.engine_put.size() + copies.engine_own.size() + copies.engine_take.size() != 0),
      combined_(copies.combined.begin(), copies.combined.end()),
      arrays_(copies.arrays.size()),
      buffers_(copies.buffers.begin(), copies.buffers.end()),
      counts_(
          reinterpret_cast<strake::PutCounts*>(reach(reinterpret_cast<std::byte*>(state.counts)))),
      progress_(state.progress) {
  const auto there = [](const std::uint64_t* flag) {
    return reinterpret_cast<std::uint64_t*>(reach(reinterpret_cast<const std::byte*>(flag)));
  };
  for (const strake::PutFlags& flags : state.flags)
    flags_.push_back({there(flags.there), flags.there_on_host, there(flags.here)});
}

void DevicePut::put(strake::DeviceStream& stream, std::span<std::byte* const> arrays,
                    std::uint64_t round_by_host, std::uint64_t ticket) const {
  copy_by_engines(stream, engine_out_, arrays, round_by_host);
  queue_of(stream).push(
      [this, puts = both(put_, arrays), owns = both(own_, arrays), round_by_host, ticket] {
        note(strake::PutCounts::kBegun);
        const std::uint64_t round = counts_->round + 1;
        if (has_engines_ && round != round_by_host) std::abort();
        for (const auto* const tasks : {&puts[round % 2], &owns[round % 2]})
          for (const auto& task : *tasks) task();
        counts_->round = round;
        for (const strake::PutFlags& flags : flags_) {
          __atomic_store_n(flags.there, round, __ATOMIC_RELEASE);
          __atomic_store_n(flags.there_on_host, round, __ATOMIC_RELEASE);
        }
        note(strake::PutCounts::kPut);
        if (ticket == 0) return;
        progress_->round = round;
        __atomic_store_n(&progress_->put_ticket, ticket, __ATOMIC_RELEASE);
      });
}

void DevicePut::take(strake::DeviceStream& stream, std::span<std::byte* const> arrays,
                     std::uint64_t round_by_host, std::uint64_t ticket, Await await) const {
  queue_of(stream).push([this, await] {
    const std::uint64_t round = counts_->round;
    for (const strake::PutFlags& flags : flags_) {
      const auto has_come = [&] { return __atomic_load_n(flags.here, __ATOMIC_ACQUIRE) >= round; };
      if (await == Await::No && !has_come()) std::abort();  // the caller has not looked
      while (!has_come() && __atomic_load_n(&progress_->given_up, __ATOMIC_ACQUIRE) == 0)
        std::this_thread::yield();
    }
    note(strake::PutCounts::kSeen);
  });
  copy_by_engines(stream, engine_in_, arrays, round_by_host);
  queue_of(stream).push([this, takes = both(take_, arrays), combines = combining(arrays), ticket] {
    const std::uint64_t round = counts_->round;
    for (const auto& task : takes[round % 2]) task();
    for (const auto& task : combines[round % 2]) task();
    note(strake::PutCounts::kEnded);
    if (ticket != 0) __atomic_store_n(&progress_->taken_ticket, ticket, __ATOMIC_RELEASE);
  });
}

void DevicePut::run(strake::DeviceStream& stream, std::span<std::byte* const> arrays,
                    std::uint64_t round) const {
  put(stream, arrays, round, 0);
  take(stream, arrays, round, 0, Await::Soon);
}

void DevicePut::copy_by_engines(strake::DeviceStream& stream, const Batch& batch,
                                std::span<std::byte* const> arrays, std::uint64_t round) const {
  if (!has_engines_) return;
  queue_of(stream).push([all = both(batch, arrays)[round % 2]] {
    for (const auto& task : all) task();
  });
}

std::array<DevicePut::Tasks, 2> DevicePut::both(const Batch& batch,
                                                std::span<std::byte* const> arrays) const {
  std::array<Tasks, 2> made;
  for (const std::size_t parity : {0U, 1U}) {
    std::vector<std::byte*> bases(arrays.begin(), arrays.end());
    for (const auto& buffer : buffers_) bases.push_back(buffer[parity]);
    made[parity] = batch.tasks(bases);
  }
  return made;
}

std::array<DevicePut::Tasks, 2> DevicePut::combining(std::span<std::byte* const> arrays) const {
  std::array<Tasks, 2> made;
  for (const std::size_t parity : {0U, 1U}) {
    for (const auto& [copy, how] : combined_) {
      const auto base = [&](std::int32_t slot) {
        const auto i = static_cast<std::size_t>(slot);
        return i < arrays_ ? arrays[i] : buffers_[i - arrays_][parity];
      };
      made[parity].push_back(
          [copy = copy, how = how, to = base(copy.to_slot), from = base(copy.from_slot)] {
            std::vector<std::byte> came(static_cast<std::size_t>(copy.to.size_bytes()));
            Plan(Layout::dense(copy.to.size_bytes()), copy.from, 0)
                .task(came.data(), from, ByteRange::all())();
            const std::byte* next = came.data();
            copy.to.for_each_block([&](std::int64_t offset, std::int64_t bytes) {
              combine_of(how)(reach(to + offset), next, bytes);
              next += bytes;
            });
          });
    }
  }
  return made;
}

void DevicePut::note(strake::PutCounts::Stage stage) const {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  counts_->times[stage] =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace standin
