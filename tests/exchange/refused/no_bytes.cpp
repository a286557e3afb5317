// Refused: its bytes are sent
#include <vector>

#include "strake/grid.hpp"

void run(strake::Grid& grid) { (void)grid.add<std::vector<double>>("lists"); }
