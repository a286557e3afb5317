/// \file  The kinds of runs that `strake run --compare` takes in turn.
#pragma once

#include <array>
#include <cstddef>

namespace strake::run {

/// A kind's place in every list of runs. Heap is there with --shared-heap only.
enum KindIndex : std::size_t { kAlone, kUnder, kHeap };

struct Kind {
  const char* name;    ///< in sentences and tables
  const char* key;     ///< in JSON
  const char* prefix;  ///< of its files
  bool disable;
  bool shared_heap;
};

inline constexpr std::array<Kind, 3> kKinds{
    {{"alone", "alone", "alone-", true, false},
     {"under Strake", "under_strake", "strake-", false, false},
     {"with --shared-heap", "with_shared_heap", "heap-", false, true}}};

}  // namespace strake::run
