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
  std::string_view name;
  std::int64_t bytes;
  Combine (*combine)(ValueOp op);
  std::optional<ValueType> type;  ///< if devices combine them
};
template <typename T>
constexpr Number number(std::string_view name) {
  return {name, sizeof(T), combine_of<T>, value_type<T>()};
}
constexpr Number kNumbers[] = {number<double>("Float64"),       number<float>("Float32"),
                               number<std::int8_t>("Int8"),     number<std::int16_t>("Int16"),
                               number<std::int32_t>("Int32"),   number<std::int64_t>("Int64"),
                               number<std::uint8_t>("UInt8"),   number<std::uint16_t>("UInt16"),
                               number<std::uint32_t>("UInt32"), number<std::uint64_t>("UInt64")};

const Number* number_of(const char* name) noexcept {
  if (name == nullptr) return nullptr;
  const auto* const found = std::ranges::find(kNumbers, std::string_view(name), &Number::name);
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
  const std::optional<DeviceCombine>& known = given.on_device();
  if (known && numbers != nullptr && numbers->type != known->type)
    throw InvalidArgument(
        fmt::format("field '{}' has elements of {}, and is merged by a Combine of "
                    "other numbers",
                    field.name, numbers->name));
  return given;
}

}  // namespace

std::int64_t grid::bytes_of_number(const char* name) noexcept {
  const Number* const found = number_of(name);
  return found == nullptr ? 0 : found->bytes;
}

void Grid::Impl::accumulate(const Wanted& wanted, const Merge& merge, std::span<Stream> streams) {
  require_ended(wanted.fields);
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
