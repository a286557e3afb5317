#include "mpi/elements.hpp"

namespace strake::mpi {

Elements::Elements(Layout layout)
    : layout_(std::move(layout)), spread_(spread_of(layout_)), pitch_(pitch_of(layout_)) {}

Elements::~Elements() { delete companion_.load(std::memory_order_acquire); }

Companion* Elements::keep(std::unique_ptr<Companion> made) noexcept {
  Companion* none = nullptr;
  if (companion_.compare_exchange_strong(none, made.get(), std::memory_order_acq_rel)) {
    return made.release();
  }
  return none;
}

}  // namespace strake::mpi
