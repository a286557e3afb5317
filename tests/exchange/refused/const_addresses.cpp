// Refused: an exchange writes into the array: it can't be const
#include <vector>

#include "strake/exchange.hpp"

void run(strake::Exchange& exchange, const std::vector<const int*>& all) { exchange.start(all); }
