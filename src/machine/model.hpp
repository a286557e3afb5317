/// \file  Predicts how long a message takes by each transport, from measurements of this class of
/// machine.
/// Sources: dissertation 5.5.3 (the times of device, one-shot and staged), 5.8.3 (interpolation).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "machine/message.hpp"
#include "machine/profile.hpp"

namespace strake::machine {

/// Where the peers of a process are.
enum class Reach : std::uint8_t {
  Node,  ///< all on its node
  Net,   ///< some on other nodes
};

/// Properties of a process that its choice depends on.
struct Options {
  bool gpu_aware = false;           ///< the MPI library takes device pointers
  std::int64_t one_shot_limit = 0;  ///< STRAKE_ONE_SHOT_LIMIT; 0: whichever takes less time
};

/// Immutable once made: threads may share it.
class Model {
 public:
  /// A kernel and then a copy take longer than the sum of both: 41.3 us for 1 KiB at both ends,
  /// where the parts add up to 35.3 (H200). For each end [s].
  static constexpr double kStagedOrder = 3e-6;
  /// Cost of the buffer and the datatype of a packed message in host memory: 64 bytes in blocks of
  /// 8 take 92 to 141 ns more than contiguous ones, of which packing and unpacking are 20. For each
  /// end [s].
  static constexpr double kPacked = 50e-9;
  /// Packing in host memory is chosen if it takes at most this part of the MPI library's time. If
  /// both times are nearly equal, the message is left to the MPI library, since the order may
  /// change from minute to minute (decision 7).
  static constexpr double kWorthPacking = 0.94;
  /// Shared is chosen if it takes at most this part of the time of the transport that is chosen
  /// without it. Trials in the job may find otherwise: what sharing gains depends on the neighbours
  /// (decision 19).
  static constexpr double kWorthSharing = kWorthPacking;

  /// `mpi` is the library's name as in the profile ("Open MPI 4.1.4"), `chunk` the piece in which
  /// staged messages are copied [bytes].
  Model(const Profile& profile, std::string_view mpi, Reach link, std::int64_t chunk);

  /// Seconds of one message. The other end is assumed to have the same layout in the same kind of
  /// memory, and to use its fastest transport.
  struct Parts {
    double end = 0;        ///< packing or unpacking, and copying, at this end
    double other_end = 0;  ///< likewise at the other
    /// MPI's part; nothing if that was not measured. 0 if a packed message's two ends, measured
    /// alone, took no less than the whole message.
    std::optional<double> wire;
  };
  /// Nothing if the transport can't carry the message, if a part at the ends was not measured, and
  /// for Shared, whose two ends overlap.
  [[nodiscard]] std::optional<Parts> parts(Transport transport,
                                           const Message& message) const noexcept;
  /// The whole message, as measured or as the sum of the parts; nothing if the transport can't
  /// carry it, or neither was measured. [s]
  [[nodiscard]] std::optional<double> time(Transport transport,
                                           const Message& message) const noexcept;
  /// The fastest transport but Shared; Library: left to the MPI library. Nothing if a part that
  /// matters was not measured. ~200 ns.
  [[nodiscard]] std::optional<Transport> choose(const Message& message,
                                                const Options& options) const noexcept;
  /// Whether Shared is chosen over `otherwise`, Library or Pack, by which the message goes to ranks
  /// that share no memory with this one. Nothing if that is not known, as between nodes. ~100 ns.
  [[nodiscard]] std::optional<bool> shares(const Message& message,
                                           Transport otherwise) const noexcept;

 private:
  /// The curves of one operation on boxes of one block length and pitch.
  struct Strided {
    Curve near;  ///< by machine/pitch.hpp
    Curve sparse;
    Curve far;
    Curve aligned;
    /// The curve for this pitch, far or aligned; the other one if only that was measured.
    [[nodiscard]] const Curve& far_for(std::int64_t pitch) const noexcept;
  };
  /// The curves of one operation on all kinds of layouts.
  struct Layouts {
    Strided box;
    Curve transpose;
    Curve listed;
  };
  /// A message, with its coordinates on the curves' axes in base-2 logarithms.
  struct Query {
    explicit Query(const Message& message) noexcept;
    const Message& message;
    double bytes;
    double block;
    bool host;
    double ratio;  ///< pitch / block
  };

  static Strided strided(const Profile& profile, std::string_view name, std::string_view mpi);
  static Layouts layouts(const Profile& profile, std::string_view what, std::string_view by,
                         std::string_view mpi);
  /// Whether the transport can carry the message, in the memory where that lies.
  static bool carries(Transport transport, const Query& query) noexcept;
  // The functions below that return a double return seconds, or NaN if a part was not measured.
  static double time_of(const Strided& curves, const Query& query, double bytes) noexcept;
  static double time_beyond_sparse(const Strided& curves, const Query& query,
                                   double bytes) noexcept;
  static double time_of(const Layouts& curves, const Query& query, double bytes) noexcept;
  [[nodiscard]] double end(Transport transport, const Query& query,
                           MessageDirection direction) const noexcept;
  [[nodiscard]] double staged_end(const Query& query, MessageDirection direction) const noexcept;
  [[nodiscard]] double other_end(Transport transport, const Query& query) const noexcept;
  /// A whole message that both ends pack.
  [[nodiscard]] double packed(const Query& query) const noexcept;
  /// A whole message by memory that both ranks share.
  [[nodiscard]] double shared(const Query& query) const noexcept;
  [[nodiscard]] double wire(Transport transport, const Query& query) const noexcept;
  [[nodiscard]] double whole(Transport transport, const Query& query) const noexcept;
  [[nodiscard]] std::optional<Transport> choose_host(const Query& query) const noexcept;
  [[nodiscard]] std::optional<Transport> choose_device(const Query& query,
                                                       const Options& options) const noexcept;

  // Indexed by direction: Send packs, Receive unpacks.
  Layouts cpu_[2];
  Layouts device_[2];
  Layouts one_shot_[2];
  Curve copy_[2];
  Curve mpi_host_;
  Curve mpi_packed_;
  Curve mpi_device_;
  Layouts system_;  // whole messages, both ends strided
  Layouts packed_;
  Layouts shared_;  // never measured between nodes
  // The piece of a staged message [log2 of bytes], and how long its copy takes.
  double piece_;
  double copy_piece_[2];
};

}  // namespace strake::machine
