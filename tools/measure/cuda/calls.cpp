/// \file  CPU time of calls of the CUDA runtime. The queue is drained between batches, so that the
/// time is that of the call and never the rate at which the device takes work off the queue.
/// Sources: dissertation 3.3.7, table 3.2, fig. 3.12.
#include <cuda.h>
#include <fmt/format.h>

#include <barrier>
#include <thread>

#include "measure/cuda/cases.hpp"
#include "measure/cuda/traffic.hpp"
#include "strake/error.hpp"

namespace strake::measure::cuda {
namespace {

// Far fewer than the queue of a stream takes (1024), and enough for a clock of 25 ns.
constexpr std::int64_t kBatch = 32;

/// The call that each thread makes, on a stream of its own. `after` is not timed.
struct Call {
  std::function<void(cudaStream_t, int thread)> call;
  std::function<void(cudaStream_t)> after = [](cudaStream_t stream) {
    check(cudaStreamSynchronize(stream));
  };
  std::int64_t batch = kBatch;
};

/// Seconds that `iterations` calls took, as the thread sees them.
double time_batches(const Call& what, cudaStream_t stream, int thread, std::int64_t iterations) {
  double seconds = 0;
  while (iterations > 0) {
    const std::int64_t count = std::min(iterations, what.batch);
    seconds += measure::time_calls(count, [&] { what.call(stream, thread); });
    what.after(stream);
    iterations -= count;
  }
  return seconds;
}

/// `threads` threads call at once; the mean of their times.
std::unique_ptr<Instance> make_call(Call what, int threads, std::function<void()> verify) {
  std::vector<std::shared_ptr<OwnedStream>> streams;
  for (int i = 0; i < threads; ++i) {
    streams.push_back(std::make_shared<OwnedStream>(0));
    what.call(streams.back()->get(), i);  // loads what is loaded at first use
    what.after(streams.back()->get());
  }
  return timed(
      0,
      [=](std::int64_t iterations) {
        if (threads == 1) return time_batches(what, streams[0]->get(), 0, iterations);
        std::barrier together(threads);
        std::vector<double> seconds(static_cast<std::size_t>(threads));
        std::vector<std::string> faults(static_cast<std::size_t>(threads));
        std::vector<std::thread> team;
        for (int i = 0; i < threads; ++i) {
          team.emplace_back([&, i] {
            const auto slot = static_cast<std::size_t>(i);
            try {
              check(cudaSetDevice(0));
              together.arrive_and_wait();
              seconds[slot] = time_batches(what, streams[slot]->get(), i, iterations);
            } catch (const std::exception& error) {
              faults[slot] = error.what();
            }
          });
        }
        for (std::thread& member : team) member.join();
        double sum = 0;
        for (std::size_t i = 0; i < seconds.size(); ++i) {
          if (!faults[i].empty()) throw Error(faults[i]);
          sum += seconds[i];
        }
        return sum / threads;
      },
      std::move(verify));
}

void nothing_moved() { check(cudaDeviceSynchronize()); }

/// A copy of 64 bytes for each thread.
std::unique_ptr<Instance> make_copy_call(int threads, bool three_dimensional) {
  std::vector<Move> moves;
  const Where from{three_dimensional ? Kind::Device : Kind::Pinned};
  for (int i = 0; i < threads; ++i) {
    moves.emplace_back(Where{Kind::Device}, from, 64, static_cast<std::uint64_t>(i + 1));
  }
  Call call;
  if (three_dimensional) {
    call.call = [moves](cudaStream_t stream, int thread) {
      const Move& move = moves[static_cast<std::size_t>(thread)];
      cudaMemcpy3DPeerParms copy{};
      copy.srcPtr = {move.from->data(), 16, 16, 4};
      copy.dstPtr = {move.to->data(), 16, 16, 4};
      copy.extent = {16, 4, 1};
      check(cudaMemcpy3DPeerAsync(&copy, stream));
    };
  } else {
    call.call = [moves](cudaStream_t stream, int thread) {
      const Move& move = moves[static_cast<std::size_t>(thread)];
      check(cudaMemcpyAsync(move.to->data(), move.from->data(), move.size(), cudaMemcpyHostToDevice,
                            stream));
    };
  }
  return make_call(std::move(call), threads, [moves] {
    for (const Move& move : moves) move.verify("copy of 64 bytes");
  });
}

std::unique_ptr<Instance> make_launch(int threads, int parameter_bytes) {
  Call call;
  call.call = [=](cudaStream_t stream, int) { check(launch_nothing(parameter_bytes, stream)); };
  return make_call(std::move(call), threads, nothing_moved);
}

/// An event in a stream: recorded, or asked about once it has passed.
std::unique_ptr<Instance> make_event_call(int threads, bool query) {
  std::vector<std::shared_ptr<OwnedEvent>> events;
  for (int i = 0; i < threads; ++i) events.push_back(std::make_shared<OwnedEvent>(0, false));
  Call call;
  call.call = [=](cudaStream_t stream, int thread) {
    const cudaEvent_t event = events[static_cast<std::size_t>(thread)]->get();
    check(query ? cudaEventQuery(event) : cudaEventRecord(event, stream));
  };
  return make_call(std::move(call), threads, nothing_moved);
}

std::unique_ptr<Instance> make_write_value() {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 13000
  check(cudaGetDriverEntryPointByVersion("cuStreamWriteValue64", &found, 12000, cudaEnableDefault,
                                         &result));
#else
  check(cudaGetDriverEntryPoint("cuStreamWriteValue64", &found, cudaEnableDefault, &result));
#endif
  if (found == nullptr) throw Unsupported("the driver has no cuStreamWriteValue64");
  const auto write =
      reinterpret_cast<CUresult (*)(CUstream, CUdeviceptr, cuuint64_t, unsigned)>(found);
  const SharedBuffer flag = make_buffer({Kind::Pinned}, 8);
  const auto value = std::make_shared<std::uint64_t>(0);
  Call call;
  call.call = [=](cudaStream_t stream, int) {
    const CUresult code = write(stream, reinterpret_cast<CUdeviceptr>(flag->data()), ++*value, 0);
    if (code != CUDA_SUCCESS) {
      throw CudaError(fmt::format("cuStreamWriteValue64: code {}", static_cast<int>(code)), code);
    }
  };
  return make_call(std::move(call), 1, [=] {
    if (*flag->as<volatile std::uint64_t>() != *value) {
      throw WrongData(fmt::format("stream write-value left {}, not {}",
                                  *flag->as<volatile std::uint64_t>(), *value));
    }
  });
}

using Synchronize = std::function<void(cudaStream_t, cudaEvent_t)>;

/// A kernel without work and the wait for it (busy), or the wait alone where nothing is left to do.
std::unique_ptr<Instance> make_synchronize(bool busy, unsigned event_flags,
                                           const Synchronize& synchronize) {
  cudaEvent_t raw = nullptr;
  check(cudaSetDevice(0));
  check(cudaEventCreateWithFlags(&raw, event_flags));
  const std::shared_ptr<CUevent_st> event(raw, [](cudaEvent_t e) { (void)cudaEventDestroy(e); });
  Call call;
  call.call = [=](cudaStream_t stream, int) {
    if (busy) {
      check(launch_nothing(0, stream));
      check(cudaEventRecord(event.get(), stream));
    }
    synchronize(stream, event.get());
  };
  return make_call(std::move(call), 1, nothing_moved);
}

void add_synchronize(Cases& cases) {
  const struct {
    const char* name;
    unsigned event_flags;
    Synchronize wait;
  } kWaits[] = {
      {"stream", cudaEventDisableTiming,
       [](cudaStream_t stream, cudaEvent_t) { check(cudaStreamSynchronize(stream)); }},
      {"event", cudaEventDisableTiming,
       [](cudaStream_t, cudaEvent_t event) { check(cudaEventSynchronize(event)); }},
      {"event-blocking", cudaEventDisableTiming | cudaEventBlockingSync,
       [](cudaStream_t, cudaEvent_t event) { check(cudaEventSynchronize(event)); }},
      {"device", cudaEventDisableTiming,
       [](cudaStream_t, cudaEvent_t) { check(cudaDeviceSynchronize()); }},
      {"event-query", cudaEventDisableTiming,
       [](cudaStream_t, cudaEvent_t event) {
         cudaError_t code = cudaErrorNotReady;
         while ((code = cudaEventQuery(event)) == cudaErrorNotReady) (void)cudaGetLastError();
         check(code);
       }},
  };
  for (const auto& wait : kWaits) {
    for (const bool busy : {false, true}) {
      const std::string prefix = busy ? "gpu/call/launch-and-wait/" : "gpu/call/wait/";
      add(cases, prefix + wait.name, 0, [busy, flags = wait.event_flags, how = wait.wait] {
        return make_synchronize(busy, flags, how);
      }).quick = busy && std::string(wait.name) == "stream";
    }
  }
}

/// How memory is taken and given back; only one half is timed.
struct Allocator {
  const char* name;
  std::function<void*(std::size_t, cudaStream_t)> take;
  std::function<void(void*, cudaStream_t)> give;
};

std::unique_ptr<Instance> make_allocation(const Allocator& by, std::int64_t bytes, bool time_take) {
  need_free(0, bytes);
  const auto stream = std::make_shared<OwnedStream>(0);
  const auto size = static_cast<std::size_t>(bytes);
  const auto once = [=] {
    void* memory = nullptr;
    const double taking = measure::time_calls(1, [&] { memory = by.take(size, stream->get()); });
    const double giving = measure::time_calls(1, [&] { by.give(memory, stream->get()); });
    check(cudaStreamSynchronize(stream->get()));
    return time_take ? taking : giving;
  };
  (void)once();
  return timed_each(0, once, nothing_moved);
}

void add_allocations(Cases& cases) {
  const Allocator kAllocators[] = {
      {"device",
       [](std::size_t size, cudaStream_t) {
         void* memory = nullptr;
         check(cudaMalloc(&memory, size));
         return memory;
       },
       [](void* memory, cudaStream_t) { check(cudaFree(memory)); }},
      {"pool",
       [](std::size_t size, cudaStream_t stream) {
         void* memory = nullptr;
         check(cudaMallocAsync(&memory, size, stream));
         return memory;
       },
       [](void* memory, cudaStream_t stream) { check(cudaFreeAsync(memory, stream)); }},
      {"pinned",
       [](std::size_t size, cudaStream_t) {
         void* memory = nullptr;
         check(cudaHostAlloc(&memory, size, cudaHostAllocDefault));
         return memory;
       },
       [](void* memory, cudaStream_t) { check(cudaFreeHost(memory)); }},
  };
  for (const Allocator& by : kAllocators) {
    for (const std::int64_t bytes : {4 * kKiB, kMiB, 64 * kMiB}) {
      for (const bool take : {true, false}) {
        add(cases, fmt::format("gpu/call/{}/{}", take ? "malloc" : "free", by.name), bytes,
            [=] { return make_allocation(by, bytes, take); });
      }
    }
  }
}

#if CUDART_VERSION >= 12080
/// One call that copies `count` times 4 KiB, events around it, against as many calls.
std::unique_ptr<Instance> make_batch(int count, bool one_call) {
  constexpr std::int64_t kEach = 4 * kKiB;
  const Move move({Kind::Device}, {Kind::Pinned}, count * kEach, 11);
  std::vector<void*> to;
  std::vector<const void*> from;
  for (int i = 0; i < count; ++i) {
    to.push_back(move.to->data() + i * kEach);
    from.push_back(move.from->data() + i * kEach);
  }
  const std::vector<std::size_t> sizes(static_cast<std::size_t>(count), kEach);
  Call call;
  call.batch = std::max<std::int64_t>(1, kBatch / count);
  call.call = [=](cudaStream_t stream, int) {
    if (!one_call) {
      for (std::size_t i = 0; i < to.size(); ++i) {
        check(cudaMemcpyAsync(to[i], from[i], sizes[i], cudaMemcpyHostToDevice, stream));
      }
      return;
    }
    cudaMemcpyAttributes attributes{};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    std::size_t first = 0;
#if CUDART_VERSION >= 13000
    check(cudaMemcpyBatchAsync(to.data(), from.data(), sizes.data(), to.size(), &attributes, &first,
                               1, stream));
#else
    std::vector<void*> sources;
    for (const void* source : from) sources.push_back(const_cast<void*>(source));
    std::vector<void*> targets = to;
    std::vector<std::size_t> lengths = sizes;
    std::size_t failed = 0;
    check(cudaMemcpyBatchAsync(targets.data(), sources.data(), lengths.data(), targets.size(),
                               &attributes, &first, 1, &failed, stream));
#endif
  };
  return make_call(std::move(call), 1, [=] { move.verify("batched copies"); });
}

void add_batches(Cases& cases) {
  for (const int count : {1, 4, 16, 64}) {
    for (const bool one_call : {true, false}) {
      add(cases, one_call ? "gpu/call/copy-batch" : "gpu/call/copy-loop", count * 4 * kKiB, [=] {
        return make_batch(count, one_call);
      }).count = count;
    }
  }
}
#else
void add_batches(Cases&) {}  // this runtime has no such call
#endif

}  // namespace

void add_calls(Cases& cases) {
  for (int threads = 1; threads <= 8; ++threads) {
    const auto put = [&](const std::string& name, MakeInstance make, bool quick = false) {
      Case& added = add(cases, "gpu/call/" + name, 0, std::move(make));
      added.count = threads;
      added.quick = quick && threads == 1;
    };
    for (const int bytes : {0, 1, 256, 4096}) {
      put(
          fmt::format("launch/{}B", bytes), [=] { return make_launch(threads, bytes); },
          bytes == 0 || bytes == 4096);
    }
    put(
        "memcpy-async", [=] { return make_copy_call(threads, false); }, true);
    put(
        "memcpy-3d-peer-async", [=] { return make_copy_call(threads, true); }, true);
    put(
        "event-record", [=] { return make_event_call(threads, false); }, true);
    put("event-query", [=] { return make_event_call(threads, true); });
  }
  add(cases, "gpu/call/stream-write-value", 0, make_write_value).quick = true;
  add_synchronize(cases);
  add_allocations(cases);
  add_batches(cases);
}

}  // namespace strake::measure::cuda
