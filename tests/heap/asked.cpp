// Programs in other languages ask these functions about the heap.
#include <dlfcn.h>

#include "memory/sharing/heap_view.hpp"

/// 1: the address is in the heap; 0: it is not; -1: there is no heap.
extern "C" __attribute__((visibility("default"))) int heap_has(const void* address) {
  using strake::sharing::HeapView;
  const auto* const view = static_cast<const HeapView*>(dlsym(RTLD_DEFAULT, HeapView::kSymbol));
  if (view == nullptr || view->base == nullptr) return -1;
  const auto* const at = static_cast<const std::byte*>(address);
  const std::byte* const base = view->base;
  return at >= base && at < base + HeapView::kSlices * HeapView::kSliceBytes ? 1 : 0;
}
