// The plug-in for the stand-in's memory. Its queues are threads that take their time, differently
// for each piece of work: what was enqueued is hardly ever done when it is first asked for.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "copy/device_copier.hpp"
#include "cuda_runtime_api.h"
#include "strake/combine.hpp"
#include "strake/error.hpp"

namespace standin {
namespace {

using strake::AllocationInfo;
using strake::ByteRange;
using strake::CopyPlan;
using strake::Layout;
using strake::MemoryKind;
using strake::Place;
using strake::Ticket;

constexpr int kSlowestUs = 300;

class Queue final : public strake::Queue {
 public:
  explicit Queue(int device, strake::QueueOrder order = strake::QueueOrder::AfterDefault)
      : device_(device), order_(order), worker_([this] { work(); }) {}
  ~Queue() override {
    push({});
    worker_.join();
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  Ticket push(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    const bool after = task && order_ == strake::QueueOrder::AfterDefault;
    tasks_.push_back({std::move(task), after ? default_work() : 0});
    wake_.notify_one();
    return {&done_, ++issued_};
  }

  Ticket copy(void* to, const void* from, std::int64_t bytes) override {
    return push([to = reach(to), from = reach(from), bytes] {
      std::memcpy(to, from, static_cast<std::size_t>(bytes));
    });
  }

  void wait_for(const strake::Queue& /*other*/, Ticket ticket) override {
    push([ticket] {
      while (!reached(ticket)) std::this_thread::yield();
    });
  }

  bool idle() {
    const std::lock_guard lock(mutex_);
    return reached({&done_, issued_});
  }
  bool done(Ticket ticket) override { return reached(ticket); }
  void wait(Ticket ticket) override {
    while (!reached(ticket)) std::this_thread::yield();
  }
  int device() const noexcept override { return device_; }

 private:
  static bool reached(Ticket ticket) {
    return ticket.progress == nullptr ||
           __atomic_load_n(ticket.progress, __ATOMIC_ACQUIRE) >= ticket.value;
  }

  void work() {
    std::minstd_rand random(std::random_device{}());
    for (;;) {
      Task task;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return !tasks_.empty(); });
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      if (!task.run) return;
      while (!default_work_done(task.after)) std::this_thread::yield();
      const auto delay = random() % (2 * kSlowestUs);  // half of them go at once
      if (delay < kSlowestUs) std::this_thread::sleep_for(std::chrono::microseconds(delay));
      task.run();
      __atomic_add_fetch(&done_, 1, __ATOMIC_RELEASE);
    }
  }

  struct Task {
    std::function<void()> run;
    std::uint64_t after = 0;  ///< of the default stream's work
  };
  int device_;
  strake::QueueOrder order_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> tasks_;
  std::uint64_t issued_ = 0;
  volatile std::uint64_t done_ = 0;
  std::thread worker_;
};

class Marker final : public strake::Marker {
 public:
  explicit Marker(int device) : queue_(device) {}
  std::uint64_t mark() override {
    last_ = queue_.push([] {});
    return last_.value;
  }
  bool reached(std::uint64_t mark) override { return queue_.done({last_.progress, mark}); }

 private:
  Queue queue_;
  Ticket last_;
};

class Event final : public strake::DeviceEvent {
 public:
  explicit Event(int device) : device_(device) {}
  int device() const noexcept override { return device_; }
  bool query() const override { return queue_ == nullptr || queue_->done(ticket_); }
  void synchronize() const override {
    if (queue_ != nullptr) queue_->wait(ticket_);
  }

 private:
  friend class Stream;
  int device_;
  Queue* queue_ = nullptr;
  Ticket ticket_;
};

class Stream final : public strake::DeviceStream {
 public:
  explicit Stream(int device, strake::QueueOrder order = strake::QueueOrder::Own)
      : queue_(device, order) {}
  ~Stream() override { synchronize(); }
  int device() const noexcept override { return queue_.device(); }
  void* native() const noexcept override { return &queue_; }
  bool capturing() const override { return false; }
  void record(strake::DeviceEvent& event) override {
    auto& own = static_cast<Event&>(event);
    own.queue_ = &queue_;
    own.ticket_ = queue_.push([] {});
  }
  void wait(const strake::DeviceEvent& event) override {
    const auto& own = static_cast<const Event&>(event);
    if (own.queue_ != nullptr) queue_.wait_for(*own.queue_, own.ticket_);
  }
  bool query() const override { return queue_.idle(); }
  void synchronize() const override {
    queue_.wait(queue_.push([] {}));
  }

  Queue& queue() noexcept { return queue_; }

 private:
  mutable Queue queue_;
};

class Plan final : public strake::DevicePlan {
 public:
  Plan(const Layout& to, const Layout& from, int device)
      : plan_(CopyPlan::compile(to, Place{}, from, Place{})),
        to_begin_(to.bounds().begin),
        from_begin_(from.bounds().begin),
        device_(device) {}

  std::int64_t size_bytes() const noexcept override { return plan_.size_bytes(); }
  std::string description() const override { return "stand-in " + plan_.description(); }
  int device() const noexcept override { return device_; }
  Ticket enqueue(strake::Queue& queue, std::byte* to, const std::byte* from,
                 ByteRange part) const override {
    return static_cast<Queue&>(queue).push(task(to, from, part));
  }
  void enqueue(strake::DeviceStream& stream, std::byte* to, const std::byte* from,
               ByteRange part) const override {
    (void)enqueue(static_cast<Stream&>(stream).queue(), to, from, part);
  }
  bool staged() const noexcept override { return false; }

  std::function<void()> task(std::byte* to, const std::byte* from, ByteRange part) const {
    // The base of a layout may lie outside of its memory.
    std::byte* const to_there = reach(to + to_begin_) - to_begin_;
    const std::byte* const from_there = reach(from + from_begin_) - from_begin_;
    return [this, to_there, from_there, part] { plan_.run(to_there, from_there, part); };
  }

 private:
  CopyPlan plan_;
  std::int64_t to_begin_;
  std::int64_t from_begin_;
  int device_;
};

bool has_kernels() noexcept { return std::getenv("STANDIN_NO_KERNELS") == nullptr; }

/// One task for all copies.
class Batch final : public strake::DeviceBatch {
 public:
  Batch(std::span<const strake::CopyBatch::Copy> copies, int device) {
    for (const auto& copy : copies) {
      runs_.push_back({std::make_unique<Plan>(copy.to, copy.from, device),
                       static_cast<std::size_t>(copy.to_slot),
                       static_cast<std::size_t>(copy.from_slot)});
    }
  }
  std::string description() const override { return "stand-in batch"; }
  void enqueue(strake::DeviceStream& stream, std::span<std::byte* const> bases) const override {
    (void)enqueue(static_cast<Stream&>(stream).queue(), bases);
  }
  Ticket enqueue(strake::Queue& queue, std::span<std::byte* const> bases) const override {
    return static_cast<Queue&>(queue).push([all = tasks(bases)] {
      for (const auto& task : all) task();
    });
  }

  std::vector<std::function<void()>> tasks(std::span<std::byte* const> bases) const {
    std::vector<std::function<void()>> made;
    for (const Run& run : runs_)
      made.push_back(run.plan->task(bases[run.to], bases[run.from], ByteRange::all()));
    return made;
  }

 private:
  struct Run {
    std::unique_ptr<Plan> plan;
    std::size_t to;
    std::size_t from;
  };
  std::vector<Run> runs_;
};

/// What a device does with flags and counts, in tasks of the stream's thread.
class Mail final : public strake::DeviceMail {
 public:
  Mail(const strake::MailCopies& copies, const strake::MailState& state, int device)
      : put_(copies.put, device),
        own_(copies.own, device),
        take_(copies.take, device),
        engine_out_(joined(copies.engine_put, copies.engine_own), device),
        engine_in_(copies.engine_take, device),
        has_engines_(
            copies.engine_put.size() + copies.engine_own.size() + copies.engine_take.size() != 0),
        combined_(copies.combined.begin(), copies.combined.end()),
        arrays_(copies.arrays.size()),
        boxes_(copies.boxes.begin(), copies.boxes.end()),
        counts_(reinterpret_cast<strake::MailCounts*>(
            reach(reinterpret_cast<std::byte*>(state.counts)))),
        progress_(state.progress) {
    const auto there = [](const std::uint64_t* flag) {
      return reinterpret_cast<std::uint64_t*>(reach(reinterpret_cast<const std::byte*>(flag)));
    };
    for (const strake::MailFlags& flags : state.flags)
      flags_.push_back({there(flags.there), flags.there_on_host, there(flags.here)});
  }

  void put(strake::DeviceStream& stream, std::span<std::byte* const> arrays,
           std::uint64_t round_by_host, std::uint64_t ticket) const override {
    copy_by_engines(stream, engine_out_, arrays, round_by_host);
    queue_of(stream).push(
        [this, puts = both(put_, arrays), owns = both(own_, arrays), round_by_host, ticket] {
          note(strake::MailCounts::kBegun);
          const std::uint64_t round = counts_->round + 1;
          if (has_engines_ && round != round_by_host) std::abort();
          for (const auto* const tasks : {&puts[round % 2], &owns[round % 2]})
            for (const auto& task : *tasks) task();
          counts_->round = round;
          for (const strake::MailFlags& flags : flags_) {
            __atomic_store_n(flags.there, round, __ATOMIC_RELEASE);
            __atomic_store_n(flags.there_on_host, round, __ATOMIC_RELEASE);
          }
          note(strake::MailCounts::kPut);
          if (ticket == 0) return;
          progress_->round = round;
          __atomic_store_n(&progress_->put_ticket, ticket, __ATOMIC_RELEASE);
        });
  }
  void take(strake::DeviceStream& stream, std::span<std::byte* const> arrays,
            std::uint64_t round_by_host, std::uint64_t ticket, Await await) const override {
    queue_of(stream).push([this, await] {
      const std::uint64_t round = counts_->round;
      for (const strake::MailFlags& flags : flags_) {
        const auto has_come = [&] {
          return __atomic_load_n(flags.here, __ATOMIC_ACQUIRE) >= round;
        };
        if (await == Await::No && !has_come()) std::abort();  // the caller has not looked
        while (!has_come() && __atomic_load_n(&progress_->given_up, __ATOMIC_ACQUIRE) == 0)
          std::this_thread::yield();
      }
      note(strake::MailCounts::kSeen);
    });
    copy_by_engines(stream, engine_in_, arrays, round_by_host);
    queue_of(stream).push(
        [this, takes = both(take_, arrays), combines = combining(arrays), ticket] {
          const std::uint64_t round = counts_->round;
          for (const auto& task : takes[round % 2]) task();
          for (const auto& task : combines[round % 2]) task();
          note(strake::MailCounts::kEnded);
          if (ticket != 0) __atomic_store_n(&progress_->taken_ticket, ticket, __ATOMIC_RELEASE);
        });
  }
  void run(strake::DeviceStream& stream, std::span<std::byte* const> arrays,
           std::uint64_t round) const override {
    put(stream, arrays, round, 0);
    take(stream, arrays, round, 0, Await::Soon);
  }

 private:
  using Tasks = std::vector<std::function<void()>>;
  void note(strake::MailCounts::Stage stage) const {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    counts_->times[stage] = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  }
  static Queue& queue_of(strake::DeviceStream& stream) {
    return static_cast<Stream&>(stream).queue();
  }
  static std::vector<strake::CopyBatch::Copy> joined(
      std::span<const strake::CopyBatch::Copy> some,
      std::span<const strake::CopyBatch::Copy> more) {
    std::vector<strake::CopyBatch::Copy> all(some.begin(), some.end());
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  /// Between addresses of now, as engines do.
  void copy_by_engines(strake::DeviceStream& stream, const Batch& batch,
                       std::span<std::byte* const> arrays, std::uint64_t round) const {
    if (!has_engines_) return;
    queue_of(stream).push([all = both(batch, arrays)[round % 2]] {
      for (const auto& task : all) task();
    });
  }
  /// Of even rounds, and of odd ones.
  [[nodiscard]] std::array<Tasks, 2> both(const Batch& batch,
                                          std::span<std::byte* const> arrays) const {
    std::array<Tasks, 2> made;
    for (const std::size_t parity : {0U, 1U}) {
      std::vector<std::byte*> bases(arrays.begin(), arrays.end());
      for (const auto& box : boxes_) bases.push_back(box[parity]);
      made[parity] = batch.tasks(bases);
    }
    return made;
  }

  [[nodiscard]] std::array<Tasks, 2> combining(std::span<std::byte* const> arrays) const {
    std::array<Tasks, 2> made;
    for (const std::size_t parity : {0U, 1U}) {
      for (const auto& [copy, how] : combined_) {
        const auto base = [&](std::int32_t slot) {
          const auto i = static_cast<std::size_t>(slot);
          return i < arrays_ ? arrays[i] : boxes_[i - arrays_][parity];
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
  template <typename T>
  static strake::Combine combine_of(strake::ValueOp op) {
    switch (op) {
      case strake::ValueOp::Min:
        return strake::min<T>();
      case strake::ValueOp::Max:
        return strake::max<T>();
      default:
        return strake::sum<T>();
    }
  }
  static strake::Combine combine_of(const strake::DeviceCombine& how) {
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

  Batch put_, own_, take_;
  Batch engine_out_, engine_in_;
  bool has_engines_;
  std::vector<strake::MailCopies::Combined> combined_;
  std::size_t arrays_;
  std::vector<strake::MailCopies::Box> boxes_;
  strake::MailCounts* counts_;
  strake::MailProgress* progress_;
  std::vector<strake::MailFlags> flags_;
};

class Copier final : public strake::DeviceCopier {
 public:
  std::unique_ptr<strake::DevicePlan> compile(const Layout& to, Place to_place, const Layout& from,
                                              Place from_place, strake::CopyVariant /*variant*/,
                                              int device) override {
    if (!has_kernels()) throw strake::Unsupported("the stand-in has no kernels");
    return std::make_unique<Plan>(
        to, from, device >= 0 ? device : std::max({to_place.device, from_place.device, 0}));
  }

  std::unique_ptr<strake::DeviceBatch> compile_batch(
      int device, std::span<const Place> /*slots*/,
      std::span<const strake::CopyBatch::Copy> copies) override {
    if (!has_kernels()) throw strake::Unsupported("the stand-in has no kernels");
    return std::make_unique<Batch>(copies, device);
  }

  std::unique_ptr<strake::DeviceMail> compile_mail(int device, const strake::MailCopies& copies,
                                                   const strake::MailState& state) override {
    if (!has_kernels()) throw strake::Unsupported("the stand-in has no kernels");
    return std::make_unique<Mail>(copies, state, device);
  }

  Ticket enqueue_together(strake::Queue& queue, std::span<const strake::BatchRun> runs) override {
    Ticket last;
    for (const strake::BatchRun& run : runs) {
      std::byte* const bases[] = {run.to, const_cast<std::byte*>(run.from)};
      last = run.batch->enqueue(queue, bases);
    }
    return last;
  }
};

strake::Exportable sharing_of(const Allocation& allocation) {
  if (allocation.file < 0 || allocation.sharing == Sharing::None ||
      std::getenv("STANDIN_NO_SHARING") != nullptr)
    return strake::Exportable::No;
  return allocation.sharing == Sharing::Pieces ? strake::Exportable::ByPieces
                                               : strake::Exportable::ByHandle;
}

class Backend final : public strake::DeviceBackend {
 public:
  const char* name() const noexcept override { return "stand-in"; }
  int device_count() const noexcept override { return 2; }

  bool usable(int /*device*/) const noexcept override { return has_kernels(); }

  void require_intact(int device) const override {
    if (was_reset()) throw strake::CudaError("the stand-in was reset", device);
  }
  bool query(const void* address, AllocationInfo& info) const noexcept override {
    Allocation found;
    if (!find(address, found)) return false;
    info = {{found.pinned ? MemoryKind::Pinned : MemoryKind::Device, found.device},
            found.base,
            found.bytes,
            found.id,
            sharing_of(found)};
    return true;
  }

  bool knows(const void* address, std::uint64_t& buffer_id) const noexcept override {
    Allocation found;
    if (!find(address, found)) return false;
    buffer_id = found.id;
    return true;
  }

  std::unique_ptr<strake::Queue> make_queue(int device, strake::QueueOrder order) override {
    return std::make_unique<Queue>(device, order);
  }

  std::unique_ptr<strake::Marker> make_marker(int device) override {
    return std::make_unique<Marker>(device);
  }

  std::unique_ptr<strake::DeviceStream> make_stream(int device, StreamOf /*use*/) override {
    return std::make_unique<Stream>(device);
  }
  std::unique_ptr<strake::DeviceStream> adopt_stream(void* stream, int device) override {
    if (stream != nullptr)
      throw strake::Unsupported("the stand-in has no streams but those it makes");
    return std::make_unique<Stream>(device, strake::QueueOrder::AfterDefault);
  }
  std::unique_ptr<strake::DeviceEvent> make_event(int device) override {
    return std::make_unique<Event>(device);
  }

  void* allocate(Place place, std::int64_t bytes) override {
    const bool pinned = place.kind == MemoryKind::Pinned;
    const char* const room = std::getenv(pinned ? "STANDIN_PINNED_MIB" : "STANDIN_DEVICE_MIB");
    auto& taken = taken_[pinned ? 1 : 0];
    if (room != nullptr && taken + bytes > std::atoll(room) << 20) {
      throw strake::OutOfMemory("the stand-in has no more memory");
    }
    taken += bytes;
    return standin::allocate(static_cast<std::size_t>(bytes), place.device,
                             place.kind == MemoryKind::Pinned);
  }
  void deallocate(Place place, void* address) noexcept override {
    Allocation gone;
    if (find(address, gone)) {
      taken_[place.kind == MemoryKind::Pinned ? 1 : 0] -= static_cast<std::int64_t>(gone.bytes);
    }
    standin::deallocate(address);
  }

  // Ranks share its devices, unless STANDIN_OWN_DEVICES=1.
  std::uint64_t identity(int device) const noexcept override {
    const bool own = std::getenv("STANDIN_OWN_DEVICES") != nullptr;
    return (own ? static_cast<std::uint64_t>(getpid()) * 8 : 0) +
           static_cast<std::uint64_t>(device) + 1;
  }
  bool reach_peer(int /*device*/, int /*other*/) override {
    return std::getenv("STANDIN_NO_SHARING") == nullptr;
  }
  std::byte* map_host(int /*device*/, std::byte* memory, std::int64_t bytes) override {
    const std::lock_guard lock(mapped_mutex_);
    for (const auto& [begin, mapped] : mapped_)
      if (begin < memory + bytes && memory < begin + mapped.bytes &&
          (begin != memory || mapped.bytes != bytes))
        throw strake::CudaError("some of this memory is mapped already", 1);
    mapped_[memory].bytes = bytes;
    ++mapped_[memory].times;
    return memory;
  }
  void unmap_host(int /*device*/, std::byte* memory) noexcept override {
    const std::lock_guard lock(mapped_mutex_);
    if (--mapped_[memory].times == 0) mapped_.erase(memory);
  }

  // By the files of the exporting process.
  bool export_memory(Place /*place*/, const strake::MemoryPiece& whole,
                     strake::ExportedMemory& made) const noexcept override {
    Allocation found;
    if (!find(reinterpret_cast<const void*>(whole.base), found) || found.file < 0) return false;
    const int handle[] = {getpid(), found.file};
    std::memcpy(made.handle.data(), handle, sizeof(handle));
    made.base = found.base;
    made.bytes = static_cast<std::int64_t>(found.bytes);
    return true;
  }
  std::vector<strake::MemoryPiece> pieces_around(const void* address,
                                                 std::size_t most) const override {
    Allocation found;
    std::vector<strake::MemoryPiece> pieces;
    if (!find(address, found)) return pieces;
    auto at = found.base;
    for (Allocation before = found; at != found.whole && (found.base - at) / kPiece < most / 2;) {
      (void)find(reinterpret_cast<const void*>(at - kPiece), before);
      at = before.base;
    }
    const std::uintptr_t whole = found.whole;
    for (; pieces.size() < most && find(reinterpret_cast<const void*>(at), found) &&
           found.whole == whole && found.base == at;
         at += kPiece)
      pieces.push_back({at, static_cast<std::int64_t>(found.bytes), found.id});
    return pieces;
  }
  int export_piece(const strake::MemoryPiece& piece) const noexcept override {
    Allocation found;
    if (!find(reinterpret_cast<const void*>(piece.base), found) || found.id != piece.buffer_id)
      return -1;
    return dup(found.file);
  }
  std::byte* import_memory(const strake::ExportedMemory& memory, std::span<const int> descriptors,
                           Place& place) override {
    place = {MemoryKind::Device, place.device < 0 ? current_device() : place.device};
    if (memory.pieces != 0) {
      std::vector<std::size_t> bytes;
      for (std::size_t i = 0; i < descriptors.size(); ++i)
        bytes.push_back(memory.piece_units[i] * kPiece);
      return static_cast<std::byte*>(
          import_files(descriptors.data(), bytes.data(), descriptors.size()));
    }
    int handle[2];
    std::memcpy(handle, memory.handle.data(), sizeof(handle));
    const std::string path =
        "/proc/" + std::to_string(handle[0]) + "/fd/" + std::to_string(handle[1]);
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) throw strake::CudaError("no memory of the stand-in is at " + path, 1);
    const auto bytes = static_cast<std::size_t>(memory.bytes);
    void* const made = import_files(&file, &bytes, 1);
    close(file);
    return static_cast<std::byte*>(made);
  }
  void release_import(Place /*place*/, std::byte* address,
                      const strake::ExportedMemory& /*memory*/) noexcept override {
    standin::deallocate(address);
  }

 private:
  std::array<std::atomic<std::int64_t>, 2> taken_{};  // of device and of pinned memory
  std::mutex mapped_mutex_;
  struct MappedHost {
    std::int64_t bytes = 0;
    int times = 0;
  };
  std::map<std::byte*, MappedHost> mapped_;
};

}  // namespace
}  // namespace standin

extern "C" __attribute__((visibility("default"))) strake::DeviceBackend* strake_make_device_backend(
    int version, const strake::DeviceBackendOptions& /*options*/) {
  return version == strake::kDeviceBackendVersion ? new standin::Backend : nullptr;
}

extern "C" __attribute__((visibility("default"))) strake::DeviceCopier* strake_make_device_copier(
    int version, const strake::BlockSource& /*blocks*/) {
  return version == strake::kDeviceBackendVersion ? new standin::Copier : nullptr;
}
