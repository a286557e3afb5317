// One process reads another's memory: through the kernel (cross-memory attach), or out of an arena
// that both have mapped. What a zero-copy exchange within a node would do.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <system_error>

#include "cases.hpp"
#include "data.hpp"
#include "mpi/real_mpi.hpp"
#include "strake/copy.hpp"
#include "strake/error.hpp"

namespace strake::measure {
namespace {

constexpr int kTicketTag = 4;
constexpr int kDoneTag = 5;

[[noreturn]] void throw_errno(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// Where the reader finds the owner's bytes.
struct Ticket {
  pid_t pid = 0;
  int file = -1;                 ///< arena: its number in the owner's process
  std::byte* address = nullptr;  ///< private memory: where in the owner's process
};

Layout strided(std::int64_t bytes, std::int64_t block, std::int64_t pitch) {
  if (block == 0) return Layout::dense(bytes);
  const std::array<Dim, 1> dims = {Dim{bytes / block, pitch}};
  return Layout::box(0, block, dims);
}

/// Rank 0 of the pair reads what rank 1 of it owns, which sleeps meanwhile.
class PeerRead : public Instance {
 public:
  PeerRead(const Job& job, std::vector<int> pair, Layout layout)
      : job_(job),
        pair_(std::move(pair)),
        layout_(std::move(layout)),
        result_(reads() ? layout_.size_bytes() : 0) {}

  double run(std::int64_t iterations) final {
    if (owns()) {
      serve();
    } else if (reads()) {
      return ask(iterations);
    }
    return 0;
  }

  void verify() final {
    if (reads()) expect_pattern(result_.data(), layout_.size_bytes(), pair_[1]);
  }

 protected:
  /// The owner's side. \throws std::exception
  virtual Ticket offer() = 0;
  /// The reader's side: gets ready; reads all bytes in packed order. \throws std::exception
  virtual void open(const Ticket& ticket) = 0;
  virtual void read(std::byte* result) = 0;

  [[nodiscard]] bool reads() const { return job_.rank() == pair_[0]; }
  [[nodiscard]] bool owns() const { return job_.rank() == pair_[1]; }
  [[nodiscard]] const Layout& layout() const { return layout_; }
  void fill(std::byte* memory) const {
    std::int64_t filled = 0;
    layout_.for_each_block([&](std::int64_t offset, std::int64_t length) {
      for (std::int64_t i = 0; i < length; ++i) {
        memory[offset + i] = pattern(job_.rank(), filled++);
      }
    });
  }

 private:
  void serve() {
    Ticket ticket;  // of nothing, if this end can't offer: the reader must hear of it
    std::exception_ptr trouble;
    try {
      ticket = offer();
    } catch (...) {
      trouble = std::current_exception();
    }
    MPI_Request request = MPI_REQUEST_NULL;
    mpi::check(
        PMPI_Isend(&ticket, sizeof(ticket), MPI_BYTE, pair_[0], kTicketTag, job_.comm(), &request),
        "MPI_Isend");
    finish_asleep(request);
    mpi::check(PMPI_Irecv(nullptr, 0, MPI_BYTE, pair_[0], kDoneTag, job_.comm(), &request),
               "MPI_Irecv");
    finish_asleep(request);
    if (trouble) std::rethrow_exception(trouble);
  }

  double ask(std::int64_t iterations) {
    Ticket ticket;
    MPI_Request request = MPI_REQUEST_NULL;
    mpi::check(
        PMPI_Irecv(&ticket, sizeof(ticket), MPI_BYTE, pair_[1], kTicketTag, job_.comm(), &request),
        "MPI_Irecv");
    finish(request);
    double seconds = 0;
    std::exception_ptr trouble;
    try {
      if (ticket.pid == 0) throw Error("the other rank could not offer its memory");
      open(ticket);
      seconds = time_calls(iterations, [this] { read(result_.data()); });
    } catch (...) {
      trouble = std::current_exception();
    }
    mpi::check(PMPI_Isend(nullptr, 0, MPI_BYTE, pair_[1], kDoneTag, job_.comm(), &request),
               "MPI_Isend");
    finish(request);
    if (trouble) std::rethrow_exception(trouble);
    return seconds;
  }

  const Job& job_;
  std::vector<int> pair_;
  Layout layout_;
  MessageMemory result_;
};

/// process_vm_readv, one element per block.
class CrossMemory final : public PeerRead {
 public:
  CrossMemory(const Job& job, const std::vector<int>& pair, const Layout& layout)
      : PeerRead(job, pair, layout), memory_(owns() ? layout.bounds().end : 0) {
    if (owns()) fill(memory_.data());
  }

 private:
  Ticket offer() override {
    // Where Yama guards processes from each other, siblings may read only whom allows it; elsewhere
    // the call is not known.
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    return {getpid(), -1, memory_.data()};
  }

  void open(const Ticket& ticket) override {
    if (!blocks_.empty() && ticket.address == base_) return;
    pid_ = ticket.pid;
    base_ = ticket.address;
    blocks_.clear();
    layout().for_each_block([&](std::int64_t offset, std::int64_t length) {
      blocks_.push_back({base_ + offset, static_cast<std::size_t>(length)});
    });
  }

  void read(std::byte* result) override {
    constexpr std::size_t kMost = 1024;  // UIO_MAXIOV: elements that one call takes
    for (std::size_t begin = 0; begin < blocks_.size(); begin += kMost) {
      const std::size_t count = std::min(kMost, blocks_.size() - begin);
      std::size_t bytes = 0;
      for (std::size_t i = begin; i < begin + count; ++i) bytes += blocks_[i].iov_len;
      const iovec to = {result, bytes};
      const ssize_t got = process_vm_readv(pid_, &to, 1, &blocks_[begin], count, 0);
      if (got < 0) throw_errno("process_vm_readv of " + std::to_string(bytes) + " bytes");
      if (static_cast<std::size_t>(got) != bytes) {
        throw Error("process_vm_readv read " + std::to_string(got) + " of " +
                    std::to_string(bytes) + " bytes");
      }
      result += bytes;
    }
  }

  MessageMemory memory_;
  pid_t pid_ = 0;
  std::byte* base_ = nullptr;
  std::vector<iovec> blocks_;
};

/// Memory without a name that several processes map.
class Arena {
 public:
  /// A new one. \throws std::system_error
  explicit Arena(std::int64_t bytes) : file_(memfd_create("strake-measure", MFD_CLOEXEC)) {
    if (file_ < 0) throw_errno("memfd_create");
    if (ftruncate(file_, bytes) != 0) fail("ftruncate of an arena");
    map(bytes, PROT_READ | PROT_WRITE);
  }
  /// Another process's, to read. \throws std::system_error
  Arena(const Ticket& owner, std::int64_t bytes) {
    const std::string path =
        "/proc/" + std::to_string(owner.pid) + "/fd/" + std::to_string(owner.file);
    file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0) throw_errno(path);
    map(bytes, PROT_READ);
  }
  ~Arena() {
    munmap(data_, bytes_);
    close(file_);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  [[nodiscard]] int file() const noexcept { return file_; }
  [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }

 private:
  void map(std::int64_t bytes, int access) {
    bytes_ = static_cast<std::size_t>(bytes);
    data_ = mmap(nullptr, bytes_, access, MAP_SHARED | MAP_POPULATE, file_, 0);
    if (data_ == MAP_FAILED) fail("mmap of an arena");
  }
  [[noreturn]] void fail(const std::string& what) const {
    const int error = errno;
    close(file_);
    errno = error;
    throw_errno(what);
  }
  int file_ = -1;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Strake's own copy, out of an arena.
class SharedMemory final : public PeerRead {
 public:
  SharedMemory(const Job& job, const std::vector<int>& pair, const Layout& layout)
      : PeerRead(job, pair, layout),
        plan_(CopyPlan::compile(Layout::dense(layout.size_bytes()), Place{}, layout, Place{})) {}

 private:
  Ticket offer() override {
    if (!arena_) {
      arena_.emplace(layout().bounds().end);
      fill(arena_->data());
    }
    return {getpid(), arena_->file(), nullptr};
  }
  void open(const Ticket& ticket) override {
    if (!arena_) arena_.emplace(ticket, layout().bounds().end);
  }
  void read(std::byte* result) override { plan_.run(result, arena_->data()); }

  CopyPlan plan_;
  std::optional<Arena> arena_;
};

/// Why `Kind` can't work between the pair, the same on all ranks; empty: it can. Collective.
template <typename Kind>
std::string trouble_with(Job& job, const std::vector<int>& pair) {
  std::array<char, 256> reason{};
  try {
    Kind instance(job, pair, Layout::dense(4096));
    instance.run(1);
    instance.verify();
  } catch (const std::exception& error) {
    std::strncpy(reason.data(), error.what(), reason.size() - 1);
  }
  job.broadcast(reason.data(), reason.size());  // from the reader, which hears of any trouble
  return reason.data();
}

template <typename Kind>
void add_reads(Job& job, const char* name, std::vector<Case>& cases) {
  const std::vector<int> pair = job.pair(Path::Node);
  const std::string trouble = trouble_with<Kind>(job, pair);
  for (const std::int64_t bytes : {4 * kKiB, 64 * kKiB, kMiB, 16 * kMiB}) {
    for (const std::int64_t block : {0, 8, 64, 512, 4096}) {
      // Blocks whose list would outgrow the bytes are listed for messages of a moderate size only.
      constexpr std::int64_t kMostBlocks = 1 << 17;
      if (block >= bytes || (block > 0 && bytes / block > kMostBlocks)) continue;
      Case& added = add(
          cases, name, bytes, [&job, pair, trouble, bytes, block]() -> std::unique_ptr<Instance> {
            if (!trouble.empty()) throw Unsupported(trouble);
            return std::make_unique<Kind>(job, pair, strided(bytes, block, 2 * block));
          });
      added.block = block;
      added.pitch = 2 * block;
      added.quick = bytes == kMiB && among({0, 64, 4096}, block);
      added.scope = Scope::Job;
    }
  }
}

}  // namespace

void add_memory(Job& job, std::vector<Case>& cases) {
  if (job.pair(Path::Node).empty()) return;
  add_reads<CrossMemory>(job, "mem/cma", cases);
  add_reads<SharedMemory>(job, "mem/shared", cases);
}

}  // namespace strake::measure
