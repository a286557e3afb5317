// Refused: an exchange writes into the array: it can't be const
#include "strake/exchange.hpp"

void run(strake::Exchange& exchange, const double* u) { exchange.start(u); }
