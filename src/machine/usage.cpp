#include "machine/usage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace strake::machine {
namespace {

/// From layout to layout, by what each layout takes with dense bytes at the other side: these, read
/// once and written once, are left out.
double layout_to_layout(double reading, double writing, double dense_copy) noexcept {
  return std::max({reading + writing - dense_copy, reading, writing});
}

/// Adds up what one transfer uses, step by step.
class Steps {
 public:
  Steps(const ExchangeParts& parts, Transport transport, const Path& path, const Shape& shape)
      : parts_(parts), path_(path), link_(link_of(path)), costs_(parts, shape) {
    usage_.transport = transport;
  }
  /// Returns the sum of all steps.
  Usage end() {
    usage_.lacking = costs_.lacking();
    return std::move(usage_);
  }

  [[nodiscard]] bool on_device(Side side) const noexcept {
    return is_on_device(side == Side::From ? path_.from : path_.to);
  }
  [[nodiscard]] bool leaves_the_node() const noexcept { return link_ == PathLink::OtherNode; }
  [[nodiscard]] PathLink link() const noexcept { return link_; }
  void next() noexcept { ++step_; }

  double launch_and_wait() { return costs_.call("gpu/call/launch-and-wait/stream"); }
  double own_round() { return costs_.call("gpu/mail/own"); }

  void copy_within_host(Side side) {
    busy(Resource::RankSending, side, within_host(costs_.cpu(MessageDirection::Send)));
  }
  /// `takes`: the thread, to launch it.
  void copy_within_device(Side side, double takes) {
    launch(Resource::RankSending, side, takes);
    next();
    const double local = costs_.share("gpu/kernel/local");
    busy(Resource::GpuSending, side,
         layout_to_layout(costs_.device(MessageDirection::Send),
                          costs_.device(MessageDirection::Receive), local));
  }
  /// Kernels read blocks of a peer GPU's memory.
  void pull_from_peer() {
    launch(Resource::RankSending, Side::To, launch_and_wait());
    next();
    const std::string pair = pair_of_path();
    const double dense = costs_.share("gpu/peer/" + pair + "/pull");
    const double blocks = costs_.read_blocks("gpu/fetch/peer/" + pair + "/read", dense);
    over_link(blocks, dense > 0 ? blocks / dense : 1, "/push");
    busy(Resource::GpuSending, Side::To, costs_.device(MessageDirection::Receive));
  }
  /// Unpacks from host memory of another rank of the node, where bytes `are` cost their readers.
  void read(const std::string& are) {
    busy(Resource::RankReceiving, Side::To, within_host(costs_.rest(are)));
    share_node_memory();
  }
  void read_in_place() { read(path_.from.shared ? "mem/shared" : "mem/cma"); }

  void pack_on_host() {
    busy(Resource::RankSending, Side::From, costs_.cpu(MessageDirection::Send));
  }
  void unpack_on_host() {
    busy(Resource::RankReceiving, Side::To, costs_.cpu(MessageDirection::Receive));
  }
  /// The CPU unpacks bytes that lie packed in host memory.
  void receive_on_host() { leaves_the_node() ? unpack_on_host() : read("mem/shared/dense"); }

  /// \{ A round of puts between two GPUs was measured as a whole (decision 17): what a GPU's own
  /// copies take falls on the end that sends, the rest on the one that receives. `measured`: the
  /// round's name in profiles, "device" of puts by kernels; null: this is none.
  void begin_on_device(bool puts) {
    launch(Resource::RankSending, Side::From, puts ? own_round() : launch_and_wait());
    next();
  }
  void begin_to_receive_on_device(const char* measured) {
    launch(Resource::RankReceiving, Side::To,
           measured != nullptr ? rest_of_round(measured) : launch_and_wait());
    next();
  }
  /// \}
  void pack_on_device() {
    busy(Resource::GpuSending, Side::From, costs_.device(MessageDirection::Send));
  }
  void unpack_on_device() {
    busy(Resource::GpuReceiving, Side::To, costs_.device(MessageDirection::Receive));
  }
  void push_to_peer() {
    over_link(costs_.share("gpu/peer/" + pair_of_path() + "/push"), 1, "/push");
  }
  void copy_to_peer() {
    over_link(costs_.rest(fmt::format("gpu/peer/{}-{}", path_.from.gpu, path_.to.gpu)), 1, "");
  }
  void pack_into_host() {
    busy(Resource::HostOut, Side::From, costs_.one_shot(MessageDirection::Send));
  }
  void unpack_out_of_host() {
    busy(Resource::HostIn, Side::To, costs_.one_shot(MessageDirection::Receive));
    if (!leaves_the_node()) share_node_memory();
  }
  /// The fixed costs of copies fall on the thread, one step earlier.
  void copy_to_host() {
    constexpr const char* kCopy = "copy/device-to-pinned";
    use(Resource::RankSending, Side::From, step_ - 1).message += costs_.fixed(kCopy);
    next();
    busy(Resource::HostOut, Side::From, costs_.rest(kCopy));
  }
  void copy_from_host() {
    constexpr const char* kCopy = "copy/pinned-to-device";
    use(Resource::RankReceiving, Side::To, step_ - 1).message += costs_.fixed(kCopy);
    busy(Resource::HostIn, Side::To, costs_.rest(kCopy));
    if (!leaves_the_node()) share_node_memory();
    next();
  }
  /// One message, of a curve's name. Each end's thread has half of its fixed costs, which were
  /// measured together.
  void send(const char* name) {
    const double half = costs_.fixed(name) / 2;
    const double alone = costs_.rest(name);
    const double together = costs_.shared("mpi/net/pairs");
    use(Resource::RankSending, Side::From, 0).message += half;
    busy(Resource::MessageOut, Side::From, alone);
    busy(Resource::MessageIn, Side::To, alone);
    busy(Resource::NodeOut, Side::From, together);
    busy(Resource::NodeIn, Side::To, together);
    next();
    use(Resource::RankReceiving, Side::To, step_).message += half;
  }
  void send_packed() {
    if (leaves_the_node()) send("mpi/net/packed");
  }

 private:
  Use& use(Resource resource, Side side, int step) {
    for (Use& known : usage_.uses)
      if (known.resource == resource && known.side == side && known.step == step) return known;
    return usage_.uses.emplace_back(Use{resource, side, step});
  }
  void busy(Resource resource, Side side, double seconds) {
    use(resource, side, step_).bytes += seconds;
  }
  void launch(Resource thread, Side side, double seconds) {
    use(thread, side, step_).launch = seconds;
  }
  void share_node_memory() {
    busy(Resource::NodeMemory, Side::To, costs_.shared("mpi/node/pairs"));
  }
  double within_host(double reading) {
    return layout_to_layout(reading, costs_.cpu(MessageDirection::Receive),
                            costs_.rest("copy/cpu/cached"));
  }
  [[nodiscard]] std::string pair_of_path() const {
    return parts_.pair_like(path_.from.gpu, path_.to.gpu);
  }
  double rest_of_round(const char* measured) {
    const double round = costs_.call(fmt::format("gpu/mail/{}/{}", pair_of_path(), measured));
    return std::max(round - own_round(), 0.0);
  }
  /// Over the link of two GPUs. Their links to all peers were measured with dense bytes only (`by`
  /// copy engines, or kernels that push): these take `longer`.
  void over_link(double seconds, double longer, const std::string& by) {
    busy(Resource::PeerPair, Side::From, seconds);
    busy(Resource::PeerOut, Side::From, costs_.shared("gpu/fan/egress" + by) * longer);
    busy(Resource::PeerIn, Side::To, costs_.shared("gpu/fan/ingress" + by) * longer);
  }

  const ExchangeParts& parts_;
  const Path& path_;
  PathLink link_;
  Costs costs_;
  Usage usage_;
  int step_ = 0;
};

}  // namespace

Usage predict_self(const ExchangeParts& parts, const Path& path, const Shape& shape) {
  Steps steps(parts, Transport::Self, path, shape);
  steps.on_device(Side::From) ? steps.copy_within_device(Side::From, steps.own_round())
                              : steps.copy_within_host(Side::From);
  return steps.end();
}

Usage predict_direct(const ExchangeParts& parts, const Path& path, const Shape& shape) {
  Steps steps(parts, Transport::Direct, path, shape);
  if (steps.link() == PathLink::SameGpu) {
    steps.copy_within_device(Side::To, steps.launch_and_wait());
  } else if (steps.link() == PathLink::Host) {
    steps.read_in_place();
  } else {
    steps.pull_from_peer();
  }
  return steps.end();
}

Usage predict_shared(const ExchangeParts& parts, const Path& path, const Shape& shape) {
  Steps steps(parts, Transport::Shared, path, shape);
  steps.pack_on_host();
  steps.next();
  steps.receive_on_host();
  return steps.end();
}

Usage predict_put(const ExchangeParts& parts, const Path& path, const Shape& shape) {
  Steps steps(parts, Transport::Put, path, shape);
  const bool peers = steps.link() == PathLink::PeerGpu;
  steps.begin_on_device(peers);
  steps.pack_on_device();
  if (peers) steps.push_to_peer();
  steps.next();
  steps.begin_to_receive_on_device(peers ? "device" : nullptr);
  steps.unpack_on_device();
  return steps.end();
}

Usage predict_engine(const ExchangeParts& parts, const Path& path, const Shape& shape) {
  Steps steps(parts, Transport::Engine, path, shape);
  steps.begin_on_device(true);
  steps.pack_on_device();
  steps.next();
  steps.copy_to_peer();
  steps.next();
  steps.begin_to_receive_on_device("engine");
  steps.unpack_on_device();
  return steps.end();
}

Usage predict_one_shot(const ExchangeParts& parts, const Path& path, const Shape& shape) {
  Steps steps(parts, Transport::OneShot, path, shape);
  const bool peers = steps.link() == PathLink::PeerGpu;
  if (steps.on_device(Side::From)) {
    steps.begin_on_device(peers);
    steps.pack_into_host();
  } else {
    steps.pack_on_host();
  }
  steps.next();
  steps.send_packed();
  if (steps.on_device(Side::To)) {
    steps.begin_to_receive_on_device(peers ? "one-shot" : nullptr);
    steps.unpack_out_of_host();
  } else {
    steps.receive_on_host();
  }
  return steps.end();
}

Usage predict_staged(const ExchangeParts& parts, const Path& path, const Shape& shape) {
  Steps steps(parts, Transport::Staged, path, shape);
  if (steps.on_device(Side::From)) {
    steps.begin_on_device(false);
    steps.pack_on_device();
    steps.copy_to_host();
  } else {
    steps.pack_on_host();
  }
  steps.next();
  steps.send_packed();
  if (steps.on_device(Side::To)) {
    steps.begin_to_receive_on_device(nullptr);
    steps.copy_from_host();
    steps.unpack_on_device();
  } else {
    steps.receive_on_host();
  }
  return steps.end();
}

Usage predict_device(const ExchangeParts& parts, const Path& path, const Shape& shape) {
  Steps steps(parts, Transport::Device, path, shape);
  steps.begin_on_device(false);
  steps.pack_on_device();
  steps.next();
  steps.send("mpi/net/device");
  steps.begin_to_receive_on_device(nullptr);
  steps.unpack_on_device();
  return steps.end();
}

Usage predict_pack(const ExchangeParts& parts, const Path& path, const Shape& shape) {
  Steps steps(parts, Transport::Pack, path, shape);
  steps.pack_on_host();
  steps.next();
  steps.send("mpi/net/packed");
  steps.unpack_on_host();
  return steps.end();
}

const char* name_of(Resource resource) noexcept {
  constexpr const char* kNames[] = {
      "a rank's thread, sending",       "a rank's thread, receiving",
      "a GPU's memory, sending",        "a GPU's memory, receiving",
      "the link of two GPUs",           "a GPU's links to its peers, out",
      "a GPU's links to its peers, in", "a GPU's link to the host, out",
      "a GPU's link to the host, in",   "a rank's messages, out",
      "a rank's messages, in",          "a node's memory",
      "a node's network, out",          "a node's network, in"};
  static_assert(std::size(kNames) == kResources);
  return kNames[static_cast<int>(resource)];
}

}  // namespace strake::machine
