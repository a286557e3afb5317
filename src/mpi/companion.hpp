/// \file  An object of a higher layer that is attached to an object of a lower one.
#pragma once

namespace strake::mpi {

/// The lower layer knows only how to destroy a companion.
class Companion {
 public:
  virtual ~Companion() = default;
};

}  // namespace strake::mpi
