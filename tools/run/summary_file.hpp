/// \file  The file of `strake run --json`, as far as this command and not rank 0 has to do with it.
#pragma once

#include <string>

namespace strake::run {

/// Where rank 0 will write; what an earlier job has written there is gone. \throws InvalidArgument
/// the file can't be written, which rank 0 would find out only at the end.
[[nodiscard]] std::string emptied_summary(const std::string& file);

/// Whether a rank has written there since then. False where that can't be known (standard output).
[[nodiscard]] bool has_summary(const std::string& file);

/// Writes a summary that counts nothing, and the `problem` that it is so.
void write_empty_summary(const std::string& file, bool disabled, const std::string& problem);

}  // namespace strake::run
