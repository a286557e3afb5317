#include "mpi/case.hpp"

namespace bench {

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
