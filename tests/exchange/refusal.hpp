/// \file  Errors of calls, also such as all ranks throw alike.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "strake/error.hpp"
#include "world.hpp"

namespace strake {

/// The message of the InvalidArgument that `call` throws; empty if it throws none.
inline std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return {};
}

/// As refusal(). Fails if ranks have different messages. Collective.
inline std::string refusal_on_all(const std::function<void()>& call) {
  const std::string said = refusal(call);
  int length = static_cast<int>(said.size());
  MPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD);
  std::string first = said;
  first.resize(static_cast<std::size_t>(length));
  MPI_Bcast(first.data(), length, MPI_CHAR, 0, MPI_COMM_WORLD);
  EXPECT_EQ(said, first);
  return said;
}

}  // namespace strake
