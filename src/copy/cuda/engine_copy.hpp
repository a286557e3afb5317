/// \file  Copies that the copy engines carry out: 1D, 2D, 3D and batched.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "copy/cuda/tables.hpp"
#include "strake/copy.hpp"

namespace strake::cuda {

/// How the engines move a layout to or from a dense run. A plain value.
class EngineCopy {
 public:
  enum class Form : std::uint8_t { None, Linear, Rows, Planes, Batched };

  EngineCopy() = default;
  /// For a dense run on one side. None where no form fits.
  static EngineCopy plan(const Layout& strided);

  [[nodiscard]] Form form() const noexcept { return form_; }
  [[nodiscard]] const char* name() const noexcept;
  /// Whether the packed range can be moved: whole rows for Rows, everything for Planes.
  [[nodiscard]] bool takes(std::int64_t begin, std::int64_t end) const noexcept;
  /// Enqueues packed bytes [begin, end). `dense` is the address of packed byte 0, `strided` the
  /// layout's base.
  void enqueue(bool pack, std::byte* dense, std::byte* strided, std::int64_t begin,
               std::int64_t end, const Tables& tables, cudaStream_t stream) const;

 private:
  void rows(bool pack, std::byte* dense, std::byte* strided, std::int64_t begin, std::int64_t end,
            cudaStream_t stream) const;
  void planes(bool pack, std::byte* dense, std::byte* strided, cudaStream_t stream) const;

  Form form_ = Form::None;
  std::int64_t offset_ = 0;
  std::int64_t block_ = 0;
  std::int64_t rows_ = 1;
  std::int64_t pitch_ = 0;
  std::int64_t planes_ = 1;
  std::int64_t plane_rows_ = 1;  // rows from one plane to the next
};

}  // namespace strake::cuda
