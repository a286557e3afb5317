#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "../device/capture.hpp"
#include "graph.hpp"

namespace strake {
namespace {

class CudaGraph final : public CapturedGraph {
 public:
  CudaGraph(Stream& stream, const std::function<void()>& work)
      : graph_(stream.native(), cudaStreamCaptureModeThreadLocal, work) {}
  void launch(Stream& stream) override { graph_.launch(stream.native()); }

 private:
  Graph graph_;
};

}  // namespace

std::unique_ptr<CapturedGraph> CapturedGraph::capture(Stream& stream,
                                                      const std::function<void()>& work) {
  return std::make_unique<CudaGraph>(stream, work);
}

}  // namespace strake
