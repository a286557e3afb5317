#include <cstdint>

#include "grid/device_packed.hpp"
#include "grid/nccl.hpp"

namespace bench {
namespace {

class PackedNcclContender final : public PackedContender {
 public:
  PackedNcclContender(const RankBox& box, const HaloShape& shape,
                      std::unique_ptr<NcclCommunicator> nccl, int exchanges)
      : PackedContender(box, shape, Where::Device), nccl_(std::move(nccl)), exchanges_(exchanges) {}
  [[nodiscard]] int exchanges() const override { return exchanges_; }
  void exchange() override {
    for (int i = 0; i < exchanges_; ++i) {
      pack();
      send_and_receive();
      unpack();
    }
    synchronize();
  }

 private:
  void send_and_receive() const {
    if (messages().empty()) return;
    constexpr std::int64_t kSize = sizeof(double);
    nccl_->group_start();
    for (const Message& message : messages()) {
      nccl_->send(message.out, message.cells * kSize, message.peer, stream());
      nccl_->receive(message.in, message.cells * kSize, message.peer, stream());
    }
    nccl_->group_end();
  }

  std::unique_ptr<NcclCommunicator> nccl_;
  int exchanges_;
};

}  // namespace

std::unique_ptr<Contender> make_packed_nccl(const RankBox& box, const HaloShape& shape,
                                            int exchanges) {
  use_device();
  auto nccl = NcclCommunicator::join();
  if (nccl == nullptr) return nullptr;
  return std::make_unique<PackedNcclContender>(box, shape, std::move(nccl), exchanges);
}

}  // namespace bench
