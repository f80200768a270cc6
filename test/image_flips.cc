// Single-byte flips of an image: refused as it is; with its CRC made right again, refused or run within bounds, which the address
// sanitizer sees. Wrong constants may overflow in arithmetic, which reaches no memory: undefined behaviour does not end this test.
// image_flips MODEL.pt2 CALIB.npz TARGET STRIDE: flips every STRIDE-th byte; the exit code says whether all held.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/emit.h"
#include "compiler/pipeline.h"
#include "compiler/program_file.h"
#include "ops/op.h"
#include "runtime/program.h"

using namespace corten;

// The arena of the right image, exactly.
struct Bed {
  std::shared_ptr<uint8_t[]> image, arena;
  size_t bytes;
  uint32_t arena_bytes;
  Model model;
  Status load(const std::vector<uint8_t>& from) {
    memcpy(image.get(), from.data(), bytes);
    const auto kernels = all_kernels();
    return model.init(image.get(), bytes, kernels.data(), uint32_t(kernels.size()), arena.get(), arena_bytes);
  }
  void run() {
    for (uint32_t i = 0; i < model.inputs(); i++) memset(model.input(i).data, 0x11, model.input(i).bytes);
    model.run();
  }
};

int main(int argc, char** argv) try {
  if (argc != 5) return fprintf(stderr, "usage: image_flips MODEL.pt2 CALIB.npz TARGET STRIDE\n"), 2;
  CompileOptions options;
  options.model = argv[1], options.calibrate = argv[2], options.target = argv[3];
  const Program program = Program::from_bytes(compile(options).image);
  const size_t stride = size_t(atol(argv[4]));
  const std::vector<uint8_t> image(program.image().begin(), program.image().end());
  Bed bed{aligned_bytes(image.size()), aligned_bytes(program.arena_bytes()), image.size(), program.arena_bytes(), {}};
  if (bed.load(image) != CORTEN_OK) return printf("the image itself is refused\n"), 1;
  long accepted = 0, refused = 0, ran = 0, written = 0;
  for (size_t i = 0; i < image.size(); i += stride) {
    std::vector<uint8_t> wrong = image;
    wrong[i] ^= uint8_t(1 << (i * 7 + i / 8) % 8);
    accepted += bed.load(wrong) == CORTEN_OK;
    seal_image(wrong);
    if (bed.load(wrong) != CORTEN_OK) {
      refused++;
      continue;
    }
    ran++;
    bed.run();
    written += memcmp(bed.image.get(), wrong.data(), wrong.size()) != 0;
  }
  printf("%zu bytes: %ld flips accepted; under a right CRC %ld refused, %ld ran, %ld wrote to the image\n", image.size(), accepted,
         refused, ran, written);
  return accepted || written || !refused || !ran;
} catch (const std::exception& e) {
  printf("%s\n", e.what());
  return 1;
}
