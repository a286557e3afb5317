/// \file  The file of `strake run --json`: rank 0 writes it, and this command if no rank has.
#pragma once

#include <string>

namespace strake::run {

/// The file that rank 0 will write; empties it.
/// \throws InvalidArgument  it can't be written, which rank 0 would find out only at the end.
[[nodiscard]] std::string emptied(const char* option, const std::string& file);

/// Whether a rank has written to it. False if that can't be known (standard output).
[[nodiscard]] bool has_summary(const std::string& file);

/// Writes a summary without counts, and `problem`, the reason.
void write_empty_summary(const std::string& file, bool disabled, const std::string& problem);

}  // namespace strake::run
