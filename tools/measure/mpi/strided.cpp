// Strided messages, from the same layout into the same: as the MPI library's own engine moves
// derived types, as Strake packs them, and by memory that ranks of a node share. All ways of one
// shape are measured one after the other: machines change.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cases.hpp"
#include "data.hpp"
#include "exchange/message/transfer.hpp"
#include "exchange/transport/mpi_channel.hpp"
#include "layouts.hpp"
#include "machine/pitch.hpp"
#include "mpi/layout_type.hpp"
#include "mpi/real_mpi.hpp"
#include "mpi/wire.hpp"
#include "sharing.hpp"
#include "strake/layout.hpp"

namespace strake::measure {
namespace {

using machine::Transport;

constexpr int kStridedTag = 3;
/// Most memory that one end of a message may span. Beyond, the caches have long lost their part.
constexpr std::int64_t kMostSpan = 129 * kMiB;  // 4 MiB in blocks of 64 bytes every 2056

/// The longest list: making its datatype takes milliseconds.
constexpr std::int64_t kMostListed = 256 * kKiB;

/// Half a round trip of a strided type, by blocking calls. What comes goes back from the same
/// memory: packing is measured on one such box too, and boxes that are twice as large may leave a
/// cache.
class StridedRoundTrip : public Instance {
 public:
  StridedRoundTrip(const Job& job, std::vector<int> pair, Layout layout)
      : job_(job),
        pair_(std::move(pair)),
        peer_(job.rank() == pair_[0]   ? pair_[1]
              : job.rank() == pair_[1] ? pair_[0]
                                       : -1),
        layout_(std::move(layout)),
        memory_(peer_ < 0 ? 0 : layout_.bounds().end) {
    if (peer_ >= 0) fill();
  }

  double run(std::int64_t iterations) final {
    if (peer_ < 0) return 0;
    job_.meet(pair_);
    return time_round_trips(
        iterations, first(), [this] { send(); }, [this] { receive(); });
  }

  void verify() final {
    if (peer_ < 0) return;
    // The first rank's bytes went to the other, which now sends its own.
    const std::int64_t span = layout_.bounds().end;
    MessageMemory found(span);
    if (first()) receive();
    std::copy_n(memory_.data(), span, found.data());
    fill();
    if (!first()) send();
    MessageMemory expected(span);
    std::int64_t received = 0;
    layout_.for_each_block([&](std::int64_t offset, std::int64_t length) {
      expect_pattern(found.data() + offset, length, peer_, received);
      std::copy_n(found.data() + offset, length, expected.data() + offset);
      received += length;
    });
    if (!std::equal(expected.data(), expected.data() + span, found.data())) {
      throw WrongData("bytes between the blocks of " + layout_.to_string() + " were written");
    }
  }

 protected:
  virtual void send() = 0;
  virtual void receive() = 0;

  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  [[nodiscard]] std::byte* memory() const noexcept { return memory_.data(); }
  [[nodiscard]] int peer() const noexcept { return peer_; }
  [[nodiscard]] MPI_Comm comm() const noexcept { return job_.comm(); }

 private:
  [[nodiscard]] bool first() const { return job_.rank() == pair_[0]; }
  void fill() const {
    std::int64_t sent = 0;
    layout_.for_each_block([&](std::int64_t offset, std::int64_t length) {
      for (std::int64_t i = 0; i < length; ++i) {
        memory_.data()[offset + i] = pattern(job_.rank(), sent++);
      }
    });
  }

  const Job& job_;
  std::vector<int> pair_;
  int peer_;
  Layout layout_;
  MessageMemory memory_;
};

/// By the library's own engine.
class BySystem final : public StridedRoundTrip {
 public:
  BySystem(const Job& job, std::vector<int> pair, Layout layout)
      : StridedRoundTrip(job, std::move(pair), std::move(layout)), type_(this->layout()) {}

 private:
  void send() override {
    mpi::check(PMPI_Send(memory(), 1, type_.get(), peer(), kStridedTag, comm()), "MPI_Send");
  }
  void receive() override {
    mpi::check(PMPI_Recv(memory(), 1, type_.get(), peer(), kStridedTag, comm(), MPI_STATUS_IGNORE),
               "MPI_Recv");
  }

  mpi::LayoutType type_;
};

exchange::Typed typed_in_host(const Layout& layout, std::byte* memory) {
  return {std::make_shared<mpi::Elements>(layout), memory, {MemoryKind::Host, -1}, false};
}

/// As the interposer's blocking calls do it.
class ByPacking final : public StridedRoundTrip {
 public:
  ByPacking(const Job& job, std::vector<int> pair, Layout layout)
      : StridedRoundTrip(job, std::move(pair), std::move(layout)),
        typed_(typed_in_host(this->layout(), memory())) {}

 private:
  void send() override {
    exchange::CallChannel channel([this](const exchange::Parcel& parcel) {
      const mpi::Wire wire = exchange::wire_of(parcel, {peer(), kStridedTag, comm()});
      mpi::check(PMPI_Send(parcel.data, wire.count(), wire.type(), peer(), kStridedTag, comm()),
                 "MPI_Send");
      return exchange::Arrival{};
    });
    move(machine::MessageDirection::Send, channel);
  }
  void receive() override {
    exchange::CallChannel channel([this](const exchange::Parcel& parcel) {
      const mpi::Wire wire = exchange::wire_of(parcel);
      MPI_Status status;
      mpi::check(
          PMPI_Recv(parcel.data, wire.count(), wire.type(), peer(), kStridedTag, comm(), &status),
          "MPI_Recv");
      return exchange::Arrival{.bytes = mpi::received_bytes(status), .lost = false};
    });
    move(machine::MessageDirection::Receive, channel);
  }
  void move(machine::MessageDirection direction, exchange::Channel& channel) {
    exchange::Transfer transfer(direction, typed_, Transport::Pack);
    transfer.start();
    transfer.finish(channel);
  }

  exchange::Typed typed_;
};

/// Each message goes by memory that both ranks share.
class BySharing final : public StridedRoundTrip {
 public:
  BySharing(const Job& job, std::vector<int> pair, Layout layout)
      : StridedRoundTrip(job, std::move(pair), std::move(layout)),
        typed_(typed_in_host(this->layout(), memory())) {}

 private:
  void send() override { send_shared(typed_, {peer(), kStridedTag, comm()}); }
  void receive() override { receive_shared(typed_, {peer(), kStridedTag, comm()}); }

  exchange::Typed typed_;
};

struct Shape {
  std::int64_t bytes;
  std::int64_t block;
  std::int64_t pitch;
};

/// Blocks one after the other, `pitch` apart.
Layout box(const Shape& shape) {
  const std::array<Dim, 1> dims = {Dim{shape.bytes / shape.block, shape.pitch}};
  return Layout::box(0, shape.block, dims);
}

Layout list(const Shape& shape) {
  return Layout::blocks(shuffled_offsets(shape.bytes / shape.block, shape.pitch), shape.block);
}

Layout transpose(const Shape& shape) { return transposed(shape.bytes, shape.block, shape.pitch); }

/// Appends the cases of the pair of ranks that one path joins.
class Strided {
 public:
  Strided(const Job& job, const Sharing& sharing, Path path, Cases& cases)
      : job_(job), sharing_(sharing), path_(path), pair_(job.pair(path)), cases_(cases) {}

  void add_all() {
    if (pair_.empty()) return;
    add_boxes();
    add_lists();
    add_transposes();
  }

 private:
  /// All ways of one shape, `form` of layout ("box").
  void add(const std::string& form, const Shape& shape, Layout (*layout)(const Shape&),
           bool quick) {
    const auto put = [&]<typename Kind>(const char* way) {
      Case& added = measure::add(cases_, std::string("mpi/") + name_of(path_) + way + form,
                                 shape.bytes, [&job = job_, pair = pair_, shape, layout] {
                                   return std::make_unique<Kind>(job, pair, layout(shape));
                                 });
      added.block = shape.block;
      added.pitch = shape.pitch;
      added.quick = quick;
      added.in_passes = true;
      added.scope = Scope::Job;
    };
    put.operator()<BySystem>("/system/");
    put.operator()<ByPacking>("/pack/");
    if (path_ == Path::Node && sharing_.carries(shape.bytes)) put.operator()<BySharing>("/shared/");
  }
  void add_boxes();
  void add_lists();
  void add_transposes();

  const Job& job_;
  const Sharing& sharing_;
  Path path_;
  std::vector<int> pair_;
  Cases& cases_;
};

void Strided::add_boxes() {
  using machine::PitchClass;
  for (const PitchClass kind :
       {PitchClass::Near, PitchClass::Sparse, PitchClass::Far, PitchClass::Aligned}) {
    // Closer where the library changes its protocol, and where caches end.
    for (const std::int64_t bytes :
         {std::int64_t{64}, std::int64_t{256}, kKiB, 3 * kKiB, 4 * kKiB, 16 * kKiB, 64 * kKiB,
          256 * kKiB, 512 * kKiB, kMiB, 4 * kMiB, 16 * kMiB}) {
      for (const std::int64_t block : {1, 4, 8, 16, 64, 256, 1024, 4096}) {
        const std::int64_t pitch = machine::host_pitch(kind, block);
        const std::int64_t blocks = bytes / block;
        if (pitch == 0 || blocks < 2 || blocks * pitch > kMostSpan) continue;
        const bool quick = among({kKiB, 16 * kKiB, 256 * kKiB}, bytes) && among({8, 64}, block);
        add("box", {bytes, block, pitch}, box, quick);
      }
    }
  }
}

void Strided::add_lists() {
  for (const std::int64_t bytes : {kKiB, 16 * kKiB, 256 * kKiB, 4 * kMiB}) {
    for (const std::int64_t block : {4, 16, 64, 256}) {
      if (bytes / block > kMostListed) continue;
      const std::int64_t pitch = machine::host_pitch(machine::PitchClass::Near, block);
      const bool quick = among({kKiB, 256 * kKiB}, bytes) && block == 16;
      add("indexed", {bytes, block, pitch}, list, quick);
    }
  }
}

void Strided::add_transposes() {
  for (const std::int64_t bytes : {16 * kKiB, 256 * kKiB, 4 * kMiB, 16 * kMiB}) {
    for (const std::int64_t block : {1, 4, 8, 16, 64}) {
      const bool quick = among({16 * kKiB, 256 * kKiB}, bytes) && block == 8;
      add("transpose", {bytes, block, machine::kTransposeRow}, transpose, quick);
    }
  }
}

}  // namespace

void add_strided(const Job& job, const Sharing& sharing, std::vector<Case>& cases) {
  for (const Path path : {Path::Node, Path::Network}) Strided(job, sharing, path, cases).add_all();
}

}  // namespace strake::measure
