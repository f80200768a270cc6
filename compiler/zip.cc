#include "compiler/zip.h"

#include <fmt/format.h>
#include <string.h>
#include <zip.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "ir/diag.h"

namespace corten {

namespace {

constexpr uint64_t kMaxEntry = uint64_t{1} << 30;  // bytes of one unpacked entry
constexpr uint64_t kMaxEntries = 1u << 20;
constexpr uint64_t kMaxDeflate = 1032;  // deflate packs no better than this: a larger ratio is a lie
constexpr size_t kChunk = size_t{1} << 20;

std::string text_of(zip_error_t* error) {
  std::string s = zip_error_strerror(error);
  zip_error_fini(error);
  return s;
}

}  // namespace

struct Zip::State {
  std::vector<uint8_t> bytes;  // the archive, if it came from memory; outlives `zip`
  zip_t* zip = nullptr;
  ~State() {
    if (zip) zip_discard(zip);
  }
};

Zip::~Zip() = default;
Zip::Zip(Zip&&) noexcept = default;
Zip& Zip::operator=(Zip&&) noexcept = default;

Zip::Zip(const std::string& path) : path_(path), state_(std::make_unique<State>()) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) fail(Code::no_file, "is a folder, not a file");
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored))
    fail(Code::no_file, "is a pipe or a device: an archive is read from a file", "save it first");
  int code = 0;
  state_->zip = zip_open(path.c_str(), ZIP_RDONLY, &code);
  if (!state_->zip) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    if (code == ZIP_ER_NOENT) fail(Code::no_file, "there is no such file");
    if (code == ZIP_ER_NOZIP) {
      fail(Code::damaged_archive,
           is_zip(path) ? "the zip archive is cut short or damaged: its directory is missing" : "not a zip archive");
    }
    fail(Code::damaged_archive, "cannot open the zip archive: " + text_of(&error));
  }
  list();
}

Zip::Zip(std::vector<uint8_t> bytes, std::string path) : path_(std::move(path)), state_(std::make_unique<State>()) {
  state_->bytes = std::move(bytes);
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(state_->bytes.data(), state_->bytes.size(), 0, &error);
  if (source) state_->zip = zip_open_from_source(source, ZIP_RDONLY, &error);
  if (!state_->zip) {
    if (source) zip_source_free(source);
    fail(Code::damaged_archive, "cannot open the zip archive within: " + text_of(&error));
  }
  list();
}

void Zip::fail(Code code, std::string message, std::string help) const {
  fail_file(path_, code, std::move(message), std::move(help));
}

void Zip::list() {
  const zip_int64_t count = zip_get_num_entries(state_->zip, 0);
  if (count < 0 || uint64_t(count) > kMaxEntries)
    fail(Code::damaged_archive, fmt::format("the zip archive lists {} entries", count));
  for (zip_int64_t i = 0; i < count; i++) {
    const char* name = zip_get_name(state_->zip, zip_uint64_t(i), ZIP_FL_ENC_RAW);
    if (!name) fail(Code::damaged_archive, fmt::format("entry {} of the zip archive has no name", i));
    if (!index_.emplace(name, uint64_t(i)).second)
      fail(Code::damaged_archive, fmt::format("the zip archive has two entries named '{}'", name));
    names_.push_back(name);
  }
}

std::vector<uint8_t> Zip::read(std::string_view name) const {
  auto it = index_.find(std::string(name));
  if (it == index_.end()) fail(Code::damaged_archive, fmt::format("the archive has no entry '{}'", name));
  zip_stat_t stat;
  zip_stat_init(&stat);
  if (zip_stat_index(state_->zip, it->second, 0, &stat) != 0)
    fail(Code::damaged_archive, fmt::format("cannot read the entry '{}'", name));
  constexpr zip_uint64_t kWanted = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  if ((stat.valid & kWanted) != kWanted) fail(Code::damaged_archive, fmt::format("the entry '{}' has no size", name));
  if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE) {
    fail(Code::damaged_archive, fmt::format("the entry '{}' is packed by method {}", name, stat.comp_method),
         "use stored or deflated entries");
  }
  if (stat.size > kMaxEntry)
    fail(Code::damaged_archive, fmt::format("the entry '{}' claims {} bytes; {} is the limit", name, stat.size, kMaxEntry));
  const uint64_t most = stat.comp_method == ZIP_CM_STORE ? stat.comp_size : stat.comp_size * kMaxDeflate + 64;
  if (stat.comp_size > kMaxEntry || stat.size > most) {
    fail(Code::damaged_archive,
         fmt::format("the entry '{}' claims {} bytes, but holds {} packed ones", name, stat.size, stat.comp_size));
  }
  zip_file_t* file = zip_fopen_index(state_->zip, it->second, 0);
  if (!file) fail(Code::damaged_archive, fmt::format("cannot read the entry '{}': {}", name, zip_strerror(state_->zip)));
  std::vector<uint8_t> bytes;
  for (;;) {  // in chunks: what is allocated is what is there, whatever the directory claims
    const size_t at = bytes.size();
    const size_t want = std::min<uint64_t>(kChunk, stat.size - at + 1);  // one more, to see that it ends
    bytes.resize(at + want);
    const zip_int64_t got = zip_fread(file, bytes.data() + at, want);
    if (got < 0) {
      const std::string why = zip_file_strerror(file);
      zip_fclose(file);
      fail(Code::damaged_archive, fmt::format("the entry '{}' is damaged: {}", name, why));
    }
    bytes.resize(at + size_t(got));
    if (got == 0 || bytes.size() > stat.size) break;
  }
  zip_fclose(file);
  if (bytes.size() != stat.size) {
    fail(Code::damaged_archive,
         fmt::format("the entry '{}' has {} bytes instead of the {} it claims", name, bytes.size(), stat.size));
  }
  return bytes;
}

bool Zip::is_zip(const std::string& path) {
  char magic[4] = {};
  std::ifstream in(path, std::ios::binary);
  in.read(magic, sizeof magic);
  return in && (memcmp(magic, "PK\3\4", 4) == 0 || memcmp(magic, "PK\5\6", 4) == 0);
}

}  // namespace corten
