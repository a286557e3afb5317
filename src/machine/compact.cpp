// The compact form of a profile, in the byte order of the machine that wrote it (another order
// shows as an unknown version): a header, then `payload_bytes` of payload: key, host and date, the
// names that results share, the results, and what is known of MPI libraries.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <unordered_map>

#include "machine/profile.hpp"
#include "machine/whole_file.hpp"
#include "strake/error.hpp"

namespace strake::machine {
namespace {

constexpr char kMagic[8] = {'s', 't', 'r', 'k', 'p', 'r', 'o', 'f'};
constexpr std::uint32_t kVersion = 1;
constexpr int kReasonShift = 32;  // of Record::verdict
// A thousand times what the longest measurement writes.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t reserved;
  std::uint64_t payload_bytes;
  std::uint64_t checksum;
};

/// A Result; its names are indices. `verdict`: bit 0 says i.i.d.; bits 32 and up are the index of
/// the reason why it is doubtful, plus 1. Readers before doubtful results tell only 0 from other
/// values.
struct Record {
  std::uint32_t name, mpi;
  std::int64_t bytes, block, pitch, count;
  double median, p10, p90, limit;
  std::int32_t samples, tries;
  std::uint64_t verdict;
};

/// FNV-1a by words of eight bytes: eight times as fast as by bytes, and as good against damage.
std::uint64_t checksum_of(std::string_view bytes) noexcept {
  constexpr std::uint64_t kPrime = 0x100000001b3U;
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<std::size_t>(8, bytes.size() - at));
    hash = (hash ^ word) * kPrime;
    hash ^= hash >> 32;  // a multiplication alone never moves high bits down
  }
  return hash;
}

class Writer {
 public:
  template <typename Value>
  void put(const Value& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put_text(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    bytes_ += text;
  }
  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

 private:
  std::string bytes_;
};

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& path) : bytes_(bytes), path_(path) {}
  template <typename Value>
  Value get() {
    Value value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string get_text() { return std::string(take(get<std::uint32_t>())); }
  /// Reads a number of entries of at least `least` bytes each.
  std::uint32_t get_count(std::size_t least) {
    const auto count = get<std::uint32_t>();
    if (count > bytes_.size() / least) fail();
    return count;
  }
  const std::string& name(const std::vector<std::string>& names, std::uint32_t index) const {
    if (index >= names.size()) fail();
    return names[index];
  }
  void finish() const {
    if (!bytes_.empty()) fail();
  }

 private:
  std::string_view take(std::size_t count) {
    if (count > bytes_.size()) fail();
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  [[noreturn]] void fail() const {
    throw Error(fmt::format("{} is damaged: its parts do not fit together", path_));
  }

  std::string_view bytes_;
  const std::string& path_;
};

/// Numbers texts in the order in which they are first seen.
class Names {
 public:
  std::uint32_t operator[](const std::string& text) {
    const auto [at, added] = index_.try_emplace(text, static_cast<std::uint32_t>(all_.size()));
    if (added) all_.push_back(text);
    return at->second;
  }
  [[nodiscard]] const std::vector<std::string>& all() const noexcept { return all_; }

 private:
  std::unordered_map<std::string, std::uint32_t> index_;
  std::vector<std::string> all_;
};

std::string payload_of(const Profile& profile) {
  Names names;
  Writer records;
  for (const Result& r : profile.results) {
    const std::uint64_t reason = r.doubtful.empty() ? 0 : std::uint64_t{names[r.doubtful]} + 1;
    records.put(Record{names[r.name], names[r.mpi], r.bytes, r.block, r.pitch, r.count, r.median,
                       r.p10, r.p90, r.limit, r.samples, r.tries,
                       reason << kReasonShift | (r.iid ? 1U : 0U)});
  }
  Writer all;
  all.put_text(profile.key);
  all.put_text(profile.host);
  all.put_text(profile.date);
  all.put(static_cast<std::uint32_t>(names.all().size()));
  for (const std::string& name : names.all()) all.put_text(name);
  all.put(static_cast<std::uint32_t>(profile.results.size()));
  std::string bytes = all.bytes() + records.bytes();
  Writer rest;
  rest.put(static_cast<std::uint32_t>(profile.aware.size()));
  for (const Profile::Aware& aware : profile.aware) {
    rest.put_text(aware.mpi);
    rest.put(static_cast<std::uint8_t>(aware.aware ? 1 : 0));
  }
  return bytes + rest.bytes();
}

struct Close {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

std::string system_text() { return std::strerror(errno); }

std::string read_payload(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file) throw Error(fmt::format("{} can't be opened: {}", path, system_text()));
  Header header{};
  if (std::fread(&header, sizeof header, 1, file.get()) != 1 ||
      std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) {
    throw Error(fmt::format("{} is not the compact form of a profile", path));
  }
  if (header.version != kVersion) {
    throw Error(
        fmt::format("{} was written by another version of Strake (form {}; form {} is read "
                    "here)",
                    path, header.version, kVersion));
  }
  if (header.payload_bytes > kMostBytes) {
    throw Error(fmt::format("{} is damaged: it claims {} bytes, more than any profile has", path,
                            header.payload_bytes));
  }
  // Checked before memory is allocated: a damaged header may give any size.
  std::error_code unknown;
  const auto size = std::filesystem::file_size(path, unknown);
  if (!unknown && size != sizeof header + header.payload_bytes) {
    throw Error(fmt::format("{} is cut off or has bytes too many: {} expected", path,
                            sizeof header + header.payload_bytes));
  }
  std::string payload(header.payload_bytes, '\0');
  const std::size_t got = std::fread(payload.data(), 1, payload.size(), file.get());
  if (got != payload.size() || std::fgetc(file.get()) != EOF) {
    throw Error(fmt::format("{} is cut off or has bytes too many: {} expected", path,
                            sizeof header + payload.size()));
  }
  if (checksum_of(payload) != header.checksum) {
    throw Error(fmt::format("{} is damaged: its checksum is not that of its contents", path));
  }
  return payload;
}

}  // namespace

void write_compact(const Profile& profile, const std::string& path) {
  const std::string payload = payload_of(profile);
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kVersion;
  header.payload_bytes = payload.size();
  header.checksum = checksum_of(payload);
  std::string image(reinterpret_cast<const char*>(&header), sizeof header);
  image += payload;
  write_whole(path, image);
}

Profile read_compact(const std::string& path) {
  const std::string payload = read_payload(path);
  Reader reader(payload, path);
  Profile profile;
  profile.key = reader.get_text();
  profile.host = reader.get_text();
  profile.date = reader.get_text();
  std::vector<std::string> names(reader.get_count(sizeof(std::uint32_t)));
  for (std::string& name : names) name = reader.get_text();
  const std::uint32_t count = reader.get_count(sizeof(Record));
  profile.results.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto r = reader.get<Record>();
    const auto reason = static_cast<std::uint32_t>(r.verdict >> kReasonShift);
    profile.results.push_back({reader.name(names, r.name), reader.name(names, r.mpi), r.bytes,
                               r.block, r.pitch, r.count, r.median, r.p10, r.p90, r.samples,
                               (r.verdict & 1U) != 0, r.tries, r.limit,
                               reason == 0 ? std::string() : reader.name(names, reason - 1)});
  }
  const std::uint32_t libraries = reader.get_count(sizeof(std::uint32_t) + 1);
  for (std::uint32_t i = 0; i < libraries; ++i) {
    std::string mpi = reader.get_text();
    profile.aware.push_back({std::move(mpi), reader.get<std::uint8_t>() != 0});
  }
  reader.finish();
  return profile;
}

}  // namespace strake::machine
