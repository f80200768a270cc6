#include "compiler/npz.h"

#include <doctest/doctest.h>
#include <string.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>

#include "test/diag_text.h"
#include "test/zip_file.h"

using namespace corten;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path = fs::temp_directory_path() / ("corten_npz_test_" + std::to_string(getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const std::string& name) const { return (path / name).string(); }
};

void write(const std::string& path, const std::string& bytes) { write_new(path, bytes); }

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string npy(const std::string& descr, const std::string& shape, const std::string& data, bool fortran = false,
                char version = 1) {
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
  header += std::string(64 - header.size() % 64, ' ') + "\n";
  std::string s = "\x93NUMPY" + std::string{version, 0, char(header.size() & 255), char(header.size() >> 8)};
  if (version > 1) s += std::string(2, '\0');
  return s + header + data;
}

template <class T>
std::string raw(const std::vector<T>& v) {
  return {reinterpret_cast<const char*>(v.data()), v.size() * sizeof(T)};
}

// Without the folder's name, which differs from run to run.
std::string refusal(const Folder& folder, const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    std::string s = told(e.diag);
    for (size_t at; (at = s.find(folder.path.string() + "/")) != std::string::npos;) s.erase(at, folder.path.string().size() + 1);
    return s;
  }
  return "";
}

}  // namespace

TEST_CASE("npy: every real type, both byte orders, both element orders, all header versions") {
  const Folder folder;
  auto floats = [&](const std::string& bytes) {
    write(folder / "a.npy", bytes);
    return read_arrays(folder / "a.npy").at(0).floats();
  };
  using F = std::vector<float>;
  CHECK(floats(npy("<f4", "(2,)", raw<float>({1.5f, -2}))) == F{1.5f, -2});
  CHECK(floats(npy("<f8", "(2,)", raw<double>({0.1, -2}))) == F{0.1f, -2});
  CHECK(floats(npy("<f2", "(6,)", raw<uint16_t>({0x3c00, 0xc000, 0x0001, 0x7bff, 0x8000, 0x0400}))) ==
        F{1, -2, std::ldexp(1.0f, -24), 65504, 0, std::ldexp(1.0f, -14)});
  CHECK(std::isinf(floats(npy("<f2", "(1,)", raw<uint16_t>({0x7c00})))[0]));
  CHECK(floats(npy("|b1", "(3,)", std::string("\0\1\2", 3))) == F{0, 1, 1});
  CHECK(floats(npy("|i1", "(2,)", "\x7f\x80")) == F{127, -128});
  CHECK(floats(npy("|u1", "(2,)", "\x7f\x80")) == F{127, 128});
  CHECK(floats(npy("<i2", "(1,)", raw<int16_t>({-300}))) == F{-300});
  CHECK(floats(npy("<u2", "(1,)", raw<uint16_t>({65535}))) == F{65535});
  CHECK(floats(npy("<i4", "(1,)", raw<int32_t>({-70000}))) == F{-70000});
  CHECK(floats(npy("<u4", "(1,)", raw<uint32_t>({4000000000u}))) == F{4e9f});
  CHECK(floats(npy("<i8", "(1,)", raw<int64_t>({-5000000000}))) == F{-5e9f});
  CHECK(floats(npy("<u8", "(1,)", raw<uint64_t>({7}))) == F{7});
  CHECK(floats(npy(">f4", "(1,)", std::string("\x3f\xc0\0\0", 4))) == F{1.5f});
  CHECK(floats(npy(">i2", "(1,)", "\x01\x02")) == F{258});
  CHECK(floats(npy("<f4", "()", raw<float>({3}))) == F{3});
  CHECK(floats(npy("<f4", "(2, 3)", raw<float>({0, 3, 1, 4, 2, 5}), true)) == F{0, 1, 2, 3, 4, 5});
  CHECK(floats(npy("<f4", "(2,)", raw<float>({1, 2}), false, 2)) == F{1, 2});
  CHECK(floats(npy("<f4", "(2,)", raw<float>({1, 2}), true, 3)) == F{1, 2});
  CHECK(floats(npy("<f4", "(2, 0)", "")).empty());
}

TEST_CASE("npy: refusals") {
  const Folder folder;
  auto refused = [&](const std::string& bytes) {
    write(folder / "a.npy", bytes);
    return refusal(folder, [&] { read_arrays(folder / "a.npy"); });
  };
  CHECK(refused("") == "error: the array is not in NumPy's format\n  in a.npy");
  CHECK(refused(npy("<f4", "(3,)", "abcdefgh")) == "error: the array is cut short: 8 of 12 bytes of <f4[3] are there\n  in a.npy");
  CHECK(refused(npy("<f4", "(1,)", "abcdefgh")) == "error: the array has 4 bytes more than <f4[1] takes\n  in a.npy");
  CHECK(refused(npy("|O", "(1,)", "abcd")) ==
        "error: the array has the dtype object, which is not supported\n  in a.npy\n"
        "  help: save it as float32: np.save(path, array.astype(np.float32))");
  CHECK(refused(npy("<c8", "(1,)", "abcdefgh")).find("error: the array has the dtype complex, which") == 0);
  CHECK(refused(npy("<U3", "(1,)", "abcdefghabcd")).find("error: the array has the dtype text, which") == 0);
  CHECK(refused(npy("<f16", "(1,)", std::string(16, 'x'))).find("error: the array has the dtype '<f16', which") == 0);
  CHECK(refused(npy("<M8", "(1,)", std::string(8, 'x'))).find("error: the array has the dtype '<M8', which") == 0);
  CHECK(refused(npy("<f4", "(-1,)", "")).find("error: the array has the shape [-1]") == 0);
  CHECK(refused(npy("<f4", "(4294967296, 4294967296)", "")).find("error: the array has the shape") == 0);
  CHECK(refused(npy("<f4", "(99999999999999999999,)", "")).find("error: the array has a damaged header") == 0);
  CHECK(refused(npy("<f4", "3", "abcd")).find("error: the array has a damaged header") == 0);
  CHECK(refused(npy("<f4", "(1,)", "abcd", false, 4)).find("error: the array is of .npy version 4.0") == 0);
  const std::string good = npy("<f4", "(2, 3)", raw<float>({0, 1, 2, 3, 4, 5}), true);
  for (size_t i = 0; i < good.size(); i++) CHECK(refused(good.substr(0, i)) != "");
  for (size_t i = 0; i < 80; i++) {
    for (int bit = 0; bit < 8; bit++) {
      std::string bad = good;
      bad[i] = char(bad[i] ^ (1 << bit));
      refused(bad);  // whatever it says, no crash
    }
  }
  CHECK(refusal(folder, [&] { read_arrays(folder / "none.npy"); }).find("error: cannot be read: No such file or directory") == 0);
}

TEST_CASE("npz: stored, deflated, damaged") {
  const Folder folder;
  const std::string data = npy("<f4", "(64,)", raw(std::vector<float>(64, 1.25f)));
  for (bool deflate : {false, true}) {
    write_zip(folder / "a.npz",
              {{"in0.npy", data}, {"readme.txt", "no array"}, {"labels.npy", npy("<i8", "(1,)", raw<int64_t>({3}))}}, deflate);
    const auto arrays = read_arrays(folder / "a.npz");
    REQUIRE(arrays.size() == 2);
    CHECK(arrays[0].name == "in0");
    CHECK(arrays[0].floats() == std::vector<float>(64, 1.25f));
    CHECK(arrays[1].integers() == std::vector<int64_t>{3});
    const std::string whole = read(folder / "a.npz");
    for (size_t i = 4; i < whole.size(); i++) {
      write(folder / "b.npz", whole.substr(0, i));
      CHECK(refusal(folder, [&] { read_arrays(folder / "b.npz"); }) != "");
    }
    for (size_t i = 0; i < whole.size(); i++) {
      std::string bad = whole;
      bad[i] = char(bad[i] ^ 0x10);
      write(folder / "b.npz", bad);
      refusal(folder, [&] { read_arrays(folder / "b.npz"); });
    }
  }
  write_zip(folder / "c.npz", {{"a.txt", "x"}}, false);
  CHECK(refusal(folder, [&] { read_arrays(folder / "c.npz"); }) == "error: the archive holds no arrays (.npy)\n  in c.npz");
}

TEST_CASE("npz: a size that lies is refused before it is believed") {
  const Folder folder;
  write_zip(folder / "a.npz", {{"in0.npy", std::string(1000, 'x')}}, true);
  std::string zip = read(folder / "a.npz");
  const size_t directory = zip.rfind("PK\1\2");
  REQUIRE(directory != std::string::npos);
  for (uint32_t claim : {0x7fffffffu, 0x00010000u, 10u}) {
    memcpy(zip.data() + directory + 24, &claim, 4);  // the size unpacked
    memcpy(zip.data() + 22, &claim, 4);
    write(folder / "b.npz", zip);
    CHECK(refusal(folder, [&] { read_arrays(folder / "b.npz"); }).find("in0.npy") != std::string::npos);
  }
}

TEST_CASE("write_npz reads back, and leaves the old file where it fails") {
  const Folder folder;
  const std::string path = folder / "out.npz";
  write_npz(path, {np_array("out0", {2, 2}, std::vector<float>{1, 2, 3, 4.5f}),
                   np_array("out1", {3}, std::vector<int8_t>{-128, 0, 127}), np_array("out2", {}, std::vector<int32_t>{-70000})});
  const auto back = read_arrays(path);
  REQUIRE(back.size() == 3);
  CHECK(back[0].shape == Shape{2, 2});
  CHECK(back[0].floats() == std::vector<float>{1, 2, 3, 4.5f});
  CHECK(back[1].dtype == DType::i8);
  CHECK(back[1].integers() == std::vector<int64_t>{-128, 0, 127});
  CHECK(back[2].shape.empty());
  CHECK(back[2].integers() == std::vector<int64_t>{-70000});
  const std::string first = read(path);
  write_npz(path, {back[0], back[1], back[2]});
  CHECK(read(path) == first);  // no time stamps
  CHECK(refusal(folder, [&] { write_npz(path, {back[0], back[0]}); }) != "");
  CHECK(read(path) == first);
  CHECK(std::distance(fs::directory_iterator(folder.path), {}) == 1);  // no leavings
  write_arrays(folder / "x.npy", {back[0]});
  CHECK(read_arrays(folder / "x.npy")[0].floats() == back[0].floats());
  CHECK(refusal(folder, [&] { write_npz(folder / "none/out.npz", {back[0]}); }).find("error: cannot write the file") == 0);
}

TEST_CASE("samples: names, shapes, labels") {
  const Folder folder;
  const std::vector<InputSpec> one = {{"x", {1, 2}}}, two = {{"x", {1, 2}}, {"state", {3}}};
  const NpArray flat = np_array("in0", {2, 2}, std::vector<float>{1, 2, 3, 4});
  NpArray whole = np_array("x", {2, 1, 2}, std::vector<float>{5, 6, 7, 8});
  auto write_all = [&](std::vector<NpArray> arrays) { write_npz(folder / "d.npz", arrays); };
  auto load = [&](const auto& inputs) { return load_samples(folder / "d.npz", inputs); };
  auto refused = [&](const auto& inputs) { return refusal(folder, [&] { load(inputs); }); };

  write_all({flat, np_array("labels", {2}, std::vector<int32_t>{7, 9}), np_array("out0", {1}, std::vector<float>{0})});
  Samples s = load(one);
  CHECK(s.count == 2);
  CHECK(s.inputs == std::vector<std::vector<float>>{{1, 2, 3, 4}});
  CHECK(s.labels == std::vector<int64_t>{7, 9});
  CHECK(refused(two) ==
        "error: no array for input 'state': the file holds in0, labels, out0\n  in d.npz\n  help: name it 'state' or 'in1'");

  write_all({flat, whole, np_array("in1", {2, 3}, std::vector<int8_t>{1, 2, 3, 4, 5, 6})});
  s = load(two);  // its own name comes before in0
  CHECK(s.inputs == std::vector<std::vector<float>>{{5, 6, 7, 8}, {1, 2, 3, 4, 5, 6}});

  write_all({flat, np_array("in1", {1, 3}, std::vector<float>{1, 2, 3})});
  CHECK(refused(two) == "error: 'in1' holds 1 samples, but the inputs before it 2\n  in d.npz\n  help: give as many of each input");
  write_all({np_array("in0", {2, 3}, std::vector<float>(6))});
  CHECK(refused(one) ==
        "error: array 'in0' is [2, 3], but input 'x' takes [N, 1, 2] or [N, 2]\n  in d.npz\n"
        "  help: give samples along the first axis, in PyTorch's order of dimensions");
  write_all({np_array("in0", {0, 2}, std::vector<float>())});
  CHECK(refused(one) == "error: array 'in0' holds no samples\n  in d.npz\n  help: give at least one");
  write_all({np_array("in0", {2, 2}, std::vector<float>{1, 2, 3, std::numeric_limits<float>::quiet_NaN()})});
  CHECK(refused(one) == "error: input 'x' holds NaN in sample 1\n  in d.npz\n  help: leave such samples out");
  write_all({np_array("in0", {2, 2}, std::vector<float>{-INFINITY, 2, 3, 4})});
  CHECK(refused(one) == "error: input 'x' holds infinity in sample 0\n  in d.npz\n  help: leave such samples out");
  write_all({flat, np_array("labels", {3}, std::vector<int32_t>{7, 9, 1})});
  CHECK(refused(one) == "error: labels are [3], but there are 2 samples\n  in d.npz\n  help: give one label for each sample");
}

TEST_CASE("samples: .npy alone, lists and folders") {
  const Folder folder;
  const std::vector<InputSpec> one = {{"x", {1, 2}}}, two = {{"x", {1, 2}}, {"state", {3}}};
  fs::create_directories(folder / "d");
  write_arrays(folder / "d/a.npy", {np_array("", {2, 2}, std::vector<float>{1, 2, 3, 4})});
  write_arrays(folder / "d/b.npy", {np_array("", {2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6})});
  CHECK(load_samples(folder / "d/a.npy", one).count == 2);
  CHECK(load_samples((folder / "d/a.npy") + "," + (folder / "d/b.npy"), two).inputs[1].size() == 6);
  CHECK(refusal(folder, [&] { load_samples(folder / "d/a.npy", two); }).find("error: one array, but the program has 2 inputs") ==
        0);
  CHECK(refusal(folder, [&] { load_samples(folder / "d", two); }).find("error: no array for input 'x': the file holds a, b") == 0);
  fs::rename(folder / "d/a.npy", folder / "d/state.npy");
  fs::rename(folder / "d/b.npy", folder / "d/x.npy");
  CHECK(refusal(folder, [&] { load_samples(folder / "d", two); }).find("error: array 'x' is [2, 3]") == 0);
  fs::rename(folder / "d/x.npy", folder / "d/in1.npy");
  fs::rename(folder / "d/state.npy", folder / "d/in0.npy");
  CHECK(load_samples(folder / "d", two).inputs[0] == std::vector<float>{1, 2, 3, 4});
}
