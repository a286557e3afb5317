#include "machine/ways.hpp"

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

/// Adds up one way, step by step.
class Steps {
 public:
  Steps(const ExchangeParts& parts, TransferMethod method, const Path& path, const Shape& shape)
      : parts_(parts), path_(path), link_(link_of(path)), costs_(parts, shape) {
    way_.method = method;
  }

  Way find() {
    if (is(TransferMethod::Self)) {
      copy_within(Side::From);
    } else if (is(TransferMethod::Direct)) {
      pull();
    } else {
      on_device(Side::From) ? give_from_device() : give_from_host();
      ++step_;
      if (link_ == PathLink::OtherNode) send();
      on_device(Side::To) ? take_on_device() : take_on_host();
    }
    way_.lacking = costs_.lacking();
    return std::move(way_);
  }

 private:
  [[nodiscard]] bool is(TransferMethod method) const noexcept { return way_.method == method; }
  [[nodiscard]] bool on_device(Side side) const noexcept {
    return (side == Side::From ? path_.from : path_.to).memory == MemoryKind::Device;
  }
  Use& use(Resource resource, Side side, int step) {
    for (Use& known : way_.uses)
      if (known.resource == resource && known.side == side && known.step == step) return known;
    return way_.uses.emplace_back(Use{resource, side, step});
  }
  void busy(Resource resource, Side side, double seconds) {
    use(resource, side, step_).bytes += seconds;
  }
  void launch(Resource thread, Side side, double seconds) {
    use(thread, side, step_).launch = seconds;
  }
  double launch_and_wait() { return costs_.call("gpu/call/launch-and-wait/stream"); }
  /// Whether two GPUs send mail to each other (decision 17). A round of it was measured as a whole:
  /// what a GPU's own copies take falls on the end that gives, the rest on the one that takes.
  [[nodiscard]] bool is_mail() const noexcept {
    return link_ == PathLink::PeerGpu && !is(TransferMethod::Staged);
  }
  double own_round() { return costs_.call("gpu/mail/own"); }
  double rest_of_round() {
    const std::string pair = parts_.pair_like(path_.from.gpu, path_.to.gpu);
    const double round = costs_.call(fmt::format("gpu/mail/{}/{}", pair, name_of(way_.method)));
    return std::max(round - own_round(), 0.0);
  }

  void copy_within(Side side) {
    if (!on_device(side)) {
      busy(Resource::RankGiving, side, within_host(costs_.cpu(Direction::Send)));
      return;
    }
    launch(Resource::RankGiving, side, is(TransferMethod::Self) ? own_round() : launch_and_wait());
    ++step_;
    const double local = costs_.share("gpu/kernel/local");
    busy(
        Resource::GpuGiving, side,
        layout_to_layout(costs_.device(Direction::Send), costs_.device(Direction::Receive), local));
  }
  double within_host(double reading) {
    return layout_to_layout(reading, costs_.cpu(Direction::Receive),
                            costs_.rest("copy/cpu/cached"));
  }

  void pull() {
    if (link_ == PathLink::SameGpu) return copy_within(Side::To);
    if (link_ == PathLink::Host)
      return read(costs_.rest(path_.from.shared ? "mem/shared" : "mem/cma"));
    launch(Resource::RankGiving, Side::To, launch_and_wait());
    ++step_;
    const std::string pair = parts_.pair_like(path_.from.gpu, path_.to.gpu);
    const double dense = costs_.share("gpu/peer/" + pair + "/pull");
    const double blocks = costs_.read_blocks("gpu/fetch/peer/" + pair + "/read", dense);
    peer(blocks, dense > 0 ? blocks / dense : 1, "/push");
    busy(Resource::GpuGiving, Side::To, costs_.device(Direction::Receive));
  }

  /// Unpacks from host memory of another rank of the node, which takes `reading` by itself.
  void read(double reading) {
    busy(Resource::RankTaking, Side::To, within_host(reading));
    busy(Resource::NodeMemory, Side::To, costs_.shared("mpi/node/pairs"));
  }

  /// Over the link of two GPUs. Their links to all peers were measured with dense bytes only (`by`
  /// copy engines, or kernels that push): these take `longer`.
  void peer(double seconds, double longer, const std::string& by) {
    busy(Resource::PeerPair, Side::From, seconds);
    busy(Resource::PeerOut, Side::From, costs_.shared("gpu/fan/egress" + by) * longer);
    busy(Resource::PeerIn, Side::To, costs_.shared("gpu/fan/ingress" + by) * longer);
  }

  void give_from_host() { busy(Resource::RankGiving, Side::From, costs_.cpu(Direction::Send)); }

  void give_from_device() {
    launch(Resource::RankGiving, Side::From, is_mail() ? own_round() : launch_and_wait());
    const int thread = step_++;
    if (is(TransferMethod::OneShot)) {
      busy(Resource::HostOut, Side::From, costs_.one_shot(Direction::Send));
      return;
    }
    busy(Resource::GpuGiving, Side::From, costs_.device(Direction::Send));
    if (is(TransferMethod::Device) && link_ == PathLink::PeerGpu) {
      const std::string pair = parts_.pair_like(path_.from.gpu, path_.to.gpu);
      peer(costs_.share("gpu/peer/" + pair + "/push"), 1, "/push");
    } else if (is(TransferMethod::Engine)) {
      ++step_;
      peer(costs_.rest(fmt::format("gpu/peer/{}-{}", path_.from.gpu, path_.to.gpu)), 1, "");
    } else if (is(TransferMethod::Staged)) {
      constexpr const char* kCopy = "copy/device-to-pinned";
      use(Resource::RankGiving, Side::From, thread).message += costs_.fixed(kCopy);
      ++step_;
      busy(Resource::HostOut, Side::From, costs_.rest(kCopy));
    }
  }

  /// One message. Each end's thread has half of its fixed costs, which were measured together.
  void send() {
    const char* const name = is(TransferMethod::Device) ? "mpi/net/device" : "mpi/net/packed";
    const double half = costs_.fixed(name) / 2;
    const double alone = costs_.rest(name);
    const double together = costs_.shared("mpi/net/pairs");
    use(Resource::RankGiving, Side::From, 0).message += half;
    busy(Resource::MessageOut, Side::From, alone);
    busy(Resource::MessageIn, Side::To, alone);
    busy(Resource::NodeOut, Side::From, together);
    busy(Resource::NodeIn, Side::To, together);
    ++step_;
    use(Resource::RankTaking, Side::To, step_).message += half;
  }

  void take_on_host() {
    if (link_ == PathLink::Host) return read(costs_.rest("mem/shared/dense"));
    busy(Resource::RankTaking, Side::To, costs_.cpu(Direction::Receive));
  }

  void take_on_device() {
    const int thread = step_;
    launch(Resource::RankTaking, Side::To, is_mail() ? rest_of_round() : launch_and_wait());
    ++step_;
    const bool staged = is(TransferMethod::Staged);
    if (staged || is(TransferMethod::OneShot)) {
      constexpr const char* kCopy = "copy/pinned-to-device";
      if (staged) use(Resource::RankTaking, Side::To, thread).message += costs_.fixed(kCopy);
      busy(Resource::HostIn, Side::To,
           staged ? costs_.rest(kCopy) : costs_.one_shot(Direction::Receive));
      if (link_ != PathLink::OtherNode)
        busy(Resource::NodeMemory, Side::To, costs_.shared("mpi/node/pairs"));
      if (!staged) return;
      ++step_;
    }
    busy(Resource::GpuTaking, Side::To, costs_.device(Direction::Receive));
  }

  const ExchangeParts& parts_;
  const Path& path_;
  PathLink link_;
  Costs costs_;
  Way way_;
  int step_ = 0;
};

}  // namespace

const char* name_of(Resource resource) noexcept {
  constexpr const char* kNames[] = {
      "a rank's thread, giving",        "a rank's thread, taking",
      "a GPU's memory, giving",         "a GPU's memory, taking",
      "the link of two GPUs",           "a GPU's links to its peers, out",
      "a GPU's links to its peers, in", "a GPU's link to the host, out",
      "a GPU's link to the host, in",   "a rank's messages, out",
      "a rank's messages, in",          "a node's memory",
      "a node's network, out",          "a node's network, in"};
  static_assert(std::size(kNames) == kResources);
  return kNames[static_cast<int>(resource)];
}

Way find_way(const ExchangeParts& parts, TransferMethod method, const Path& path,
             const Shape& shape) {
  return Steps(parts, method, path, shape).find();
}

}  // namespace strake::machine
