// Refused: Ghosts
#include "strake/grid.hpp"

strake::Ghosts run(const strake::Ghosts& begun) { return begun; }
