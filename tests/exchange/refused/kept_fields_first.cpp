// Refused: streams come first, then fields
// Not said: incomplete type
#include "strake/grid.hpp"

void run(strake::Grid& grid, strake::Field<float> u) { auto ghosts = grid.exchange(u); }
