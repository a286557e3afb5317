/// \file  A CUDA graph that was captured from a stream.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>

namespace strake {

class Graph {
 public:
  /// Captures what `work` enqueues on `stream`. The capture must stay valid.
  template <typename Work>
  Graph(cudaStream_t stream, cudaStreamCaptureMode mode, Work&& work) {
    EXPECT_EQ(cudaStreamBeginCapture(stream, mode), cudaSuccess);
    work();
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph_), cudaSuccess);
    EXPECT_EQ(cudaGraphInstantiate(&launchable_, graph_, 0), cudaSuccess);
  }
  ~Graph() {
    (void)cudaGraphExecDestroy(launchable_);
    (void)cudaGraphDestroy(graph_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  [[nodiscard]] std::size_t nodes() const {
    std::size_t count = 0;
    EXPECT_EQ(cudaGraphGetNodes(graph_, nullptr, &count), cudaSuccess);
    return count;
  }
  void launch(cudaStream_t stream) const {
    EXPECT_EQ(cudaGraphLaunch(launchable_, stream), cudaSuccess);
  }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t launchable_ = nullptr;
};

}  // namespace strake
