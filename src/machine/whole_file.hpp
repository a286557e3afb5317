/// \file  Files that readers and power cuts find whole or not at all.
#pragma once

#include <string>
#include <string_view>

namespace strake::machine {

/// Puts `contents` in the file's place, by way of another name beside it; makes the folder.
/// \throws Error  with the path and the system's reason; the file is then as it was
void write_whole(const std::string& path, std::string_view contents);

}  // namespace strake::machine
