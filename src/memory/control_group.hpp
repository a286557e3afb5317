/// \file  The control groups of this process, of either version. Uses only the C library.
#pragma once

#include <cstdint>
#include <type_traits>

namespace strake {

/// Calls visit(folder, data) for the folder of the group that limits what `controller` is of, and
/// for those above it: version 1, where each controller has groups of its own, or, if it is empty,
/// version 2. Inside a container the group may be the root itself.
void visit_group_folders(const char* controller, void (*visit)(const char* folder, void* data),
                         void* data) noexcept;
template <typename F>
void for_group_folders(const char* controller, F&& f) {
  visit_group_folders(
      controller,
      [](const char* folder, void* data) {
        (*static_cast<std::remove_reference_t<F>*>(data))(folder);
      },
      &f);
}

/// The least memory that a group of this process may use. [bytes]; 0: there is no limit
[[nodiscard]] std::int64_t group_memory_limit() noexcept;

}  // namespace strake
