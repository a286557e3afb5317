// Addresses as calls take them, and which of them cost an allocation.
#include "strake/addresses.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

std::atomic<int> g_allocations{0};

void* counted(std::size_t size) noexcept {
  ++g_allocations;
  return std::malloc(size == 0 ? 1 : size);
}

}  // namespace

// Not inlined: the compiler would take free() for one that does not fit to operator new.
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (void* const memory = counted(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return counted(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

namespace strake {
namespace {

template <typename T>
std::byte* bytes_of(T* there) {
  return reinterpret_cast<std::byte*>(there);
}

using Bytes = std::vector<std::byte*>;

Bytes list_of(const Addresses& addresses) {
  const std::span<std::byte* const> all = addresses.all();
  return {all.begin(), all.end()};
}

/// The allocations of a call with these addresses.
template <typename... Given>
int cost(Given&&... given) {
  const int before = g_allocations;
  const Addresses addresses(std::forward<Given>(given)...);
  return g_allocations - before;
}

class AddressesTest : public testing::Test {
 protected:
  double x_ = 0;
  int n_ = 0;
  std::array<float, 9> many_{};
};

TEST_F(AddressesTest, are_those_given_in_their_order) {
  EXPECT_EQ(list_of({}), Bytes{});
  EXPECT_EQ(list_of(&x_), Bytes{bytes_of(&x_)});
  EXPECT_EQ(list_of(static_cast<void*>(&x_)), Bytes{bytes_of(&x_)});
  EXPECT_EQ(list_of({&x_, nullptr, &n_}), (Bytes{bytes_of(&x_), nullptr, bytes_of(&n_)}));
  int* const array[] = {&n_, nullptr};
  EXPECT_EQ(list_of(array), (Bytes{bytes_of(&n_), nullptr}));
  EXPECT_EQ(list_of(std::span(array).first(1)), Bytes{bytes_of(&n_)});
  double rows[2][3] = {};
  EXPECT_EQ(list_of(rows), Bytes{bytes_of(&rows[0][0])});
}

TEST_F(AddressesTest, of_eight_arrays_cost_no_allocation) {
  EXPECT_EQ(cost(&x_), 0);
  EXPECT_EQ(cost(std::initializer_list<Address>{&x_, &n_}), 0);
  const std::vector<float*> nine = [this] {
    std::vector<float*> pointers;
    for (float& one : many_) pointers.push_back(&one);
    return pointers;
  }();
  const std::span eight = std::span(nine).first(Addresses::kInPlace);
  EXPECT_EQ(cost(eight), 0);
  EXPECT_EQ(cost(nine), 1);
  EXPECT_EQ(list_of(nine).back(), bytes_of(&many_[8]));
  EXPECT_EQ(list_of(eight).back(), bytes_of(&many_[7]));
}

TEST_F(AddressesTest, of_a_named_list_of_bytes_cost_no_allocation) {
  const Bytes named(100, bytes_of(&x_));
  EXPECT_EQ(cost(named), 0);
  EXPECT_EQ(cost(std::span(named)), 0);
  EXPECT_EQ(Addresses(named).all().data(), named.data());
}

/// Nothing refers to a vector that has no name, nor to an object that was copied or moved.
TEST_F(AddressesTest, outlive_lists_that_have_no_name) {
  for (const std::size_t count : {std::size_t{1}, Addresses::kInPlace, Addresses::kInPlace + 1}) {
    const Bytes expected(count, bytes_of(&n_));
    const Addresses kept(Bytes(count, bytes_of(&n_)));
    const Bytes other(count, bytes_of(&x_));  // where the list was, perhaps
    EXPECT_EQ(list_of(kept), expected);
    auto from = std::make_unique<Addresses>(kept);
    const Addresses moved(std::move(*from));
    const Addresses copied(moved);
    from.reset();
    EXPECT_EQ(list_of(moved), expected);
    EXPECT_EQ(list_of(copied), expected);
  }
}

TEST_F(AddressesTest, are_no_pointers_to_pointers_nor_to_functions) {
  EXPECT_FALSE((std::is_constructible_v<Addresses, double**>));
  EXPECT_FALSE((std::is_constructible_v<Addresses, double* const*>));
  EXPECT_FALSE((std::is_constructible_v<Addresses, void (*)()>));
  EXPECT_FALSE((std::is_constructible_v<Addresses, volatile int*>));
  EXPECT_FALSE((std::is_constructible_v<Addresses, std::vector<double>>));
}

}  // namespace
}  // namespace strake
