#include "exchange/plan/ending.hpp"

#include <fmt/format.h>

namespace strake::exchange::planned {

std::string Ending::text(int rank, bool counted) const {
  std::string made = fmt::format("rank {} has {} exchange", rank,
                                 kind() == Kind::Left ? "left the" : "given up an");
  if (counted) made += fmt::format(" after {} round{}", rounds(), rounds() == 1 ? "" : "s");
  if (cause == 0) return made;
  const auto why = static_cast<Kind>(cause % kKinds);
  return made + fmt::format(", since rank {} has {}", cause / kKinds,
                            why == Kind::Left      ? "left it"
                            : why == Kind::GivenUp ? "given it up"
                                                   : "died");
}

}  // namespace strake::exchange::planned
