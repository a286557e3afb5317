// The table of requests: which entry a handle finds, and what claims and removals leave.
#include "interpose/request_table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

namespace strake::interpose {
namespace {

using Kind = RequestEntry::Kind;

struct Entry final : RequestEntry {
  explicit Entry(Kind its_kind) : RequestEntry(its_kind) {}
};

/// A handle that no request has; the table only compares its bits.
MPI_Request handle(int number) {
  const std::uint64_t bits = 0x5000 + static_cast<std::uint64_t>(number) * 0x10;
  MPI_Request made = MPI_REQUEST_NULL;
  std::memcpy(&made, &bits, sizeof made);
  return made;
}

RequestTable& table() { return RequestTable::get(); }

TEST(RequestTable, finds_the_newest_entry_of_a_handle) {
  EXPECT_TRUE(RequestTable::empty());
  Entry older(Kind::Message), newer(Kind::Operation), other(Kind::Untestable);
  table().enter(handle(1), older);
  table().enter(handle(1), newer);
  table().enter(handle(2), other);
  EXPECT_FALSE(RequestTable::empty());
  EXPECT_EQ(table().find(handle(1)), &newer);
  EXPECT_EQ(table().find(handle(2)), &other);
  EXPECT_EQ(table().find(handle(3)), nullptr);
  EXPECT_EQ(table().find(MPI_REQUEST_NULL), nullptr);
  newer.released = true;
  EXPECT_EQ(table().find(handle(1)), &older);
  EXPECT_EQ(table().any_message(), &older);
  for (Entry* const one : {&older, &newer, &other}) table().remove(*one);
  EXPECT_EQ(table().any_message(), nullptr);
  EXPECT_TRUE(RequestTable::empty());
}

TEST(RequestTable, a_call_claims_messages_alone) {
  Entry message(Kind::Message), persistent(Kind::Persistent), operation(Kind::Operation);
  table().enter(handle(1), message);
  table().enter(handle(2), persistent);
  table().enter(handle(3), operation);
  const std::array<MPI_Request, 5> requests = {handle(3), handle(1), MPI_REQUEST_NULL, handle(2),
                                               handle(4)};
  std::array<RequestEntry*, 5> found{};
  const auto claimed = table().claim_all(5, requests.data(), found.data());
  EXPECT_TRUE(claimed.any);
  EXPECT_TRUE(claimed.others);
  EXPECT_EQ(found,
            (std::array<RequestEntry*, 5>{&operation, &message, nullptr, &persistent, nullptr}));
  EXPECT_EQ(table().find(handle(1)), nullptr) << "it is the call's";
  EXPECT_EQ(table().find(handle(2)), &persistent);
  EXPECT_FALSE(table().claim_all(1, &requests[1], found.data()).any);
  table().put_back(message);
  EXPECT_EQ(table().find(handle(1)), &message);
  table().put_back(message);  // it is not claimed any more
  table().remove(message);
  EXPECT_EQ(table().find(handle(1)), nullptr);
  table().remove(persistent);
  table().remove(operation);
  EXPECT_TRUE(RequestTable::empty());
}

TEST(RequestTable, counts_what_is_removed_once) {
  Entry claimed(Kind::Message), never(Kind::Message), stays(Kind::Message);
  table().enter(handle(1), claimed);
  table().enter(handle(5), stays);
  RequestEntry* found = nullptr;
  const MPI_Request request = handle(1);
  EXPECT_TRUE(table().claim_all(1, &request, &found).any);
  table().remove(claimed);
  table().remove(claimed);
  table().remove(never);
  EXPECT_FALSE(RequestTable::empty());
  std::vector<RequestEntry*> all;
  table().for_each([&](RequestEntry& entry) { all.push_back(&entry); });
  EXPECT_EQ(all, std::vector<RequestEntry*>{&stays});
  table().remove(stays);
  EXPECT_TRUE(RequestTable::empty());
}

}  // namespace
}  // namespace strake::interpose
