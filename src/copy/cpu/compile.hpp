/// \file  From two layouts to a tree of CPU operations.
#pragma once

#include "copy/cpu/op.hpp"
#include "strake/layout.hpp"

namespace strake::cpu {

struct Options {
  const Kernels* kernels = nullptr;  ///< null: default_kernels()
  int threads = 1;                   ///< for copies of more than 8 MiB
};

/// The copy of `from` to `to`, whose sizes agree. Cost: O(metadata of both).
[[nodiscard]] OpPtr compile(const Layout& to, const Layout& from, Options options);

}  // namespace strake::cpu
