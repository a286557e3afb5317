// Collectives, but for those of all to all, and between neighbours (alltoall.cpp).
#include "interpose/collective.hpp"

// The wrappers of the functions that mpi/functions.def gives to this file.
#include "interpose/wrappers/collectives.hpp"
