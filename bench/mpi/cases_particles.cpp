// Lists of points or particles: LAMMPS (several properties of the same atoms in one message) and
// SPECFEM3D (values at the points of a mesh's cut).
#include "mpi/case.hpp"
#include "mpi/index_list.hpp"

namespace bench {
namespace {

// Appends an array of `elements` entries of `width` values of `bytes`, of which `places` travel.
class PropertyArrays {
 public:
  PropertyArrays(std::vector<int> places, int elements)
      : places_(std::move(places)), elements_(elements) {}

  void add(int width, MPI_Datatype value, std::int64_t bytes) {
    std::vector<int> starts;
    for (const int place : places_) {
      starts.push_back(width * place);
      case_.blocks.push_back({case_.buffer_bytes + bytes * width * place, bytes * width});
    }
    types_.push_back(indexed_block(width, starts, value));
    members_.push_back({case_.buffer_bytes, types_.back().get()});
    case_.buffer_bytes +=
        (bytes * width * elements_ + 63) / 64 * 64;  // each array has its own lines
  }

  Case take() {
    case_.type = structure(members_);
    return std::move(case_);
  }

 private:
  std::vector<int> places_;
  int elements_;
  std::vector<Datatype> types_;
  std::vector<Member> members_;
  Case case_;
};

// LAMMPS: positions, tag, type, mask; the full atom style adds the molecule and the charge.
Case lammps(int travelling, int atoms, bool full) {
  PropertyArrays arrays(pick_indices(travelling, atoms, Order::Sorted, 3062), atoms);
  arrays.add(3, MPI_DOUBLE, 8);
  arrays.add(1, MPI_INT, 4);
  arrays.add(1, MPI_INT, 4);
  arrays.add(1, MPI_INT, 4);
  if (full) {
    arrays.add(1, MPI_INT, 4);
    arrays.add(1, MPI_DOUBLE, 8);
  }
  return arrays.take();
}

// Points on the cut of an unstructured mesh: runs of neighbours along element edges, in the order
// of the faces.
std::vector<int> mesh_cut(int points, int range, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<int> starts = pick_indices(points / 4 + 1, range / 8, Order::Random, seed + 1);
  std::vector<int> cut;
  for (std::size_t i = 0; static_cast<int>(cut.size()) < points && i < starts.size(); ++i) {
    const int run = 1 + static_cast<int>(random() % 8);  // disjoint: each start owns eight places
    for (int j = 0; j < run && static_cast<int>(cut.size()) < points; ++j) {
      cut.push_back(8 * starts[i] + j);
    }
  }
  return cut;
}

// SPECFEM3D: outer core has one value per point, the crust and mantle three; cm sends crust-mantle
// and inner core at once.
Case specfem(int points, int range, bool three, bool second) {
  PropertyArrays arrays(mesh_cut(points, range, 2012), range);
  arrays.add(three ? 3 : 1, MPI_FLOAT, 4);
  if (second) arrays.add(3, MPI_FLOAT, 4);
  return arrays.take();
}

// Element faces of three components, as one vector over the components of all faces' points.
Case specfem_faces(int points) {
  Case c;
  c.type = vector(points, 3, 6, MPI_FLOAT);
  c.buffer_bytes = std::int64_t{24} * points;
  for (int i = 0; i < points; ++i) c.blocks.push_back({std::int64_t{24} * i, 12});
  return c;
}

}  // namespace

void add_particle_cases(CaseList& list, bool quick) {
  const int atoms = quick ? 400 : 12000;
  const int travelling = atoms / 4;
  list.push_back({"lammps/full", [=] { return lammps(travelling, atoms, true); }});
  list.push_back({"lammps/atomic", [=] { return lammps(travelling, atoms, false); }});
  const int points = quick ? 200 : 12000;
  const int range = 20 * points;
  list.push_back({"specfem3d/oc", [=] { return specfem(points, range, false, false); }});
  list.push_back({"specfem3d/cm", [=] { return specfem(points, range, true, true); }});
  list.push_back({"specfem3d/mt", [=] { return specfem_faces(points); }});
}

}  // namespace bench
