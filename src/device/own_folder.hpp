/// \file  Where what belongs to this installation lies.
#pragma once

#include <string>

namespace strake {

/// The folder of the file that holds this code: of the program, or of the library that has the core
/// in it. Symbolic links are followed. Empty if that can't be known.
[[nodiscard]] std::string own_folder();

}  // namespace strake
