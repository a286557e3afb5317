/// \file  Dense <-> lists of short blocks: a group of lanes takes a block, whose place two loads
/// tell.
#include "copy/cuda/device_code.cuh"

namespace strake::cuda {
namespace {

struct GroupsArguments {
  Side side;
  std::byte* dense;
  std::byte* strided;
  std::int64_t begin;
  std::int64_t end;
  std::int64_t first_block;
  std::int64_t end_block;
};

/// The part of one block that lies in [begin, end).
struct Piece {
  std::byte* dense;
  std::byte* strided;
  int bytes;
};

__device__ __forceinline__ Piece piece_of(const GroupsArguments& a, std::int64_t block) {
  const strake_node& node = a.side.root;
  if (block >= a.end_block) return {a.dense, a.strided, 0};
  std::int64_t begin = 0;
  std::int64_t end = 0;
  if (node.kind == STRAKE_BLOCKS) {
    begin = block * static_cast<std::int64_t>(node.unit.divisor);
    end = begin + static_cast<std::int64_t>(node.unit.divisor);
  } else if (node.wide) {
    begin = a.side.tree.wide[node.positions + block];
    end = a.side.tree.wide[node.positions + block + 1];
  } else {
    begin = static_cast<strake_u32>(a.side.tree.narrow[node.positions + block]);
    end = static_cast<strake_u32>(a.side.tree.narrow[node.positions + block + 1]);
  }
  const std::int64_t offset =
      node.wide ? a.side.tree.wide[node.offsets + block]
                : static_cast<std::int64_t>(a.side.tree.narrow[node.offsets + block]) *
                      (std::int64_t{1} << node.shift);
  const std::int64_t from = max(begin, a.begin);
  return {a.dense + from, a.strided + offset + (from - begin),
          static_cast<int>(min(end, a.end) - from)};
}

/// Bytes at any alignment: aligned 4-byte words of the target, each from the two words of the
/// source that hold it (which hold bytes of the piece, so they may be read), and single bytes at
/// the ends.
template <int Lanes>
__device__ __forceinline__ void copy_shifted(std::byte* to, const std::byte* from, int bytes,
                                             int lane) {
  const int head = min(bytes, static_cast<int>(-reinterpret_cast<std::uintptr_t>(to) & 3));
  const int words = (bytes - head) >> 2;
  const int tail = bytes - head - 4 * words;
  if (lane < head) {
    to[lane] = from[lane];
  } else if (lane - head < tail) {
    const int at = 4 * words + lane;
    to[at] = from[at];
  }
  const auto body = reinterpret_cast<std::uintptr_t>(from + head);
  const unsigned shift = (body & 3) * 8;
  const auto* source = reinterpret_cast<const std::uint32_t*>(body & ~std::uintptr_t{3});
  auto* const target = reinterpret_cast<std::uint32_t*>(to + head);
  for (int word = lane; word < words; word += Lanes) {
    const std::uint32_t low = source[word];
    const std::uint32_t high = shift != 0 ? source[word + 1] : 0;
    target[word] = __funnelshift_r(low, high, shift);
  }
}

/// Log2 0 stands for any alignment.
template <int Log2, Direction Way, int Lanes>
__global__ void __launch_bounds__(kThreads) groups_kernel(const __grid_constant__ GroupsArguments a,
                                                          const __grid_constant__ Signal signal) {
  constexpr int kGroups = kThreads / Lanes;
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  const std::int64_t first = a.first_block +
                             static_cast<std::int64_t>(blockIdx.x) * (kGroups * kBlocksPerGroup) +
                             static_cast<int>(threadIdx.x) / Lanes;
  Piece pieces[kBlocksPerGroup];
  int longest = 0;
#pragma unroll
  for (int i = 0; i < kBlocksPerGroup; ++i) {
    pieces[i] = piece_of(a, first + i * kGroups);
    longest = max(longest, pieces[i].bytes);
  }
  if constexpr (Log2 == 0) {
#pragma unroll
    for (int i = 0; i < kBlocksPerGroup; ++i) {
      copy_shifted<Lanes>(Way == Direction::Pack ? pieces[i].dense : pieces[i].strided,
                          Way == Direction::Pack ? pieces[i].strided : pieces[i].dense,
                          pieces[i].bytes, lane);
    }
  } else {
    // The loads of all pieces go before the stores of any.
    for (int at = lane << Log2; at < longest; at += Lanes << Log2) {
      Word<Log2> words[kBlocksPerGroup];
#pragma unroll
      for (int i = 0; i < kBlocksPerGroup; ++i) {
        const std::byte* from = Way == Direction::Pack ? pieces[i].strided : pieces[i].dense;
        if (at < pieces[i].bytes) words[i] = load_word<Log2>(from + at);
      }
#pragma unroll
      for (int i = 0; i < kBlocksPerGroup; ++i) {
        std::byte* to = Way == Direction::Pack ? pieces[i].dense : pieces[i].strided;
        if (at < pieces[i].bytes) store_word<Log2>(to + at, words[i]);
      }
    }
  }
  raise_signal(signal);
}

template <int Log2, int Lanes>
void start_groups(const GroupsArguments& a, Direction way, const Signal& signal,
                  cudaStream_t stream) {
  constexpr std::int64_t kTile = kThreads / Lanes * kBlocksPerGroup;
  const auto blocks = static_cast<unsigned>((a.end_block - a.first_block + kTile - 1) / kTile);
  if (way == Direction::Pack) {
    groups_kernel<Log2, Direction::Pack, Lanes><<<blocks, kThreads, 0, stream>>>(a, signal);
  } else {
    groups_kernel<Log2, Direction::Unpack, Lanes><<<blocks, kThreads, 0, stream>>>(a, signal);
  }
}

template <int Log2>
void start_groups(const GroupsArguments& a, Direction way, int lanes, const Signal& signal,
                  cudaStream_t stream) {
  if (lanes == 8) {
    start_groups<Log2, 8>(a, way, signal, stream);
  } else {
    start_groups<Log2, 32>(a, way, signal, stream);
  }
}

}  // namespace

cudaError_t launch_groups(const GroupsLaunch& launch, const Signal& signal, cudaStream_t stream) {
  const BlocksLaunch& blocks = launch.blocks;
  const GroupsArguments arguments{
      blocks.side,     blocks.dense, blocks.strided + blocks.side.root.offset,
      blocks.begin,    blocks.end,   launch.first_block,
      launch.end_block};
  switch (blocks.word_log2) {
    case 4:
      start_groups<4>(arguments, blocks.direction, launch.lanes, signal, stream);
      break;
    case 3:
      start_groups<3>(arguments, blocks.direction, launch.lanes, signal, stream);
      break;
    case 2:
      start_groups<2>(arguments, blocks.direction, launch.lanes, signal, stream);
      break;
    default:
      start_groups<0>(arguments, blocks.direction, launch.lanes, signal, stream);
  }
  return cudaGetLastError();
}

}  // namespace strake::cuda
