/// \file  The exceptions of Strake. Each is thrown where the fault is first known, and names the
/// values involved. In MPI calls it becomes an error code.
#pragma once

#include <stdexcept>
#include <string>

#include "strake/api.hpp"

namespace strake {

/// Base of everything Strake throws.
class STRAKE_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An argument breaks the contract of the call; nothing was done.
class STRAKE_API InvalidArgument : public Error {
 public:
  using Error::Error;
};

/// The request is legal, but nothing here can carry it out.
class STRAKE_API Unsupported : public Error {
 public:
  using Error::Error;
};

/// Memory of some kind ran out; nothing was done.
class STRAKE_API OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// A call into the MPI library failed.
class STRAKE_API MpiError : public Error {
 public:
  MpiError(const std::string& what, int code) : Error(what), code_(code) {}
  /// The error code that the library returned.
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

/// A CUDA call failed.
class STRAKE_API CudaError : public Error {
 public:
  CudaError(const std::string& what, int code) : Error(what), code_(code) {}
  /// The `cudaError_t` or `CUresult` of the call.
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

}  // namespace strake
