#include "device_mpi/shapes.hpp"

#include <array>
#include <random>

namespace bench {
namespace {

/// Blocks of a box of a 3D array, in C order.
void add_box(Case& c, const std::array<int, 3>& sizes, const std::array<int, 3>& subsizes,
             const std::array<int, 3>& starts, std::int64_t element_bytes) {
  for (int i = 0; i < subsizes[0]; ++i) {
    for (int j = 0; j < subsizes[1]; ++j) {
      const std::int64_t row = std::int64_t{starts[0] + i} * sizes[1] + starts[1] + j;
      c.blocks.push_back(
          {(row * sizes[2] + starts[2]) * element_bytes, subsizes[2] * element_bytes});
    }
  }
}

/// 65,536 blocks of 24 bytes: a face, three cells of 8 bytes deep, of a 256^3 grid with ghosts.
Case face() {
  const std::array<int, 3> sizes = {262, 262, 2560};
  const std::array<int, 3> subsizes = {256, 256, 24};
  const std::array<int, 3> starts = {3, 3, 24};
  Case c;
  c.type = subarray(sizes, subsizes, starts, MPI_BYTE);
  c.buffer_bytes = std::int64_t{262} * 262 * 2560;
  add_box(c, sizes, subsizes, starts, 1);
  return c;
}

/// The six outermost layers of 62 x 62 cells inside a 64^3 array of doubles with ghosts: 184 KB.
Case six_faces() {
  constexpr int kSide = 64;
  constexpr int kInner = kSide - 2;
  const std::array<int, 3> sizes = {kSide, kSide, kSide};
  Case c;
  c.buffer_bytes = std::int64_t{kSide} * kSide * kSide * 8;
  std::vector<Datatype> faces;
  std::vector<Member> members;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (const int at : {1, kInner}) {
      std::array<int, 3> subsizes = {kInner, kInner, kInner};
      std::array<int, 3> starts = {1, 1, 1};
      subsizes[axis] = 1;
      starts[axis] = at;
      faces.push_back(subarray(sizes, subsizes, starts, MPI_DOUBLE));
      members.push_back({0, faces.back().get()});
      add_box(c, sizes, subsizes, starts, 8);
    }
  }
  c.type = structure(members);
  return c;
}

/// Three floats of each of 40,000 particles, scattered in rising order.
Case particles() {
  constexpr int kParticles = 40'000;
  std::minstd_rand random(7);
  std::vector<int> places;
  Case c;
  int at = 0;
  for (int i = 0; i < kParticles; ++i) {
    places.push_back(at);
    c.blocks.push_back({std::int64_t{at} * 4, 12});
    at += 4 + static_cast<int>(random() % 9);  // never side by side
  }
  c.type = indexed_block(3, places, MPI_FLOAT);
  c.buffer_bytes = std::int64_t{at} * 4;
  return c;
}

Case dense(int bytes) {
  Case c;
  c.type = Datatype(MPI_BYTE);
  c.count = bytes;
  c.buffer_bytes = bytes;
  c.blocks.push_back({0, bytes});
  return c;
}

}  // namespace

Case case_of(const Object2d& object) {
  Case c;
  c.type = hvector(static_cast<int>(object.blocks), static_cast<int>(object.block_bytes),
                   object.pitch_bytes, MPI_BYTE);
  c.buffer_bytes = object.blocks * object.pitch_bytes;
  for (std::int64_t i = 0; i < object.blocks; ++i) {
    c.blocks.push_back({i * object.pitch_bytes, object.block_bytes});
  }
  return c;
}

CaseList device_cases() {
  return {{"2d_1KiB_8B_blocks", [] { return case_of(kSmallObject); }},
          {"face_65536x24B", face},
          {"struct_6_subarrays", six_faces},
          {"blocks_40000x12B", particles},
          {"contiguous_1MiB", [] { return dense(1 << 20); }}};
}

}  // namespace bench
