/// \file  The parts of a profile that planned exchanges use, and what bytes of one shape cost by
/// each. No part stands in for another: what was not measured is named.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "machine/model.hpp"
#include "machine/profile.hpp"

namespace strake::machine {

/// Immutable once made: threads may share it.
struct ExchangeParts {
  /// `mpi` is the library's name as in the profile ("Open MPI 4.1.4").
  ExchangeParts(const Profile& profile, std::string_view mpi);

  template <typename Value>
  using Named = std::map<std::string, Value, std::less<>>;
  Model packs;           ///< between layouts and dense memory
  Named<Curve> curves;   ///< of dense bytes and by block; "/dense" follows where a name has both
  Named<double> calls;   ///< seconds of one, by one thread
  Named<double> shared;  ///< seconds per byte where many share it: the pairs, the fans
  Named<double> words;   ///< seconds of a word of 4 bytes that lies alone

  /// "0-1": these GPUs, if kernels between them were measured, else those whose copies are most
  /// alike. strake measure takes all cases of the first pair of each kind of link.
  [[nodiscard]] std::string pair_like(int from, int to) const;
};

/// The properties of a transfer that its time depends on, beside the path.
struct Shape {
  std::int64_t bytes = 0;
  std::int64_t block = 0;  ///< bytes of one contiguous block
  std::int64_t pitch = 0;  ///< bytes from block to block; 0: not known, taken as twice the block
  friend auto operator<=>(const Shape&, const Shape&) = default;
};

/// Seconds of one transfer. A part that the profile lacks costs nothing, and lacking() names it.
class Costs {
 public:
  /// Both must outlive it. \throws InvalidArgument  the shape has no bytes or no block
  Costs(const ExchangeParts& parts, const Shape& shape);

  /// The time of one call, which moves no bytes.
  double call(const std::string& name);
  /// The time of the smallest size that was measured: an operation of any size costs at least that.
  double fixed(const std::string& name);
  /// The time beyond fixed(), if the transfer is an operation of its own.
  double rest(const std::string& name);
  /// The transfer's share of an operation that moves much more.
  double share(const std::string& name);
  /// The transfer's share where the bytes of several ranks or GPUs add up.
  double shared(const std::string& name);
  /// The time of kernels that read the blocks out of another GPU's memory, if dense bytes take
  /// `dense`.
  double read_blocks(const std::string& name, double dense);
  /// \{ The time of packing or unpacking: by the CPU as long as it takes alone; by a device the
  /// transfer's share of a launch.
  double cpu(MessageDirection direction) { return packing(direction, Transport::Pack, "cpu"); }
  double device(MessageDirection direction) {
    return packing(direction, Transport::Device, "device");
  }
  double one_shot(MessageDirection direction) {
    return packing(direction, Transport::OneShot, "one-shot");
  }
  /// \}

  /// The first part that the profile lacks, "mpi/net/pairs"; empty: none.
  [[nodiscard]] const std::string& lacking() const noexcept { return lacking_; }

 private:
  template <typename Value>
  const Value* find(const ExchangeParts::Named<Value>& parts, const std::string& name);
  /// `seconds`, or 0 where a doubtful result leaves them unknown: then it names what lacks.
  double known(double seconds, const std::string& name);
  double packing(MessageDirection direction, Transport transport, const char* memory);

  const ExchangeParts& parts_;
  const Shape& shape_;
  double bytes_;
  std::string lacking_;
};

}  // namespace strake::machine
