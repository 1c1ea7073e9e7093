// Zip archives of .npy files; see PKWARE's APPNOTE, sections 4.3 and 4.5.3 (zip64).
#include <zlib.h>

#include <cstdint>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/status_macros.h"
#include "tools/npy.h"

namespace onnx_run::tools {
namespace {

constexpr uint32_t kLocalHeader = 0x04034B50;
constexpr uint32_t kCentralHeader = 0x02014B50;
constexpr uint32_t kEndRecord = 0x06054B50;
constexpr uint32_t kZip64EndRecord = 0x06064B50;
constexpr uint32_t kZip64Locator = 0x07064B50;
// Deflate cannot grow data by more than this; a member that claims more is a lie.
constexpr uint64_t kMaxDeflateRatio = 1032;

// Little-endian fields; reads past the end give zero and set `failed`.
class ByteReader {
 public:
  explicit ByteReader(absl::string_view bytes) : bytes_(bytes) {}
  uint64_t Field(uint64_t offset, int size) {
    if (offset > bytes_.size() || bytes_.size() - offset < static_cast<uint64_t>(size)) {
      failed_ = true;
      return 0;
    }
    uint64_t value = 0;
    for (int i = 0; i < size; ++i) {
      value |= uint64_t{static_cast<unsigned char>(bytes_[offset + static_cast<uint64_t>(i)])}
               << (8 * i);
    }
    return value;
  }
  absl::string_view Slice(uint64_t offset, uint64_t size) {
    if (offset > bytes_.size() || bytes_.size() - offset < size) {
      failed_ = true;
      return {};
    }
    return bytes_.substr(offset, size);
  }
  bool failed() const { return failed_; }
  uint64_t size() const { return bytes_.size(); }

 private:
  absl::string_view bytes_;
  bool failed_ = false;
};

absl::Status Corrupt(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("the .npz (zip) file is corrupt: ", what));
}

struct Directory {
  uint64_t offset = 0;
  uint64_t entries = 0;
};

absl::StatusOr<Directory> FindDirectory(ByteReader& reader) {
  if (reader.size() < 22) return absl::InvalidArgumentError("not a .npz (zip) file");
  // The end record is last, but for a comment of up to 65535 bytes.
  const uint64_t last = reader.size() - 22;
  const uint64_t first = last > 65535 ? last - 65535 : 0;
  for (uint64_t at = last + 1; at-- > first;) {
    if (reader.Field(at, 4) != kEndRecord) continue;
    Directory directory = {.offset = reader.Field(at + 16, 4), .entries = reader.Field(at + 10, 2)};
    if ((directory.offset == 0xFFFFFFFF || directory.entries == 0xFFFF) && at >= 20 &&
        reader.Field(at - 20, 4) == kZip64Locator) {
      const uint64_t record = reader.Field(at - 20 + 8, 8);
      if (reader.Field(record, 4) != kZip64EndRecord) return Corrupt("no zip64 end record");
      directory.entries = reader.Field(record + 32, 8);
      directory.offset = reader.Field(record + 48, 8);
    }
    return directory;
  }
  return absl::InvalidArgumentError("not a .npz (zip) file");
}

absl::StatusOr<std::string> Inflate(absl::string_view data, uint64_t size) {
  if (size / kMaxDeflateRatio > data.size() + 1)
    return Corrupt("a member claims an impossible size");
  std::string out(size, '\0');
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return absl::ResourceExhaustedError("no memory");
  uint64_t taken = 0;
  uint64_t made = 0;
  int result = Z_OK;
  constexpr uint64_t kPart = std::numeric_limits<uInt>::max();
  char nothing = 0;
  while (result == Z_OK) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data() + taken));
    stream.avail_in = static_cast<uInt>(std::min<uint64_t>(kPart, data.size() - taken));
    stream.next_out = reinterpret_cast<Bytef*>(made < size ? out.data() + made : &nothing);
    stream.avail_out = static_cast<uInt>(std::min<uint64_t>(kPart, size - made));
    const uInt in_before = stream.avail_in;
    const uInt out_before = stream.avail_out;
    result = inflate(&stream, Z_NO_FLUSH);
    taken += in_before - stream.avail_in;
    made += out_before - stream.avail_out;
  }
  inflateEnd(&stream);
  if (result != Z_STREAM_END || made != size) return Corrupt("a deflated member does not inflate");
  return out;
}

uint32_t Crc(absl::string_view data) {
  uLong crc = crc32(0, nullptr, 0);
  while (!data.empty()) {
    const size_t part = std::min<size_t>(data.size(), size_t{1} << 30);
    crc = crc32(crc, reinterpret_cast<const Bytef*>(data.data()), static_cast<uInt>(part));
    data.remove_prefix(part);
  }
  return static_cast<uint32_t>(crc);
}

void Put(std::string& to, uint64_t value, int size) {
  for (int i = 0; i < size; ++i) to += static_cast<char>(value >> (8 * i) & 0xFF);
}

}  // namespace

absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ParseZip(absl::string_view bytes) {
  ByteReader reader(bytes);
  ASSIGN_OR_RETURN(const Directory directory, FindDirectory(reader));
  std::vector<std::pair<std::string, std::string>> members;
  uint64_t at = directory.offset;
  uint64_t total = 0;
  for (uint64_t entry = 0; entry < directory.entries; ++entry) {
    if (reader.Field(at, 4) != kCentralHeader) return Corrupt("a directory entry is missing");
    const uint64_t flags = reader.Field(at + 8, 2);
    const uint64_t method = reader.Field(at + 10, 2);
    const uint64_t crc = reader.Field(at + 16, 4);
    uint64_t packed = reader.Field(at + 20, 4);
    uint64_t size = reader.Field(at + 24, 4);
    const uint64_t name_bytes = reader.Field(at + 28, 2);
    const uint64_t extra_bytes = reader.Field(at + 30, 2);
    const uint64_t comment_bytes = reader.Field(at + 32, 2);
    uint64_t local = reader.Field(at + 42, 4);
    std::string name(reader.Slice(at + 46, name_bytes));
    // Zip64: the fields that did not fit follow in this order.
    for (uint64_t extra = at + 46 + name_bytes, end = extra + extra_bytes; extra + 4 <= end;) {
      const uint64_t id = reader.Field(extra, 2);
      const uint64_t length = reader.Field(extra + 2, 2);
      uint64_t field = extra + 4;
      if (id == 1) {
        for (uint64_t* value : {&size, &packed, &local}) {
          if (*value != 0xFFFFFFFF || field + 8 > extra + 4 + length) continue;
          *value = reader.Field(field, 8);
          field += 8;
        }
      }
      extra += 4 + length;
    }
    at += 46 + name_bytes + extra_bytes + comment_bytes;
    if (reader.failed()) return Corrupt("its directory ends early");
    if ((flags & 1) != 0) return absl::InvalidArgumentError("an encrypted .npz is not read");
    if (reader.Field(local, 4) != kLocalHeader) return Corrupt("a member is missing");
    const uint64_t start = local + 30 + reader.Field(local + 26, 2) + reader.Field(local + 28, 2);
    const absl::string_view data = reader.Slice(start, packed);
    if (reader.failed()) return Corrupt("a member ends early");
    std::string content;
    if (method == 0) {
      if (packed != size) return Corrupt("a stored member has two sizes");
      // Members may overlap in a hostile file: never more than the file times the deflate ratio.
      content = std::string(data);
    } else if (method == 8) {
      ASSIGN_OR_RETURN(content, Inflate(data, size));
    } else {
      return absl::InvalidArgumentError(absl::StrCat("member ", name,
                                                     " of the .npz is packed by method ", method,
                                                     "; stored and deflated ones are read"));
    }
    total += content.size();
    if (total > (bytes.size() + 1) * kMaxDeflateRatio) return Corrupt("its members overlap");
    if (Crc(content) != crc) return Corrupt(absl::StrCat("the checksum of ", name, " is wrong"));
    members.emplace_back(std::move(name), std::move(content));
  }
  return members;
}

absl::StatusOr<std::string> SerializeZip(
    absl::Span<const std::pair<std::string, std::string>> members) {
  std::string bytes;
  std::string directory;
  for (const auto& [name, content] : members) {
    if (bytes.size() + content.size() + name.size() > 0xFFFFFF00U || members.size() > 65000) {
      return absl::InvalidArgumentError(
          "an .npz of more than 4 GB is not written; use .npy or .pb");
    }
    const uint64_t offset = bytes.size();
    std::string fields;
    Put(fields, 20, 2);          // version needed
    Put(fields, 0x800, 2);       // names are UTF-8
    Put(fields, 0, 2);           // stored
    Put(fields, 0x21 << 16, 4);  // 1980-01-01: the same bytes for the same values
    Put(fields, Crc(content), 4);
    Put(fields, content.size(), 4);
    Put(fields, content.size(), 4);
    Put(fields, name.size(), 2);
    Put(fields, 0, 2);
    Put(bytes, kLocalHeader, 4);
    bytes += fields;
    bytes += name;
    bytes += content;
    Put(directory, kCentralHeader, 4);
    Put(directory, 20, 2);
    directory += fields;
    Put(directory, 0, 2);  // comment
    Put(directory, 0, 2);  // disk
    Put(directory, 0, 2);
    Put(directory, 0, 4);
    Put(directory, offset, 4);
    directory += name;
  }
  const uint64_t offset = bytes.size();
  bytes += directory;
  Put(bytes, kEndRecord, 4);
  Put(bytes, 0, 4);
  Put(bytes, members.size(), 2);
  Put(bytes, members.size(), 2);
  Put(bytes, directory.size(), 4);
  Put(bytes, offset, 4);
  Put(bytes, 0, 2);
  return bytes;
}

absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ParseNpz(absl::string_view bytes) {
  ASSIGN_OR_RETURN(auto members, ParseZip(bytes));
  for (auto& [name, content] : members) {
    if (absl::EndsWith(name, ".npy")) name.resize(name.size() - 4);
  }
  return members;
}

absl::StatusOr<std::string> SerializeNpz(absl::Span<const std::pair<std::string, Tensor>> arrays) {
  std::vector<std::pair<std::string, std::string>> members;
  for (const auto& [name, tensor] : arrays) {
    ASSIGN_OR_RETURN(std::string content, SerializeNpy(tensor));
    members.emplace_back(absl::StrCat(name, ".npy"), std::move(content));
  }
  return SerializeZip(members);
}

}  // namespace onnx_run::tools
