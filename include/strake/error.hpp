/// \file  The exceptions of Strake. Each is thrown where the fault is first known, and names the
/// values involved. In MPI calls it becomes an error code.
#pragma once

#include <stdexcept>
#include <string>

namespace strake {

/// Base of everything Strake throws.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An argument breaks the contract of the call; nothing was done.
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

/// The request is legal, but nothing here can carry it out.
class Unsupported : public Error {
 public:
  using Error::Error;
};

/// Memory of some kind ran out; nothing was done.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// A call into the MPI library failed.
class MpiError : public Error {
 public:
  MpiError(const std::string& what, int code) : Error(what), code_(code) {}
  /// The error code that the library returned.
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

/// A CUDA call failed.
class CudaError : public Error {
 public:
  CudaError(const std::string& what, int code) : Error(what), code_(code) {}
  /// The `cudaError_t` or `CUresult` of the call.
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

}  // namespace strake
