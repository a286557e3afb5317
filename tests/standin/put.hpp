/// \file  DevicePut of the stand-in: what a device does with flags and counts, in tasks of the
/// stream's thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "copies.hpp"
#include "copy/device_copier.hpp"

namespace standin {

class DevicePut final : public strake::PutRounds {
 public:
  DevicePut(const strake::PutCopies& copies, const strake::PutState& state, int device);
  void put(strake::DeviceStream& stream, std::span<std::byte* const> arrays,
           std::uint64_t round_by_host, std::uint64_t ticket) const override;
  void take(strake::DeviceStream& stream, std::span<std::byte* const> arrays,
            std::uint64_t round_by_host, std::uint64_t ticket, Await await) const override;
  void run(strake::DeviceStream& stream, std::span<std::byte* const> arrays,
           std::uint64_t round) const override;

 private:
  using Tasks = std::vector<std::function<void()>>;
  void note(strake::PutCounts::Stage stage) const;
  /// Between addresses of now, as engines do.
  void copy_by_engines(strake::DeviceStream& stream, const Batch& batch,
                       std::span<std::byte* const> arrays, std::uint64_t round) const;
  /// \{ Tasks of even rounds, and of odd ones.
  [[nodiscard]] std::array<Tasks, 2> both(const Batch& batch,
                                          std::span<std::byte* const> arrays) const;
  [[nodiscard]] std::array<Tasks, 2> combining(std::span<std::byte* const> arrays) const;
  /// \}

  Batch put_, own_, take_;
  Batch engine_out_, engine_in_;
  bool has_engines_;
  std::vector<strake::PutCopies::Combined> combined_;
  std::size_t arrays_;
  std::vector<strake::PutCopies::Buffer> buffers_;
  strake::PutCounts* counts_;
  strake::PutProgress* progress_;
  std::vector<strake::PutFlags> flags_;
};

}  // namespace standin
