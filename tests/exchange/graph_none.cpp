#include "graph.hpp"

namespace strake {

std::unique_ptr<CapturedGraph> CapturedGraph::capture(Stream& /*stream*/,
                                                      const std::function<void()>& /*work*/) {
  return nullptr;
}

}  // namespace strake
