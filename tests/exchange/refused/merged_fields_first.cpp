// Refused: streams come first, then fields
#include "strake/grid.hpp"

void run(strake::Grid& grid, strake::Field<int> a) { grid.accumulate(a, strake::sum<int>()); }
