// The list kernels, compiled for every instruction set, and the choice among them.
#include "copy/cpu/targets.hpp"
// clang-format off: the order matters to Highway.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "copy/cpu/list_kernels.cpp"
#include "hwy/foreach_target.h"
// clang-format on
#include "copy/cpu/kernel_tables.hpp"
#include "copy/cpu/list-inl.hpp"
#include "copy/cpu/window-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace strake::cpu {
namespace HWY_NAMESPACE {
namespace {

/// Calls `use` with the type of copy that suits blocks of one length.
template <typename Use>
auto with_copy(std::int64_t block, Use use) {
  switch (block) {
    case 1:
      return use(std::type_identity<FixedCopy<1>>{});
    case 2:
      return use(std::type_identity<FixedCopy<2>>{});
    case 3:
      return use(std::type_identity<FixedCopy<3>>{});
    case 4:
      return use(std::type_identity<JoinedCopy<4>>{});
    case 8:
      return use(std::type_identity<JoinedCopy<8>>{});
    case 12:
      return use(std::type_identity<JoinedCopy<12>>{});
    case 16:
      return use(std::type_identity<FixedCopy<16>>{});
    case 24:
      return use(std::type_identity<JoinedCopy<24>>{});
    case 32:
      return use(std::type_identity<FixedCopy<32>>{});
    case 64:
      return use(std::type_identity<FixedCopy<64>>{});
    default:
      break;
  }
  if (block < 8) return use(std::type_identity<OverlapCopy<4>>{});
  if (block < 16) return use(std::type_identity<ShortCopy<16>>{});
  if (block < 32) return use(std::type_identity<ShortCopy<32>>{});
  if (block < 64) return use(std::type_identity<ShortCopy<64>>{});
  if (block <= 128) return use(std::type_identity<OverlapCopy<64>>{});
  if (block < 1024) return use(std::type_identity<VectorCopy>{});
  return use(std::type_identity<LongCopy>{});
}

/// Whether blocks of this length are joined when they are packed.
bool joins(std::int64_t block) {
  return with_copy(block, [](auto copy) { return kJoins<typename decltype(copy)::type>; });
}

template <typename Index>
PackListFn choose_pack_of(const List& list) {
  if (positions_of<Index>(list) == nullptr) {
    return with_copy(list.block, [&](auto copy) -> PackListFn {
      using Copy = typename decltype(copy)::type;
      return list.prefetch ? pack_list<Copy, Index, true> : pack_list<Copy, Index, false>;
    });
  }
  if (list.block <= 16) return pack_lengths<16, Index>;
  if (list.block <= 32) return pack_lengths<32, Index>;
  if (list.block <= 64) return pack_lengths<64, Index>;
  return pack_lengths<128, Index>;
}

template <typename Index>
UnpackListFn choose_unpack_of(const List& list) {
  if (positions_of<Index>(list) == nullptr) {
    return with_copy(list.block, [&](auto copy) -> UnpackListFn {
      using Copy = typename decltype(copy)::type;
      return list.prefetch ? unpack_list<Copy, Index, true> : unpack_list<Copy, Index, false>;
    });
  }
  return list.block <= kVectorBytes ? unpack_lengths<1, Index> : unpack_lengths<2, Index>;
}

PackListFn choose_pack(const List& list) {
  return list.offsets32 != nullptr ? choose_pack_of<std::int32_t>(list)
                                   : choose_pack_of<std::int64_t>(list);
}
UnpackListFn choose_unpack(const List& list) {
  return list.offsets32 != nullptr ? choose_unpack_of<std::int32_t>(list)
                                   : choose_unpack_of<std::int64_t>(list);
}

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
PackWindowsFn choose_pack_windows(bool prefetch, bool gaps_readable) {
  if (gaps_readable) return prefetch ? pack_windows<true, true> : pack_windows<false, true>;
  return prefetch ? pack_windows<true, false> : pack_windows<false, false>;
}
UnpackWindowsFn choose_unpack_windows(bool prefetch) {
  return prefetch ? unpack_windows<true> : unpack_windows<false>;
}
#endif

}  // namespace

const ListKernels& list_kernels() {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  static constexpr ListKernels kKernels = {choose_pack, choose_unpack, joins, choose_pack_windows,
                                           choose_unpack_windows};
#else
  static constexpr ListKernels kKernels = {choose_pack, choose_unpack, joins, nullptr, nullptr};
#endif
  return kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace strake::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strake::cpu {

const ListKernels* list_kernels_of(std::int64_t target) {
#define STRAKE_CASE(ns, value) \
  if (target == value) return &ns::list_kernels();
  STRAKE_EACH_TARGET(STRAKE_CASE)
#undef STRAKE_CASE
  return nullptr;
}

}  // namespace strake::cpu
#endif
