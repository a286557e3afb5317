// Headers that most of Strake's files include, precompiled (cmake/StrakePrecompile.cmake). Each
// file still includes what it uses: preset tsan compiles without this.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
