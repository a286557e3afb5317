// Refused: an exchange writes into the array: it can't be const
#include "strake/exchange.hpp"

void run(strake::Exchange& exchange, const double* u, int* n) { exchange.start({u, n}); }
