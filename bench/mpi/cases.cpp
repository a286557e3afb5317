#include "mpi/case.hpp"

namespace bench {

void add_rows(Case& c, const strake::Box& cells, const strake::Index3& array,
              std::int64_t element_bytes) {
  for (std::int64_t z = cells.lower[2]; z < cells.upper[2]; ++z) {
    for (std::int64_t y = cells.lower[1]; y < cells.upper[1]; ++y) {
      c.blocks.push_back({((z * array[1] + y) * array[0] + cells.lower[0]) * element_bytes,
                          cells.extent(0) * element_bytes});
    }
  }
}

Case box_case(const strake::Box& cells, const strake::Index3& array, MPI_Datatype element,
              std::int64_t element_bytes) {
  Case c;
  c.type = subarray(cells, array, element);
  c.buffer_bytes = array[0] * array[1] * array[2] * element_bytes;
  add_rows(c, cells, array, element_bytes);
  return c;
}

CaseList all_cases(bool quick) {
  CaseList list;
  add_wrf_cases(list, quick);
  add_nas_cases(list, quick);
  add_particle_cases(list, quick);
  add_fft_cases(list, quick);
  add_strided_cases(list, quick);
  add_list_cases(list, quick);
  add_grid_cases(list, quick);
  return list;
}

}  // namespace bench
