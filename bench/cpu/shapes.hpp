/// \file  The shapes that the CPU copies are measured on.
#pragma once

#include <string>
#include <vector>

#include "strake/layout.hpp"

namespace bench {

struct Shape {
  std::string name;
  strake::Layout layout;
};

/// Halos of a grid, small elements at small strides, transpositions, records and lists.
std::vector<Shape> shapes();

}  // namespace bench
