/// \file  Datatypes written as text: `vector(100, 1, 512, double)`. The grammar is in
/// docs/command.md.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "datatype.hpp"
#include "strake/error.hpp"

namespace strake::expression {

/// The text is no datatype.
class SyntaxError : public InvalidArgument {
 public:
  SyntaxError(const std::string& what, std::size_t position)
      : InvalidArgument(what), position_(position) {}
  /// First character that does not fit, counted from 0.
  [[nodiscard]] std::size_t position() const noexcept { return position_; }

 private:
  std::size_t position_;
};

/// \throws SyntaxError      the text breaks the grammar, or its numbers break MPI's rules (at the
/// constructor's name).
[[nodiscard]] Datatype parse(std::string_view text);

}  // namespace strake::expression
