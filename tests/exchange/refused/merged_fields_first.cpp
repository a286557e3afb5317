// Refused: streams come first
#include "strake/grid.hpp"

void run(strake::Grid& grid, const strake::Field<double>& rho) {
  grid.accumulate(rho, strake::ValueOp::Sum);
}
