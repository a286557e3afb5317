// Derived types as the MPI library's own engine moves them, from the same layout into the same.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "cases.hpp"
#include "data.hpp"
#include "layouts.hpp"
#include "machine/pitch.hpp"
#include "mpi/real_mpi.hpp"
#include "strake/layout.hpp"

namespace strake::measure {
namespace {

constexpr int kTag = 3;
constexpr std::int64_t kKi = 1024;
constexpr std::int64_t kMi = 1024 * kKi;
/// Most memory that one end of a message may span. Beyond, the caches have long lost their part.
constexpr std::int64_t kMostSpan = 129 * kMi;  // 4 MiB in blocks of 64 bytes every 2056

/// The longest list: making its datatype takes milliseconds.
constexpr std::int64_t kMostListed = 256 * kKi;

/// A committed MPI datatype: of a box at offset 0, or of the blocks of any other layout, as a list.
class Type {
 public:
  /// \throws MpiError
  explicit Type(const Layout& layout) {
    const bool box = layout.kind() == Layout::Kind::Box && layout.offset() == 0;
    box ? make_box(layout) : make_list(layout);
    mpi::check(PMPI_Type_commit(&type_), "MPI_Type_commit");
  }
  ~Type() { PMPI_Type_free(&type_); }
  Type(const Type&) = delete;
  Type& operator=(const Type&) = delete;
  [[nodiscard]] MPI_Datatype get() const noexcept { return type_; }

 private:
  void make_list(const Layout& layout) {
    std::vector<MPI_Aint> offsets;
    std::vector<int> lengths;
    layout.for_each_block([&](std::int64_t offset, std::int64_t length) {
      offsets.push_back(offset);
      lengths.push_back(static_cast<int>(length));
    });
    mpi::check(PMPI_Type_create_hindexed(static_cast<int>(offsets.size()), lengths.data(),
                                         offsets.data(), MPI_BYTE, &type_),
               "MPI_Type_create_hindexed");
  }
  void make_box(const Layout& layout) {
    mpi::check(PMPI_Type_contiguous(static_cast<int>(layout.block_bytes()), MPI_BYTE, &type_),
               "MPI_Type_contiguous");
    const auto dims = layout.dims();
    for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
      MPI_Datatype outer = MPI_DATATYPE_NULL;
      const int code = PMPI_Type_create_hvector(static_cast<int>(dim->count), 1, dim->stride_bytes,
                                                type_, &outer);
      PMPI_Type_free(&type_);
      mpi::check(code, "MPI_Type_create_hvector");
      type_ = outer;
    }
  }

  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// Half a round trip of a strided type, by blocking calls. What comes goes back from the same
/// memory: packing is measured on one such box too, and boxes that are twice as large may leave a
/// cache.
class StridedRoundTrip final : public Instance {
 public:
  StridedRoundTrip(const Job& job, std::vector<int> pair, Layout layout)
      : job_(job),
        pair_(std::move(pair)),
        peer_(job.rank() == pair_[0]   ? pair_[1]
              : job.rank() == pair_[1] ? pair_[0]
                                       : -1),
        layout_(std::move(layout)),
        type_(layout_),
        memory_(peer_ < 0 ? 0 : layout_.bounds().end) {
    if (peer_ >= 0) fill();
  }

  double run(std::int64_t iterations) override {
    if (peer_ < 0) return 0;
    job_.meet(pair_);
    const Stopwatch watch;
    for (std::int64_t i = 0; i < iterations; ++i) {
      if (first()) send();
      receive();
      if (!first()) send();
    }
    return watch.seconds() / 2;
  }

  void verify() override {
    if (peer_ < 0) return;
    // The first rank's bytes went to the other, which now sends its own.
    const std::int64_t span = layout_.bounds().end;
    HostMemory found(span);
    if (first()) receive();
    std::copy_n(memory_.data(), span, found.data());
    fill();
    if (!first()) send();
    HostMemory expected(span);
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
  void send() const {
    mpi::check(PMPI_Send(memory_.data(), 1, type_.get(), peer_, kTag, job_.comm()), "MPI_Send");
  }
  void receive() const {
    mpi::check(
        PMPI_Recv(memory_.data(), 1, type_.get(), peer_, kTag, job_.comm(), MPI_STATUS_IGNORE),
        "MPI_Recv");
  }

  const Job& job_;
  std::vector<int> pair_;
  int peer_;
  Layout layout_;
  Type type_;
  HostMemory memory_;
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

bool among(std::initializer_list<std::int64_t> values, std::int64_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

Case strided_case(const Job& job, const std::string& name, const std::vector<int>& pair,
                  const Shape& shape, Layout (*layout)(const Shape&), bool quick) {
  Case made;
  made.name = name;
  made.bytes = shape.bytes;
  made.block = shape.block;
  made.pitch = shape.pitch;
  made.quick = quick;
  made.scope = Scope::Job;
  made.make = [&job, pair, shape, layout] {
    return std::make_unique<StridedRoundTrip>(job, pair, layout(shape));
  };
  return made;
}

void add_boxes(const Job& job, const std::string& name, const std::vector<int>& pair,
               std::vector<Case>& cases) {
  using machine::PitchClass;
  for (const PitchClass kind :
       {PitchClass::Near, PitchClass::Sparse, PitchClass::Far, PitchClass::Aligned}) {
    // Closer where the library changes its protocol, and where caches end.
    for (const std::int64_t bytes : {std::int64_t{64}, kKi, 3 * kKi, 4 * kKi, 16 * kKi, 64 * kKi,
                                     256 * kKi, kMi, 4 * kMi, 16 * kMi}) {
      for (const std::int64_t block : {1, 4, 8, 16, 64, 256, 1024, 4096}) {
        const std::int64_t pitch = machine::host_pitch(kind, block);
        const std::int64_t blocks = bytes / block;
        if (pitch == 0 || blocks < 2 || blocks * pitch > kMostSpan) continue;
        const bool quick = among({kKi, 16 * kKi, 256 * kKi}, bytes) && among({8, 64}, block);
        cases.push_back(strided_case(job, name, pair, {bytes, block, pitch}, box, quick));
      }
    }
  }
}

void add_lists(const Job& job, const std::string& name, const std::vector<int>& pair,
               std::vector<Case>& cases) {
  for (const std::int64_t bytes : {kKi, 16 * kKi, 256 * kKi, 4 * kMi}) {
    for (const std::int64_t block : {4, 16, 64, 256}) {
      if (bytes / block > kMostListed) continue;
      const std::int64_t pitch = machine::host_pitch(machine::PitchClass::Near, block);
      const bool quick = among({kKi, 256 * kKi}, bytes) && block == 16;
      cases.push_back(strided_case(job, name, pair, {bytes, block, pitch}, list, quick));
    }
  }
}

void add_transposes(const Job& job, const std::string& name, const std::vector<int>& pair,
                    std::vector<Case>& cases) {
  for (const std::int64_t bytes : {16 * kKi, 256 * kKi, 4 * kMi, 16 * kMi}) {
    for (const std::int64_t block : {1, 4, 8, 16, 64}) {
      const bool quick = among({16 * kKi, 256 * kKi}, bytes) && block == 8;
      cases.push_back(
          strided_case(job, name, pair, {bytes, block, machine::kTransposeRow}, transpose, quick));
    }
  }
}

}  // namespace

void add_system(const Job& job, std::vector<Case>& cases) {
  for (const Path path : {Path::Node, Path::Network}) {
    const std::vector<int> pair = job.pair(path);
    if (pair.empty()) continue;
    const std::string prefix = std::string("mpi/") + name_of(path) + "/system/";
    add_boxes(job, prefix + "box", pair, cases);
    add_lists(job, prefix + "indexed", pair, cases);
    add_transposes(job, prefix + "transpose", pair, cases);
  }
}

}  // namespace strake::measure
