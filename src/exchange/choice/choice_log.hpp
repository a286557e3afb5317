/// \file  STRAKE_LOG=info: how each kind of message travels, and why, once a job.
#pragma once

#include <string>

#include "exchange/choice/choice.hpp"

namespace strake::exchange {

/// Logs a line, unless this process did before, or it is not the first of its job. The first
/// thousand lines only: a program may have a new datatype for each message.
void log_once(const std::string& line) noexcept;

/// Logs a choice that was just made for these elements.
void log_choice(const Message& message, const Choice& choice,
                const mpi::Elements& elements) noexcept;

}  // namespace strake::exchange
