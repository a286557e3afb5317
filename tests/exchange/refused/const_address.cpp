// Refused: Addresses
#include "strake/exchange.hpp"

void run(strake::Exchange& exchange, const double* u) { exchange.start(u); }
