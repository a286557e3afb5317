/// \file  Work of Strake's for a request of the MPI library's that is no message.
#pragma once

namespace strake::interpose {

class RequestWork {
 public:
  RequestWork() = default;
  virtual ~RequestWork() = default;
  RequestWork(const RequestWork&) = delete;
  RequestWork& operator=(const RequestWork&) = delete;
  /// Before the MPI library's call that starts the request. \throws Error
  virtual void begin() = 0;
  /// Once the request is complete; the second time it does nothing. \throws Error
  virtual void end() = 0;
};

}  // namespace strake::interpose
