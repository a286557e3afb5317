/// \file  A graph of the device's runtime, where it has graphs (graph_cuda.cpp; graph_none.cpp).
#pragma once

#include <functional>
#include <memory>

#include "strake/stream.hpp"

namespace strake {

class CapturedGraph {
 public:
  /// A graph of what `work` enqueues on `stream`; null, without a call, where there are no graphs.
  [[nodiscard]] static std::unique_ptr<CapturedGraph> capture(Stream& stream,
                                                              const std::function<void()>& work);
  virtual ~CapturedGraph() = default;
  virtual void launch(Stream& stream) = 0;
};

}  // namespace strake
