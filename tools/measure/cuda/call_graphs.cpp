/// \file  Instantiating and launching a captured graph of 1 to 20 nodes.
/// Sources: dissertation 3.3.7, fig. 3.13.
#include "measure/cuda/cases.hpp"
#include "measure/cuda/traffic.hpp"

namespace strake::measure::cuda {
namespace {

enum class Node { Kernel, Copy, Copy3D };

using Graph = std::shared_ptr<CUgraph_st>;
using Executable = std::shared_ptr<CUgraphExec_st>;

Executable instantiate(const Graph& graph) {
  cudaGraphExec_t made = nullptr;
#if CUDART_VERSION >= 12000
  check(cudaGraphInstantiate(&made, graph.get(), 0));
#else
  check(cudaGraphInstantiate(&made, graph.get(), nullptr, nullptr, 0));
#endif
  return {made, [](cudaGraphExec_t e) { (void)cudaGraphExecDestroy(e); }};
}

void enqueue(Node node, const Move& move, cudaStream_t stream) {
  if (node == Node::Kernel) {
    check(launch_nothing(0, stream));
  } else if (node == Node::Copy) {
    check(cudaMemcpyAsync(move.to->data(), move.from->data(), move.size(), cudaMemcpyDefault,
                          stream));
  } else {
    cudaMemcpy3DParms copy{};
    copy.srcPtr = {move.from->data(), 16, 16, 4};
    copy.dstPtr = {move.to->data(), 16, 16, 4};
    copy.extent = {16, 4, 1};
    copy.kind = cudaMemcpyDefault;
    check(cudaMemcpy3DAsync(&copy, stream));
  }
}

Graph capture(Node node, int nodes, const Move& move, cudaStream_t stream) {
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  for (int i = 0; i < nodes; ++i) enqueue(node, move, stream);
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream, &graph));
  return {graph, [](cudaGraph_t g) { (void)cudaGraphDestroy(g); }};
}

std::unique_ptr<Instance> make_graph(Node node, int nodes, bool launch) {
  const Move move({Kind::Device}, {Kind::Device}, 64, 12);
  const auto stream = std::make_shared<OwnedStream>(0);
  // Everything is loaded before it is captured.
  enqueue(node, move, stream->get());
  const Graph graph = capture(node, nodes, move, stream->get());
  const Executable executable = instantiate(graph);
  check(cudaGraphLaunch(executable.get(), stream->get()));
  check(cudaStreamSynchronize(stream->get()));
  return timed_each(
      0,
      [=] {
        const Stopwatch watch;
        Executable made;
        if (launch) {
          check(cudaGraphLaunch(executable.get(), stream->get()));
        } else {
          made = instantiate(graph);
        }
        const double seconds = watch.seconds();
        check(cudaStreamSynchronize(stream->get()));  // drained before the next
        return seconds;
      },
      [=] {
        if (node == Node::Kernel) return;
        move.to->fill(~move.seed);
        check(cudaGraphLaunch(executable.get(), stream->get()));
        check(cudaStreamSynchronize(stream->get()));
        move.verify("copies of a graph");
      });
}

}  // namespace

void add_graphs(Cases& cases) {
  for (const Node node : {Node::Kernel, Node::Copy, Node::Copy3D}) {
    const std::string kind = node == Node::Kernel ? "kernel"
                             : node == Node::Copy ? "copy"
                                                  : "copy-3d";
    for (const int nodes : {1, 2, 5, 10, 20}) {
      for (const bool launch : {true, false}) {
        Case& added = add(cases, "gpu/graph/" + kind + (launch ? "/launch" : "/instantiate"), 0,
                          [=] { return make_graph(node, nodes, launch); });
        added.count = nodes;
        added.quick = node == Node::Kernel && launch && (nodes == 1 || nodes == 20);
      }
    }
  }
}

}  // namespace strake::measure::cuda
