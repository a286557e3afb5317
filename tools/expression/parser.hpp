/// \file  Datatypes written as text: `vector(100, 1, 512, double)`. The grammar is
/// that of grammar.hpp.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "datatype.hpp"
#include "strake/error.hpp"

namespace strake::expression {

/// The text is no datatype.
class SyntaxError : public InvalidArgument {
 public:
  SyntaxError(const std::string& what, std::size_t position,
              std::optional<std::string> signature = std::nullopt)
      : InvalidArgument(what), position_(position), signature_(std::move(signature)) {}
  /// First character that does not fit, counted from 0.
  [[nodiscard]] std::size_t position() const noexcept { return position_; }
  /// Signature of the constructor whose arguments are wrong: "vector(COUNT, BLOCKLENGTH, STRIDE,
  /// TYPE)"; empty where no constructor would mend it.
  [[nodiscard]] const std::optional<std::string>& signature() const noexcept { return signature_; }

 private:
  std::size_t position_;
  std::optional<std::string> signature_;
};

/// \throws SyntaxError      the text breaks the grammar, or its numbers break MPI's rules (at the
/// constructor's name).
[[nodiscard]] Datatype parse(std::string_view text);

}  // namespace strake::expression
