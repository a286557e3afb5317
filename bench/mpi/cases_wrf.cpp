// WRF: halos of many fields of one patch in a single message, as a struct of one type per field.
// Arrays are single precision, with i fastest, then k (levels), then j, then (in 4D ones) the
// species.
#include <array>

#include "mpi/case.hpp"

namespace bench {
namespace {

struct Patch {
  int ni, nk, nj;  // points of the patch
  int halo;        // ghost points on each side in i and j
  int fields_2d, fields_3d, fields_4d;
  int species;  // of a 4D field; all of them travel
};

// The part of a field that travels: the ranges [first, first + count) of i and j.
struct Side {
  int i, ni, j, nj;
};

// Bytes of a field with `levels` levels and `species` species.
std::int64_t field_bytes(const Patch& p, int levels, int species) {
  return std::int64_t{4} * (p.ni + 2 * p.halo) * levels * (p.nj + 2 * p.halo) * species;
}

Datatype field_vectors(const Patch& p, const Side& side, int levels, int species) {
  const int mi = p.ni + 2 * p.halo;
  const std::int64_t plane = std::int64_t{4} * mi * levels;  // one j
  const Datatype rows = vector(levels, side.ni, mi, MPI_FLOAT);
  const Datatype planes = hvector(side.nj, 1, plane, rows);
  return hvector(species, 1, plane * (p.nj + 2 * p.halo), planes);
}

Datatype field_subarray(const Patch& p, const Side& side, int levels, int species) {
  const int mi = p.ni + 2 * p.halo;
  const int mj = p.nj + 2 * p.halo;
  const std::array<int, 4> sizes{species, mj, levels, mi};
  const std::array<int, 4> subsizes{species, side.nj, levels, side.ni};
  const std::array<int, 4> starts{0, side.j, 0, side.i};
  return subarray(sizes, subsizes, starts, MPI_FLOAT);
}

void list_field(Case& c, const Patch& p, const Side& side, std::int64_t base, int levels,
                int species) {
  const int mi = p.ni + 2 * p.halo;
  const int mj = p.nj + 2 * p.halo;
  for (int s = 0; s < species; ++s) {
    for (int j = side.j; j < side.j + side.nj; ++j) {
      for (int k = 0; k < levels; ++k) {
        const std::int64_t at = ((std::int64_t{s} * mj + j) * levels + k) * mi + side.i;
        c.blocks.push_back({base + 4 * at, 4 * side.ni});
      }
    }
  }
}

Case fields(const Patch& p, const Side& side, bool as_subarrays) {
  Case c;
  std::vector<Datatype> types;
  std::vector<Member> members;
  const auto add = [&](int number, int levels, int species) {
    for (int f = 0; f < number; ++f) {
      types.push_back(as_subarrays ? field_subarray(p, side, levels, species)
                                   : field_vectors(p, side, levels, species));
      // A vector starts at its first element, a subarray at the array.
      const std::int64_t mi = p.ni + 2 * p.halo;
      const std::int64_t first = 4 * (std::int64_t{side.j} * levels * mi + side.i);
      members.push_back({c.buffer_bytes + (as_subarrays ? 0 : first), types.back().get()});
      list_field(c, p, side, c.buffer_bytes, levels, species);
      c.buffer_bytes += field_bytes(p, levels, species);
    }
  };
  add(p.fields_2d, 1, 1);
  add(p.fields_3d, p.nk, 1);
  add(p.fields_4d, p.nk, p.species);
  c.type = structure(members);
  return c;
}

}  // namespace

void add_wrf_cases(CaseList& list, bool quick) {
  const Patch patch = quick ? Patch{12, 4, 10, 3, 1, 1, 1, 2} : Patch{74, 35, 61, 3, 4, 3, 2, 4};
  const Side x{patch.halo, patch.halo, patch.halo, patch.nj};
  const Side y{patch.halo, patch.ni, patch.halo, patch.halo};
  list.push_back({"wrf/x_vec", [=] { return fields(patch, x, false); }});
  list.push_back({"wrf/x_subarray", [=] { return fields(patch, x, true); }});
  list.push_back({"wrf/y_vec", [=] { return fields(patch, y, false); }});
  list.push_back({"wrf/y_subarray", [=] { return fields(patch, y, true); }});
}

}  // namespace bench
