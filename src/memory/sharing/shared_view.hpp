/// \file  Several ranges of shared memory, one after the other at one address: what lies apart is
/// one piece there. Source: Zhao et al. (2021), PPoPP, section 4 (memory mapping).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace strake::sharing {

/// Owns its mappings, of which each range is one. The memory stays while any view has it.
class SharedView {
 public:
  /// A range of a memory file: whole pages. [bytes]
  struct Range {
    std::int64_t begin = 0;
    std::int64_t bytes = 0;
  };
  SharedView() noexcept = default;
  /// \param page  bytes of the file's pages, a power of two; 0: the system's
  /// \throws InvalidArgument  a range that is not of whole pages; OutOfMemory  the kernel refuses,
  /// with its reason
  SharedView(int descriptor, std::span<const Range> ranges, std::int64_t page = 0);
  SharedView(SharedView&& other) noexcept;
  SharedView& operator=(SharedView&& other) noexcept;
  ~SharedView();
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

/// No processor has larger pages. [bytes]
inline constexpr std::int64_t kLargestPage = std::int64_t{16} << 30;
/// The size of a page. [bytes]
[[nodiscard]] std::int64_t page_bytes() noexcept;

/// Whether pages may have so many bytes: a power of two, from page_bytes() to kLargestPage.
[[nodiscard]] bool may_be_page(std::int64_t bytes) noexcept;

/// Mappings of a process.
struct Mappings {
  std::int64_t now = 0;
  std::int64_t most = 0;  ///< vm.max_map_count
};
/// As the kernel says: ~0.1 ms.
[[nodiscard]] Mappings mappings() noexcept;
/// Whether `needed` more leave a tenth to others, or it is not known.
[[nodiscard]] bool are_few(std::int64_t needed, const Mappings& mappings) noexcept;
/// \throws Unsupported  `needed` more would leave fewer than a tenth to others; the message has the
/// numbers
void require_mappings(std::int64_t needed, const Mappings& mappings);

}  // namespace strake::sharing
