// The functions that are always passed on.
#include "interpose/passed.hpp"

#include "interpose/wrappers/passed.hpp"
