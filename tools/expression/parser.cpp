#include "parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "grammar.hpp"
#include "settings/settings_table.hpp"

namespace strake::expression {
namespace {

/// A name without the prefix of MPI's.
std::string_view without_prefix(std::string_view name) {
  for (const std::string_view prefix : {"mpi_type_create_", "mpi_type_"}) {
    if (name.starts_with(prefix) && constructor_named(name.substr(prefix.size())) != nullptr)
      return name.substr(prefix.size());
  }
  return name.substr(name.starts_with("mpi_") ? 4 : 0);
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Datatype whole() {
    Datatype type = datatype();
    if (peek() != '\0') fail("the end of the type");
    return type;
  }

 private:
  /// The next character that is no space; 0 at the end.
  char peek() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  [[noreturn]] void fail(std::string_view expected) {
    const char next = peek();
    const std::size_t begin = at_;
    std::string found = word();
    at_ = begin;
    if (found.empty()) found = next;
    throw SyntaxError(fmt::format("expected {}, found {}", expected,
                                  next == '\0' ? "the end" : fmt::format("'{}'", found)),
                      begin);
  }

  void take(char wanted) {
    if (peek() != wanted) fail(fmt::format("'{}'", wanted));
    ++at_;
  }

  /// Whether another item of a list follows; takes its comma.
  bool comma_or(char end) {
    const char next = peek();
    if (next == ',') {
      ++at_;
      return true;
    }
    if (next != end) fail(fmt::format("',' or '{}'", end));
    return false;
  }

  std::int64_t number() {
    if (peek() == '\0') fail("a whole number");
    std::int64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range) throw SyntaxError("a number past 2^63", at_);
    if (error != std::errc()) fail("a whole number");
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  /// A number and the comma behind it.
  std::int64_t number_then() {
    const std::int64_t value = number();
    take(',');
    return value;
  }

  template <typename Item>
  auto list(Item&& item) {
    std::vector<decltype(item())> items;
    take('[');
    if (peek() != ']') {
      do {
        items.push_back(item());
      } while (comma_or(']'));
    }
    take(']');
    return items;
  }

  /// A list and the comma behind it.
  template <typename Item>
  auto list_then(Item&& item) {
    auto items = list(item);
    take(',');
    return items;
  }

  std::vector<std::int64_t> numbers_then() {
    return list_then([this] { return number(); });
  }

  std::string word() {
    std::string name;
    peek();
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(text_[at_++])));
    }
    return name;
  }

  /// A word without MPI's prefix.
  std::string bare_word() { return std::string(without_prefix(word())); }

  Datatype datatype() {
    // Deeper nests than any program's would only exhaust the stack.
    constexpr int kDeepest = 1000;
    if (++depth_ > kDeepest)
      throw SyntaxError(fmt::format("more than {} levels of types", kDeepest), at_);
    peek();
    const std::size_t begin = at_;
    const std::string written = word();
    if (written.empty()) fail("a type");
    const std::string name(without_prefix(written));
    Datatype type = peek() == '(' ? constructed(name, begin) : named(name, begin);
    --depth_;
    return type;
  }

  Datatype named(const std::string& name, std::size_t begin) {
    for (const Basic& entry : basics()) {
      if (entry.name == name) return basic(entry.bytes, entry.alignment);
    }
    for (const Pair& pair : pairs()) {
      if (pair.name != name) continue;
      const Datatype value = named(std::string(pair.value), begin);
      const std::array types = {value, basic(sizeof(int), alignof(int))};
      const std::int64_t index_at = std::max<std::int64_t>(value.extent(), alignof(int));
      return structure(std::array<std::int64_t, 2>{1, 1}, std::array{std::int64_t{0}, index_at},
                       types);
    }
    if (const Constructor* constructor = constructor_named(name)) {
      try {
        fail("'('");
      } catch (SyntaxError& error) {
        throw SyntaxError(error.what(), error.position(), constructor->signature());
      }
    }
    throw unknown("a type", name, begin);
  }

  /// A name that is none of a type, with one that is near.
  static SyntaxError unknown(const char* what, std::string_view name, std::size_t begin) {
    std::string_view bare = name;
    for (const std::string_view prefix : {"type_create_", "type_"})
      if (bare.starts_with(prefix)) bare.remove_prefix(prefix.size());
    std::vector<std::string_view> names;
    for (const Constructor& constructor : constructors()) names.push_back(constructor.name);
    for (const Basic& basic : basics()) names.push_back(basic.name);
    const std::string_view near = settings::nearest(bare, names);
    const Constructor* const constructor = constructor_named(near);
    return {fmt::format("'{}' is not {}{}", name, what,
                        near.empty() ? " (strake explain --help has the grammar)"
                                     : fmt::format("; did you mean {}?", near)),
            begin, constructor == nullptr ? "" : constructor->signature()};
  }

  Datatype constructed(const std::string& name, std::size_t begin) {
    const Constructor* const constructor = constructor_named(name);
    if (constructor == nullptr) throw unknown("a constructor", name, begin);
    try {
      take('(');
      const auto build = arguments(name);
      take(')');
      return build();
    } catch (const SyntaxError& error) {
      if (error.signature()) throw;
      throw SyntaxError(error.what(), error.position(), constructor->signature());
    } catch (const InvalidArgument& error) {
      throw SyntaxError(name + ": " + error.what(), begin, constructor->signature());
    }
  }

  /// Reads what stands between the parentheses of `name`, and returns what makes the type of it.
  std::function<Datatype()> arguments(const std::string& name) {
    if (name == "dup") {
      return [type = datatype()] { return type; };
    }
    if (name == "contiguous") {
      const std::int64_t count = number_then();
      return [=, type = datatype()] { return contiguous(count, type); };
    }
    if (name == "vector" || name == "hvector") {
      const std::int64_t count = number_then();
      const std::int64_t blocklength = number_then();
      const std::int64_t stride = number_then();
      const auto make = name == "vector" ? vector : hvector;
      return [=, type = datatype()] { return make(count, blocklength, stride, type); };
    }
    if (name == "resized") {
      const std::int64_t lb = number_then();
      const std::int64_t extent = number_then();
      return [=, type = datatype()] { return resized(lb, extent, type); };
    }
    if (name == "indexed" || name == "hindexed") {
      const auto blocklengths = numbers_then();
      const auto displacements = numbers_then();
      const auto make = name == "indexed" ? indexed : hindexed;
      return [=, type = datatype()] { return make(blocklengths, displacements, type); };
    }
    if (name == "indexed_block" || name == "hindexed_block") {
      const std::int64_t blocklength = number_then();
      const auto displacements = numbers_then();
      const auto make = name == "indexed_block" ? indexed_block : hindexed_block;
      return [=, type = datatype()] { return make(blocklength, displacements, type); };
    }
    if (name == "struct") {
      const auto blocklengths = numbers_then();
      const auto displacements = numbers_then();
      return [=, types = list([this] { return datatype(); })] {
        return structure(blocklengths, displacements, types);
      };
    }
    if (name == "darray") {
      const std::int64_t size = number_then();
      const std::int64_t rank = number_then();
      const auto gsizes = numbers_then();
      const auto distribs = list_then([this] { return distribution(); });
      const auto dargs = list_then([this] { return distribution_argument(); });
      const auto psizes = numbers_then();
      return [=, array = array()] {
        return darray(size, rank, gsizes, distribs, dargs, psizes, array.type, array.order);
      };
    }
    const auto sizes = numbers_then();
    const auto subsizes = numbers_then();
    const auto starts = numbers_then();
    return
        [=, array = array()] { return subarray(sizes, subsizes, starts, array.type, array.order); };
  }

  struct Array {
    Datatype type;
    Order order = Order::C;
  };

  /// The order may stand before the type, as in MPI's calls, or behind it, or be left out.
  Array array() {
    peek();
    const std::size_t begin = at_;
    const std::string first = bare_word();
    at_ = begin;
    Array read;
    if (order_named(first)) {
      read.order = order();
      take(',');
      read.type = datatype();
    } else {
      read.type = datatype();
      if (comma_or(')')) read.order = order();
    }
    return read;
  }

  static std::optional<Order> order_named(std::string_view name) {
    if (name == "c" || name == "order_c") return Order::C;
    if (name == "fortran" || name == "order_fortran") return Order::Fortran;
    return std::nullopt;
  }

  Order order() {
    peek();
    const std::size_t begin = at_;
    if (const auto found = order_named(bare_word())) return *found;
    at_ = begin;
    fail("c or fortran");
  }

  Distribution distribution() {
    return one_of<Distribution>({{"block", Distribution::Block},
                                 {"cyclic", Distribution::Cyclic},
                                 {"none", Distribution::None},
                                 {"distribute_block", Distribution::Block},
                                 {"distribute_cyclic", Distribution::Cyclic},
                                 {"distribute_none", Distribution::None}},
                                "block, cyclic or none");
  }

  std::optional<std::int64_t> distribution_argument() {
    if (std::isalpha(static_cast<unsigned char>(peek())) == 0) return number();
    return one_of<std::optional<std::int64_t>>(
        {{"default", {}}, {"dfl", {}}, {"distribute_dflt_darg", {}}},
        "a whole number, default or dfl");
  }

  template <typename Value>
  Value one_of(std::initializer_list<std::pair<std::string_view, Value>> values,
               std::string_view expected) {
    peek();
    const std::size_t begin = at_;
    const std::string found = bare_word();
    for (const auto& [name, value] : values) {
      if (name == found) return value;
    }
    at_ = begin;
    fail(expected);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Datatype parse(std::string_view text) { return Parser(text).whole(); }

}  // namespace strake::expression
