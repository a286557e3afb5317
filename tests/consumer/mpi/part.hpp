#pragma once

#include "strake/copy.hpp"

namespace part {
strake::CopyPlan make_plan(std::int64_t bytes);
/// Where this part finds CopyPlan::compile().
const void* address_of_compile();
}  // namespace part
namespace keeper {
strake::CopyPlan make_plan(std::int64_t bytes);
const void* address_of_compile();
}  // namespace keeper
