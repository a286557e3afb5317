#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <thread>
#include <vector>

#include "copy/cpu/op.hpp"

namespace strake::cpu {
namespace {

/// Half of a small L1 cache: the other half is left to the strided side.
constexpr std::int64_t kBounceBytes = 16 * 1024;

/// The least share that is worth a thread of its own. Measured on a Zen 5: a thread starts and ends
/// in 19 us, in which it would copy less than a quarter of this.
constexpr std::int64_t kLeastShare = 1024 * 1024;

}  // namespace

DenseOp::DenseOp(const NestKernels& kernels, std::int64_t bytes, std::int64_t to_offset,
                 std::int64_t from_offset)
    : Op(bytes), copy_(kernels.copy), to_offset_(to_offset), from_offset_(from_offset) {}

void DenseOp::run(std::byte* to, const std::byte* from) const {
  copy_(to + to_offset_, from + from_offset_, size_bytes());
}

void DenseOp::run_part(std::byte* to, const std::byte* from, ByteRange part) const {
  copy_(to + to_offset_ + part.begin, from + from_offset_ + part.begin, part.size());
}

BounceOp::BounceOp(OpPtr pack, OpPtr unpack)
    : Op(pack->size_bytes()), pack_(std::move(pack)), unpack_(std::move(unpack)) {}

void BounceOp::run_part(std::byte* to, const std::byte* from, ByteRange part) const {
  alignas(64) std::byte buffer[kBounceBytes];
  for (std::int64_t begin = part.begin; begin < part.end; begin += kBounceBytes) {
    const ByteRange piece = {begin, std::min(begin + kBounceBytes, part.end)};
    std::byte* const packed = buffer - piece.begin;
    run_range(*pack_, packed, from, piece);
    run_range(*unpack_, to, packed, piece);
  }
}

std::string BounceOp::description() const {
  return fmt::format("{} into {}", pack_->description(), unpack_->description());
}

ThreadsOp::ThreadsOp(OpPtr op, int threads)
    : Op(op->size_bytes()), op_(std::move(op)), threads_(threads) {}

void ThreadsOp::run_part(std::byte* to, const std::byte* from, ByteRange part) const {
  const std::int64_t shares =
      std::clamp<std::int64_t>(part.size() / kLeastShare, 1, std::int64_t{threads_});
  // Shares end at multiples of a page, so that no two threads write one line of a dense side more
  // than once.
  constexpr std::int64_t kPage = 4096;
  const std::int64_t share_bytes = (part.size() / shares + kPage) & -kPage;
  const auto run_share = [&](std::int64_t i) {
    const std::int64_t begin = part.begin + i * share_bytes;
    const ByteRange mine = {begin, std::min(begin + share_bytes, part.end)};
    if (mine.begin < mine.end) run_range(*op_, to, from, mine);
  };
  // Threads live for one copy: idle ones would disturb a rank that computes or forks.
  std::vector<std::jthread> others;
  std::int64_t next = 1;
  try {
    others.reserve(static_cast<std::size_t>(shares - 1));
    for (; next < shares; ++next) others.emplace_back(run_share, next);
  } catch (const std::exception&) {
    // No more threads can be started: this thread does their shares.
  }
  run_share(0);
  for (; next < shares; ++next) run_share(next);
}

std::string ThreadsOp::description() const {
  return fmt::format("{}, {} threads", op_->description(), threads_);
}

}  // namespace strake::cpu
