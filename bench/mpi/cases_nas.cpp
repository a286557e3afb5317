// Faces of structured meshes: NAS MG and LU, and MILC's four-dimensional lattice.
#include "mpi/case.hpp"

namespace bench {
namespace {

// `outer` planes of `inner` runs of `run` bytes, from `offset` on.
void list_runs(Case& c, std::int64_t offset, int outer, std::int64_t outer_stride, int inner,
               std::int64_t inner_stride, std::int64_t run) {
  for (int i = 0; i < outer; ++i) {
    for (int j = 0; j < inner; ++j) {
      c.blocks.push_back({offset + i * outer_stride + j * inner_stride, run});
    }
  }
}

// NAS MG, comm3: the interior of one face of an n^3 array of doubles; here the face at the low end,
// from its first point on.
Case mg_x(int n) {
  Case c;
  const Datatype line = vector(n - 2, 1, n, MPI_DOUBLE);
  c.type = hvector(n - 2, 1, std::int64_t{8} * n * n, line);
  c.buffer_bytes = std::int64_t{8} * n * n * n;
  list_runs(c, 0, n - 2, std::int64_t{8} * n * n, n - 2, std::int64_t{8} * n, 8);
  return c;
}

Case mg_y(int n) {
  Case c;
  c.type = vector(n - 2, n - 2, n * n, MPI_DOUBLE);
  c.buffer_bytes = std::int64_t{8} * n * n * n;
  list_runs(c, 0, n - 2, std::int64_t{8} * n * n, 1, 0, std::int64_t{8} * (n - 2));
  return c;
}

Case mg_z(int n) {
  Case c;
  c.type = vector(n - 2, n - 2, n, MPI_DOUBLE);
  c.buffer_bytes = std::int64_t{8} * n * n;
  list_runs(c, 0, n - 2, std::int64_t{8} * n, 1, 0, std::int64_t{8} * (n - 2));
  return c;
}

// NAS LU: five doubles per point, u(5, nx, ny, nz) with two ghost points on each side of x and y.
constexpr int kPointBytes = 5 * 8;

Case lu_x(int nx, int ny, int nz) {
  Case c;
  const Datatype point = contiguous(5, MPI_DOUBLE);
  const std::int64_t row = std::int64_t{kPointBytes} * (nx + 4);
  const Datatype line = vector(ny, 1, nx + 4, point);
  c.type = hvector(nz, 1, row * (ny + 4), line);
  c.buffer_bytes = row * (ny + 4) * nz;
  list_runs(c, 0, nz, row * (ny + 4), ny, row, kPointBytes);
  return c;
}

Case lu_y(int nx, int ny, int nz) {
  Case c;
  const Datatype point = contiguous(5, MPI_DOUBLE);
  const std::int64_t row = std::int64_t{kPointBytes} * (nx + 4);
  c.type = hvector(nz, nx, row * (ny + 4), point);
  c.buffer_bytes = row * (ny + 4) * nz;
  list_runs(c, 0, nz, row * (ny + 4), 1, 0, std::int64_t{kPointBytes} * nx);
  return c;
}

// MILC su3_zdown: three z planes (the Naik term) of the even sites of an L^4 lattice of su3 vectors
// (three complex floats); sites are ordered x, y, z, t with x fastest, even and odd ones apart.
Case milc_zdown(int l) {
  Case c;
  const Datatype su3_vector = contiguous(6, MPI_FLOAT);
  const int plane = l * l / 2;
  c.type = vector(l, 3 * plane, plane * l, su3_vector);
  c.buffer_bytes = std::int64_t{24} * plane * l * l;
  list_runs(c, 0, l, std::int64_t{24} * plane * l, 1, 0, std::int64_t{24} * 3 * plane);
  return c;
}

}  // namespace

void add_nas_cases(CaseList& list, bool quick) {
  // 130 and 258: classes of MG with 128 and 256 interior points per side and rank.
  for (const int n : quick ? std::vector<int>{18} : std::vector<int>{130, 258}) {
    const std::string size = std::to_string(n);
    list.push_back({"nas_mg/x_" + size, [=] { return mg_x(n); }});
    list.push_back({"nas_mg/y_" + size, [=] { return mg_y(n); }});
    list.push_back({"nas_mg/z_" + size, [=] { return mg_z(n); }});
  }
  // 102 points per side are class B of LU on one rank.
  for (const int n : quick ? std::vector<int>{12} : std::vector<int>{33, 102}) {
    const std::string size = std::to_string(n);
    list.push_back({"nas_lu/x_" + size, [=] { return lu_x(n, n, n); }});
    list.push_back({"nas_lu/x_plane_" + size, [=] { return lu_x(n, n, 1); }});
    list.push_back({"nas_lu/y_" + size, [=] { return lu_y(n, n, n); }});
  }
  for (const int l : quick ? std::vector<int>{4} : std::vector<int>{8, 16}) {
    list.push_back({"milc/su3_zdown_" + std::to_string(l), [=] { return milc_zdown(l); }});
  }
}

}  // namespace bench
