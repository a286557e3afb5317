/// \file  The exceptions of Strake. Each is thrown where the fault is first known, and names the
/// values involved. In MPI calls it becomes an error code.
#pragma once

#include <new>
#include <stdexcept>
#include <string>

#include "strake/api.hpp"

namespace strake {

/// Kinds of errors, for languages without exceptions: a call there returns one of these, and its
/// text. The numbers stay; 0 is success.
enum class ErrorCode : int {
  Other = 1,
  InvalidArgument = 2,
  Unsupported = 3,
  OutOfMemory = 4,
  Mpi = 5,
  Cuda = 6,
};

/// Base of everything Strake throws.
class STRAKE_API Error : public std::runtime_error {
 public:
  explicit Error(const std::string& what, ErrorCode kind = ErrorCode::Other)
      : std::runtime_error(what), kind_(kind) {}
  [[nodiscard]] ErrorCode kind() const noexcept { return kind_; }

 private:
  ErrorCode kind_;
};

/// An argument breaks the contract of the call; nothing was done.
class STRAKE_API InvalidArgument : public Error {
 public:
  explicit InvalidArgument(const std::string& what) : Error(what, ErrorCode::InvalidArgument) {}
};

/// The request is legal, but nothing here can carry it out.
class STRAKE_API Unsupported : public Error {
 public:
  explicit Unsupported(const std::string& what) : Error(what, ErrorCode::Unsupported) {}
};

/// Memory of some kind ran out; nothing was done.
class STRAKE_API OutOfMemory : public Error {
 public:
  explicit OutOfMemory(const std::string& what) : Error(what, ErrorCode::OutOfMemory) {}
};

/// A call into the MPI library failed.
class STRAKE_API MpiError : public Error {
 public:
  MpiError(const std::string& what, int code) : Error(what, ErrorCode::Mpi), code_(code) {}
  /// The error code that the library returned.
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

/// A CUDA call failed.
class STRAKE_API CudaError : public Error {
 public:
  CudaError(const std::string& what, int code) : Error(what, ErrorCode::Cuda), code_(code) {}
  /// The `cudaError_t` or `CUresult` of the call.
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

/// The kind of an exception that is being handled, whoever threw it: OutOfMemory for
/// std::bad_alloc, Other for what is no Error. Call it in a catch block.
[[nodiscard]] inline ErrorCode kind_of_current_error() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return error.kind();
  } catch (const std::bad_alloc&) {
    return ErrorCode::OutOfMemory;
  } catch (...) {
    return ErrorCode::Other;
  }
}

}  // namespace strake
