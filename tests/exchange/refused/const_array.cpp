// Refused: an exchange writes into the array: it can't be const
#include "strake/grid.hpp"

void run(strake::Grid& grid, const double* u) { (void)grid.adopt("u", u); }
