#include "copy/cuda/engine_copy.hpp"

#include <vector>

#include "device/cuda/driver.hpp"
#include "memory/per_thread.hpp"

namespace strake::cuda {
namespace {

#if CUDART_VERSION >= 13000
/// Arguments of a batched copy. Kept per thread: no allocation once they have grown.
struct Runs {
  std::vector<void*> to;
  std::vector<const void*> from;
  std::vector<std::size_t> sizes;
};
#endif

/// All runs of the range as one call where the runtime has batched copies, else one call each.
void copy_batched(bool pack, std::byte* dense, std::byte* strided, std::int64_t begin,
                  std::int64_t end, const Tables& tables, cudaStream_t stream) {
#if CUDART_VERSION >= 13000
  Runs& runs = PerThread<Runs>::get();
  runs.to.clear();
  runs.from.clear();
  runs.sizes.clear();
  tables.for_each_run(begin, end, [&](std::int64_t p, std::int64_t offset, std::int64_t length) {
    runs.to.push_back(pack ? dense + p : strided + offset);
    runs.from.push_back(pack ? strided + offset : dense + p);
    runs.sizes.push_back(size_of(length));
  });
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  std::size_t first = 0;
  check(cudaMemcpyBatchAsync(runs.to.data(), runs.from.data(), runs.sizes.data(), runs.sizes.size(),
                             &attributes, &first, 1, stream));
#else
  tables.for_each_run(begin, end, [&](std::int64_t p, std::int64_t offset, std::int64_t length) {
    check(cudaMemcpyAsync(pack ? dense + p : strided + offset, pack ? strided + offset : dense + p,
                          size_of(length), cudaMemcpyDefault, stream));
  });
#endif
}

}  // namespace

EngineCopy EngineCopy::plan(const Layout& strided) {
  EngineCopy copy;
  copy.offset_ = strided.offset();
  copy.block_ = strided.block_bytes();
  if (strided.kind() == Layout::Kind::Empty) return copy;
  copy.form_ = Form::Batched;
  if (strided.kind() != Layout::Kind::Box) return copy;
  // A pitch above it is refused.
  constexpr std::int64_t kLongestPitch = INT32_MAX;
  const auto dims = strided.dims();
  if (dims.empty()) {
    copy.form_ = Form::Linear;
  } else if (dims.back().stride_bytes > kLongestPitch) {
    return copy;
  } else if (dims.size() == 1 && dims[0].stride_bytes >= copy.block_) {
    copy.form_ = Form::Rows;
    copy.rows_ = dims[0].count;
    copy.pitch_ = dims[0].stride_bytes;
  } else if (dims.size() == 2 && dims[1].stride_bytes >= copy.block_ &&
             dims[0].stride_bytes % dims[1].stride_bytes == 0 &&
             dims[0].stride_bytes / dims[1].stride_bytes >= dims[1].count) {
    copy.form_ = Form::Planes;
    copy.planes_ = dims[0].count;
    copy.rows_ = dims[1].count;
    copy.pitch_ = dims[1].stride_bytes;
    copy.plane_rows_ = dims[0].stride_bytes / dims[1].stride_bytes;
  }
  return copy;
}

const char* EngineCopy::name() const noexcept {
  switch (form_) {
    case Form::None:
      return "none";
    case Form::Linear:
      return "1D";
    case Form::Rows:
      return "2D";
    case Form::Planes:
      return "3D";
    case Form::Batched:
      return "batched";
  }
  return "none";
}

bool EngineCopy::takes(std::int64_t begin, std::int64_t end) const noexcept {
  switch (form_) {
    case Form::None:
      return false;
    case Form::Rows:
      return begin % block_ == 0 && end % block_ == 0;
    case Form::Planes:
      return begin == 0 && end == block_ * rows_ * planes_;
    case Form::Linear:
    case Form::Batched:
      return true;
  }
  return false;
}

void EngineCopy::rows(bool pack, std::byte* dense, std::byte* strided, std::int64_t begin,
                      std::int64_t end, cudaStream_t stream) const {
  std::byte* packed = dense + begin;
  std::byte* spread = strided + offset_ + begin / block_ * pitch_;
  const std::size_t width = size_of(block_);
  const std::size_t height = size_of((end - begin) / block_);
  if (pack) {
    check(cudaMemcpy2DAsync(packed, width, spread, size_of(pitch_), width, height,
                            cudaMemcpyDefault, stream));
  } else {
    check(cudaMemcpy2DAsync(spread, size_of(pitch_), packed, width, width, height,
                            cudaMemcpyDefault, stream));
  }
}

void EngineCopy::planes(bool pack, std::byte* dense, std::byte* strided,
                        cudaStream_t stream) const {
  const cudaPitchedPtr packed{dense, size_of(block_), size_of(block_), size_of(rows_)};
  const cudaPitchedPtr spread{strided + offset_, size_of(pitch_), size_of(block_),
                              size_of(plane_rows_)};
  cudaMemcpy3DParms parameters{};
  parameters.srcPtr = pack ? spread : packed;
  parameters.dstPtr = pack ? packed : spread;
  parameters.extent = {size_of(block_), size_of(rows_), size_of(planes_)};
  parameters.kind = cudaMemcpyDefault;
  check(cudaMemcpy3DAsync(&parameters, stream));
}

void EngineCopy::enqueue(bool pack, std::byte* dense, std::byte* strided, std::int64_t begin,
                         std::int64_t end, const Tables& tables, cudaStream_t stream) const {
  switch (form_) {
    case Form::None:
      return;
    case Form::Linear: {
      std::byte* packed = dense + begin;
      std::byte* spread = strided + offset_ + begin;
      check(cudaMemcpyAsync(pack ? packed : spread, pack ? spread : packed, size_of(end - begin),
                            cudaMemcpyDefault, stream));
      return;
    }
    case Form::Rows:
      rows(pack, dense, strided, begin, end, stream);
      return;
    case Form::Planes:
      planes(pack, dense, strided, stream);
      return;
    case Form::Batched:
      copy_batched(pack, dense, strided, begin, end, tables, stream);
      return;
  }
}

}  // namespace strake::cuda
