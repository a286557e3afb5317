#include "device_mpi/shapes.hpp"

#include <random>

#include "support/block_shape.hpp"

namespace bench {
namespace {

/// 65,536 blocks of 24 bytes: a face, three cells of 8 bytes deep, of a 256^3 grid with ghosts.
Case face() { return box_case({{24, 3, 3}, {48, 259, 259}}, {2560, 262, 262}, MPI_BYTE, 1); }

/// The six outermost layers of 62 x 62 cells inside a 64^3 array of doubles with ghosts: 184 KB.
Case six_faces() {
  constexpr BlockShape kGrid{62, 1};
  constexpr strake::Direction kFaces[] = {{0, 0, -1}, {0, 0, 1},  {0, -1, 0},
                                          {0, 1, 0},  {-1, 0, 0}, {1, 0, 0}};
  Case c;
  c.buffer_bytes = kGrid.bytes();
  std::vector<Datatype> faces;
  std::vector<Member> members;
  for (const strake::Direction d : kFaces) {
    faces.push_back(subarray(kGrid.sent(d), kGrid.sizes(), MPI_DOUBLE));
    members.push_back({0, faces.back().get()});
    add_rows(c, kGrid.sent(d), kGrid.sizes(), sizeof(double));
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
