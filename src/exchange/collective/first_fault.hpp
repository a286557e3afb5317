/// \file  The first fault among the messages of a collective call, which all go on without it.
#pragma once

#include <mpi.h>

#include <exception>
#include <new>

#include "exchange/transport/mpi_channel.hpp"
#include "mpi/real_mpi.hpp"
#include "settings/log.hpp"
#include "strake/error.hpp"

namespace strake::exchange {

class FirstFault {
 public:
  void clear() noexcept { code_ = MPI_SUCCESS; }
  void note(int code) noexcept {
    if (code_ == MPI_SUCCESS) code_ = code;
  }
  /// MPI_SUCCESS, or the class of the first fault.
  [[nodiscard]] int code() const noexcept { return code_; }
  /// Runs `act`. False: it threw, which was noted.
  template <typename Act>
  bool guard(const Act& act) noexcept {
    try {
      act();
      return true;
    } catch (const MessageFailed& failed) {
      note(failed.code());
    } catch (const MpiError& failed) {
      note(failed.code());
    } catch (const OutOfMemory& failed) {
      log::warn("{}", failed.what());
      note(MPI_ERR_NO_MEM);
    } catch (const std::bad_alloc&) {
      note(MPI_ERR_NO_MEM);
    } catch (const std::exception& failed) {
      log::warn("a message of a collective call failed: {}", failed.what());
      note(MPI_ERR_OTHER);
    }
    return false;
  }

 private:
  int code_ = MPI_SUCCESS;
};

}  // namespace strake::exchange
