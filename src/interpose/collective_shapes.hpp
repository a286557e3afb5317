/// \file  Which arguments of each collective function say where its buffers lie: by their places in
/// the function's list of arguments, which its nonblocking, persistent and large-count forms share.
#pragma once

#include <cstdint>

namespace strake::interpose {

/// How many blocks a buffer has.
enum class Blocks : std::uint8_t {
  One,
  Peers,         ///< one for each rank of the communicator, or of the remote group
  Ranks,         ///< one for each rank of this rank's own group, side by side: a reduced vector
  Own,           ///< this rank's of the blocks for Ranks; all of them with MPI_IN_PLACE
  Sources,       ///< \{ one for each neighbour
  Destinations,  ///< \}
};

/// On which ranks a buffer is used.
enum class UsedBy : std::uint8_t {
  All,
  Root,
  Others,  ///< all ranks of the communicator; of two groups, those of the group without the root
};

/// A call may need bytes that its received buffer has before.
enum class Before : std::uint8_t {
  Nothing,    ///< and all of them with MPI_IN_PLACE
  OwnBlock,   ///< nothing, and this rank's own block with MPI_IN_PLACE
  All,        ///< some may be left as they are: there may be no neighbour
  FirstRank,  ///< all of them on rank 0, where they are left as they are
};

inline constexpr std::int8_t kNone = -1;

/// The places of the arguments of one buffer.
struct BufferShape {
  std::int8_t address = kNone;
  std::int8_t count = kNone;  ///< a number, or an array of one for each block
  std::int8_t displacements = kNone;
  std::int8_t type = kNone;
  Blocks blocks = Blocks::One;
  UsedBy used_by = UsedBy::All;
  /// Each block has a datatype of its own, and displacements are in bytes.
  bool types_of_blocks = false;
};

struct CollectiveShape {
  BufferShape sent;
  BufferShape received;
  std::int8_t root = kNone;
  std::int8_t comm = kNone;
  Before before = Before::Nothing;
  bool broadcasts = false;  ///< `received` is what the root sends
};

inline constexpr CollectiveShape kBcast{
    .sent = {}, .received = {0, 1, kNone, 2}, .root = 3, .comm = 4, .broadcasts = true};
inline constexpr CollectiveShape kGather{.sent = {0, 1, kNone, 2, Blocks::One, UsedBy::Others},
                                         .received = {3, 4, kNone, 5, Blocks::Peers, UsedBy::Root},
                                         .root = 6,
                                         .comm = 7,
                                         .before = Before::OwnBlock};
inline constexpr CollectiveShape kGatherv{.sent = {0, 1, kNone, 2, Blocks::One, UsedBy::Others},
                                          .received = {3, 4, 5, 6, Blocks::Peers, UsedBy::Root},
                                          .root = 7,
                                          .comm = 8,
                                          .before = Before::OwnBlock};
inline constexpr CollectiveShape kScatter{.sent = {0, 1, kNone, 2, Blocks::Peers, UsedBy::Root},
                                          .received = {3, 4, kNone, 5, Blocks::One, UsedBy::Others},
                                          .root = 6,
                                          .comm = 7};
inline constexpr CollectiveShape kScatterv{
    .sent = {0, 1, 2, 3, Blocks::Peers, UsedBy::Root},
    .received = {4, 5, kNone, 6, Blocks::One, UsedBy::Others},
    .root = 7,
    .comm = 8};
inline constexpr CollectiveShape kAllgather{.sent = {0, 1, kNone, 2},
                                            .received = {3, 4, kNone, 5, Blocks::Peers},
                                            .comm = 6,
                                            .before = Before::OwnBlock};
inline constexpr CollectiveShape kAllgatherv{.sent = {0, 1, kNone, 2},
                                             .received = {3, 4, 5, 6, Blocks::Peers},
                                             .comm = 7,
                                             .before = Before::OwnBlock};
inline constexpr CollectiveShape kReduce{.sent = {0, 2, kNone, 3, Blocks::One, UsedBy::Others},
                                         .received = {1, 2, kNone, 3, Blocks::One, UsedBy::Root},
                                         .root = 5,
                                         .comm = 6};
inline constexpr CollectiveShape kAllreduce{
    .sent = {0, 2, kNone, 3}, .received = {1, 2, kNone, 3}, .comm = 5};
inline constexpr CollectiveShape kExscan{
    .sent = {0, 2, kNone, 3}, .received = {1, 2, kNone, 3}, .comm = 5, .before = Before::FirstRank};
inline constexpr CollectiveShape kReduceScatter{
    .sent = {0, 2, kNone, 3, Blocks::Ranks}, .received = {1, 2, kNone, 3, Blocks::Own}, .comm = 5};
inline constexpr CollectiveShape kReduceLocal{
    .sent = {0, 2, kNone, 3}, .received = {1, 2, kNone, 3}, .before = Before::All};

inline constexpr CollectiveShape kAlltoall{.sent = {0, 1, kNone, 2, Blocks::Peers},
                                           .received = {3, 4, kNone, 5, Blocks::Peers},
                                           .comm = 6};
inline constexpr CollectiveShape kAlltoallv{
    .sent = {0, 1, 2, 3, Blocks::Peers}, .received = {4, 5, 6, 7, Blocks::Peers}, .comm = 8};
inline constexpr CollectiveShape kAlltoallw{
    .sent = {0, 1, 2, 3, Blocks::Peers, UsedBy::All, true},
    .received = {4, 5, 6, 7, Blocks::Peers, UsedBy::All, true},
    .comm = 8};
inline constexpr CollectiveShape kNeighborAllgather{.sent = {0, 1, kNone, 2},
                                                    .received = {3, 4, kNone, 5, Blocks::Sources},
                                                    .comm = 6,
                                                    .before = Before::All};
inline constexpr CollectiveShape kNeighborAllgatherv{.sent = {0, 1, kNone, 2},
                                                     .received = {3, 4, 5, 6, Blocks::Sources},
                                                     .comm = 7,
                                                     .before = Before::All};
inline constexpr CollectiveShape kNeighborAlltoall{.sent = {0, 1, kNone, 2, Blocks::Destinations},
                                                   .received = {3, 4, kNone, 5, Blocks::Sources},
                                                   .comm = 6,
                                                   .before = Before::All};
inline constexpr CollectiveShape kNeighborAlltoallv{.sent = {0, 1, 2, 3, Blocks::Destinations},
                                                    .received = {4, 5, 6, 7, Blocks::Sources},
                                                    .comm = 8,
                                                    .before = Before::All};
inline constexpr CollectiveShape kNeighborAlltoallw{
    .sent = {0, 1, 2, 3, Blocks::Destinations, UsedBy::All, true},
    .received = {4, 5, 6, 7, Blocks::Sources, UsedBy::All, true},
    .comm = 8,
    .before = Before::All};

}  // namespace strake::interpose
