#include "strake/stream.hpp"

#include <memory>
#include <utility>

#include "device/backend.hpp"
#include "strake/error.hpp"

namespace strake {
namespace {

DeviceBackend& loaded_backend() {
  DeviceBackend* const backend = device_backend();
  if (backend == nullptr) {
    throw Unsupported(
        "no device back end is loaded: the process has not used its device yet, or Strake has no "
        "plug-in for it");
  }
  return *backend;
}

}  // namespace

Event::Event() noexcept = default;
Event::Event(Event&& other) noexcept
    : device_event_(std::move(other.device_event_)),
      recorded_(std::exchange(other.recorded_, false)) {}
Event& Event::operator=(Event&& other) noexcept {
  device_event_ = std::move(other.device_event_);
  recorded_ = std::exchange(other.recorded_, false);
  return *this;
}
Event::~Event() = default;

void Event::require_recorded() const {
  if (!recorded_) throw InvalidArgument("the event was never recorded");
}

bool Event::query() const {
  require_recorded();
  return device_event_ == nullptr || device_event_->query();
}

void Event::synchronize() const {
  require_recorded();
  if (device_event_ != nullptr) device_event_->synchronize();
}

Stream::Stream() noexcept = default;
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;
Stream::~Stream() = default;
Stream::Stream(std::unique_ptr<DeviceStream> stream) noexcept : device_stream_(std::move(stream)) {}

Stream Stream::make(int device) { return Stream(loaded_backend().make_stream(device)); }

Stream Stream::adopt(CUstream_st* stream, int device) {
  return Stream(loaded_backend().adopt_stream(stream, device));
}

StreamList::StreamList(const Streams& given) : all_(given.streams_) {
  if (given.refs_.empty()) return;
  if (given.refs_.size() == 1 && given.refs_.front().stream_ != nullptr) {
    all_ = std::span(given.refs_.front().stream_, 1);
    return;
  }
  adopted_.reserve(given.refs_.size());
  for (const StreamRef& ref : given.refs_) {
    const bool is_native = ref.stream_ == nullptr;
    if (!is_native && ref.stream_->device() < 0) {
      adopted_.emplace_back();
    } else {
      adopted_.push_back(is_native ? Stream::adopt(ref.native_)
                                   : Stream::adopt(ref.stream_->native(), ref.stream_->device()));
    }
  }
  all_ = adopted_;
}

int Stream::device() const noexcept {
  return device_stream_ != nullptr ? device_stream_->device() : -1;
}

CUstream_st* Stream::native() const noexcept {
  return device_stream_ != nullptr ? static_cast<CUstream_st*>(device_stream_->native()) : nullptr;
}

void Stream::record(Event& event) {
  if (device_stream_ == nullptr) {
    event.device_event_.reset();
  } else {
    // A call that throws leaves the event as it was.
    std::unique_ptr<DeviceEvent> made;
    if (event.device_event_ == nullptr || event.device_event_->device() != device())
      made = loaded_backend().make_event(device());
    device_stream_->record(made != nullptr ? *made : *event.device_event_);
    if (made != nullptr) event.device_event_ = std::move(made);
  }
  event.recorded_ = true;
}

void Stream::wait(const Event& event) {
  event.require_recorded();
  if (event.device_event_ == nullptr) return;
  if (device_stream_ == nullptr) {
    event.device_event_->synchronize();
  } else {
    device_stream_->wait(*event.device_event_);
  }
}

bool Stream::query() const { return device_stream_ == nullptr || device_stream_->query(); }

void Stream::synchronize() const {
  if (device_stream_ != nullptr) device_stream_->synchronize();
}

}  // namespace strake
