/// \file  Writing a file so that readers see all of it or none, also after a power cut.
#pragma once

#include <string>
#include <string_view>

namespace strake::machine {

/// Replaces the file by `contents`: writes another file beside it and renames that. Makes the
/// folder.
/// \throws Error  with the path and the reason (errno); the file is then unchanged
void write_whole(const std::string& path, std::string_view contents);

}  // namespace strake::machine
