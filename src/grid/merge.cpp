// Values that come back to their owners, and how they merge with those that are there.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "exchange/plan/unless_done.hpp"
#include "grid/impl.hpp"
#include "strake/error.hpp"

namespace strake {
namespace {

template <typename T>
Combine combine_of(ValueOp op) {
  switch (op) {
    case ValueOp::Sum:
      return sum<T>();
    case ValueOp::Min:
      return min<T>();
    case ValueOp::Max:
      return max<T>();
  }
  throw InvalidArgument(fmt::format("operation {} on values, which is none", static_cast<int>(op)));
}

/// The numbers that VTK names, their sizes, and how they are combined.
struct Number {
  const char* name;
  std::int64_t bytes;
  Combine (*combine)(ValueOp op);
};
template <typename T>
constexpr Number number() {
  return {number_name<T>(), sizeof(T), combine_of<T>};
}
constexpr Number kNumbers[] = {number<double>(),        number<float>(),
                               number<std::int8_t>(),   number<std::int16_t>(),
                               number<std::int32_t>(),  number<std::int64_t>(),
                               number<std::uint8_t>(),  number<std::uint16_t>(),
                               number<std::uint32_t>(), number<std::uint64_t>()};

const Number* number_of(const char* name) noexcept {
  if (name == nullptr) return nullptr;
  const auto* const found = std::ranges::find_if(
      kNumbers, [&](const Number& one) { return std::string_view(one.name) == name; });
  return found == std::end(kNumbers) ? nullptr : found;
}

/// How the values of one field merge.
Combine combine_of(const FieldHandle::Data& field, const Merge& merge) {
  const Number* const numbers = number_of(field.type.name);
  if (const ValueOp* const op = std::get_if<ValueOp>(&merge)) {
    if (numbers == nullptr)
      throw InvalidArgument(fmt::format(
          "field '{}' has elements that are no numbers: merge them by a Combine", field.name));
    return numbers->combine(*op);
  }
  const Combine& given = std::get<Combine>(merge);
  if (given.numbers() != nullptr && numbers != nullptr &&
      std::string_view(numbers->name) != given.numbers())
    throw InvalidArgument(
        fmt::format("field '{}' has elements of {}, and is merged by a Combine of {}", field.name,
                    numbers->name, given.numbers()));
  return given;
}

}  // namespace

std::optional<grid::NumberName> grid::find_number(const char* name) noexcept {
  const Number* const found = number_of(name);
  if (found == nullptr) return std::nullopt;
  return NumberName{found->name, found->bytes};
}

void Grid::Impl::accumulate(const Wanted& wanted, const Merge& merge, std::span<Stream> streams) {
  require_ended(wanted.fields, "Grid::accumulate()");
  std::vector<Combine> combine;  // by array
  for (const int number : wanted.fields)
    combine.insert(combine.end(), places.size(),
                   combine_of(*fields[static_cast<std::size_t>(number)], merge));
  require_planned(wanted, streams);
  Exchange& exchange = planned(wanted);
  exchange::planned::unless_done(
      [&] {
        if (!streams.empty()) return exchange.enqueue_reverse(bases(wanted), combine, streams);
        exchange.start_reverse(bases(wanted), combine);
        exchange.wait();
      },
      [&] { give_up(); });
}

}  // namespace strake
