// Refused: streams come first, then fields
#include "strake/grid.hpp"

void run(strake::Grid& grid, const strake::Field<double>& rho) { grid.exchange(rho); }
