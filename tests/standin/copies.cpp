#include "copies.hpp"

#include <cstdlib>

#include "cuda_runtime_api.h"
#include "queue.hpp"
#include "stream.hpp"

namespace standin {

using strake::ByteRange;
using strake::CopyPlan;
using strake::Layout;
using strake::Place;
using strake::Ticket;

bool has_kernels() noexcept { return std::getenv("STANDIN_NO_KERNELS") == nullptr; }

Plan::Plan(const Layout& to, const Layout& from, int device, bool staged)
    : plan_(CopyPlan::compile(to, Place{}, from, Place{})),
      to_begin_(to.bounds().begin),
      from_begin_(from.bounds().begin),
      device_(device),
      staged_(staged) {}

Ticket Plan::enqueue(strake::Queue& queue, std::byte* to, const std::byte* from,
                     ByteRange part) const {
  return static_cast<Queue&>(queue).push(task(to, from, part));
}

void Plan::enqueue(strake::DeviceStream& stream, std::byte* to, const std::byte* from,
                   ByteRange part) const {
  (void)enqueue(static_cast<Stream&>(stream).queue(), to, from, part);
}

std::function<void()> Plan::task(std::byte* to, const std::byte* from, ByteRange part) const {
  // The base of a layout may lie outside of its memory.
  std::byte* const to_there = reach(to + to_begin_) - to_begin_;
  const std::byte* const from_there = reach(from + from_begin_) - from_begin_;
  return [this, to_there, from_there, part] { plan_.run(to_there, from_there, part); };
}

Batch::Batch(std::span<const strake::CopyBatch::Copy> copies, int device) {
  for (const auto& copy : copies) {
    runs_.push_back({std::make_unique<Plan>(copy.to, copy.from, device),
                     static_cast<std::size_t>(copy.to_slot),
                     static_cast<std::size_t>(copy.from_slot)});
  }
}

void Batch::enqueue(strake::DeviceStream& stream, std::span<std::byte* const> bases) const {
  (void)enqueue(static_cast<Stream&>(stream).queue(), bases);
}

Ticket Batch::enqueue(strake::Queue& queue, std::span<std::byte* const> bases) const {
  return static_cast<Queue&>(queue).push([all = tasks(bases)] {
    for (const auto& task : all) task();
  });
}

std::vector<std::function<void()>> Batch::tasks(std::span<std::byte* const> bases) const {
  std::vector<std::function<void()>> made;
  for (const Run& run : runs_)
    made.push_back(run.plan->task(bases[run.to], bases[run.from], ByteRange::all()));
  return made;
}

}  // namespace standin
