/// \file  What a higher room keeps for an object of this one.
#pragma once

namespace strake::mpi {

/// Made once, destroyed with the object that it is kept for.
class Companion {
 public:
  virtual ~Companion() = default;
};

}  // namespace strake::mpi
