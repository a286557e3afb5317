/// \file  A case: a datatype as an application describes it, and the same bytes listed by an
/// explicit loop.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "mpi/datatype.hpp"
#include "support/traffic.hpp"

namespace bench {

struct Case {
  Datatype type;  ///< not yet committed
  int count = 1;
  std::int64_t buffer_bytes = 0;
  std::vector<Block> blocks;  ///< in packed order, listed without the datatype's help
};

/// Adds the rows of a box of an array of such elements, in C order.
void add_rows(Case& c, const strake::Box& cells, const strake::Index3& array,
              std::int64_t element_bytes);
/// A box of such an array.
Case box_case(const strake::Box& cells, const strake::Index3& array, MPI_Datatype element,
              std::int64_t element_bytes);

/// A case is made when its turn comes: its lists may be long.
struct CaseSource {
  std::string name;  ///< group/case
  std::function<Case()> make;
};
using CaseList = std::vector<CaseSource>;

/// All cases; `quick` makes them small.
CaseList all_cases(bool quick);

// By kind of application; each appends its own.
void add_wrf_cases(CaseList& list, bool quick);
void add_nas_cases(CaseList& list, bool quick);       // MILC too: faces of a lattice
void add_particle_cases(CaseList& list, bool quick);  // LAMMPS and SPECFEM3D
void add_fft_cases(CaseList& list, bool quick);
void add_strided_cases(CaseList& list, bool quick);
void add_list_cases(CaseList& list, bool quick);
void add_grid_cases(CaseList& list, bool quick);

}  // namespace bench
