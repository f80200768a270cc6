// Plans against an execution without a plan: every value in a buffer of its own, then the same steps in the arena with dead bytes
// poisoned. And plans that are wrong must be found out.
#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "compiler/pipeline.h"
#include "compiler/program_file.h"
#include "ops/op.h"
#include "runtime/program.h"

using namespace corten;

namespace {

const KernelEntry& entry(uint32_t id) {
  for (const KernelEntry& e : all_kernels())
    if (e.id == id) return e;
  throw std::logic_error("no such kernel");
}

uint8_t noise(size_t i, size_t salt) { return uint8_t((i * 2654435761u + salt * 40503u) >> 13); }

// The bytes of each output, from a run in which a step's operands never share memory: the last value written at a place is what a
// reader of that place gets.
struct Apart {
  struct Held {
    uint32_t offset, bytes;
    std::shared_ptr<uint8_t[]> data;
  };
  std::vector<Held> held;

  std::shared_ptr<uint8_t[]> read(const Place& p) const {
    for (size_t i = held.size(); i-- > 0;)
      if (held[i].offset <= p.offset && p.offset + p.bytes <= held[i].offset + held[i].bytes) {
        auto copy = aligned_bytes(p.bytes);
        memcpy(copy.get(), held[i].data.get() + (p.offset - held[i].offset), p.bytes);
        return copy;
      }
    throw std::logic_error("nobody wrote what is read");
  }
};

void run_apart(const Planned& p, const Program& image, const Sample& in, Sample& out) {
  const std::vector<PlannedStep>& steps = p.steps;
  Apart memory;
  for (size_t i = 0; i < in.size(); i++) {
    auto data = aligned_bytes(in[i].size());
    memcpy(data.get(), in[i].data(), in[i].size());
    memory.held.push_back({p.inputs[i].place.offset, p.inputs[i].place.bytes, data});
  }
  const ImageHeader& h = *image_at<ImageHeader>(image.image().data(), 0);
  for (size_t s = 0; s < steps.size(); s++) {
    const ImageStep& step = image_at<ImageStep>(&h, h.step_table)[s];
    std::vector<std::shared_ptr<uint8_t[]>> keep;
    std::vector<void*> operands;
    for (const Place& o : steps[s].operands) {
      const bool last = &o == &steps[s].operands.back();
      std::shared_ptr<uint8_t[]> data;
      if (last) {
        data = aligned_bytes(o.bytes);
        memset(data.get(), 0xEE, o.bytes);
      } else if (o.constant) {
        data = aligned_bytes(o.bytes);
        memcpy(data.get(), p.constants[o.offset].data(), o.bytes);
      } else {
        data = memory.read(o);
      }
      keep.push_back(data), operands.push_back(data.get());
    }
    auto scratch = aligned_bytes(steps[s].lowered.scratch_bytes);
    for (uint32_t i = 0; i < steps[s].lowered.scratch_bytes; i++) scratch[i] = noise(i, s);
    const KernelArgs a = {image_at<uint8_t>(&h, step.params), image.image().data(), operands.data(), scratch.get()};
    entry(kernel_id(std::string(steps[s].lowered.kernel).c_str())).run(&a);
    const Place& made = steps[s].operands.back();
    memory.held.push_back({made.offset, made.bytes, keep.back()});
  }
  for (const PlannedIo& o : p.outputs) {
    const auto data = o.place.constant ? nullptr : memory.read(o.place);
    if (data) out.emplace_back(data.get(), data.get() + o.place.bytes);
  }
}

Compiled compile_for(const std::string& model, const std::string& data, const std::string& target, Goal goal) {
  CompileOptions o;
  o.model = model, o.calibrate = data, o.target = target, o.observer = Observer::minmax, o.goal = goal;
  return compile(o);
}

void check_model(const std::string& model, const std::string& data) {
  for (const char* target : {"cortex-m55", "cortex-m4", "cortex-m0plus"})
    for (const Goal goal : {Goal::balanced, Goal::speed, Goal::ram, Goal::size}) {
      CAPTURE(model);
      CAPTURE(target);
      const Compiled c = compile_for(model, data, target, goal);
      check_plan(c.planned);
      const Program program = Program::from_bytes(c.image);
      Sample in;
      for (const IoInfo& io : program.inputs()) {
        std::vector<uint8_t> bytes(io.bytes);
        for (size_t i = 0; i < bytes.size(); i++) bytes[i] = noise(i, in.size() + 7);
        in.push_back(bytes);
      }
      Sample apart;
      run_apart(c.planned, program, in, apart);
      CHECK(program.run(in) == apart);
      CHECK(c.planned.arena_bytes >= c.planned.lower_bound);
    }
}

// Models beside the project; none are in it but the digits. Where they must be there, absence is a failure.
std::string shared() {
  const char* given = std::getenv("CORTEN_SHARED");
  const std::string folder = given ? given : "../shared";
  if (std::filesystem::exists(folder + "/models")) return folder;
  if (std::getenv("CI")) FAIL("no models at " << folder << "; set CORTEN_SHARED");
  MESSAGE("skipped: no models at " << folder << " (set CORTEN_SHARED)");
  return "";
}

}  // namespace

TEST_CASE("digits: the plan gives what separate buffers give") {
  check_model("examples/digits/digits_cnn.pt2", "examples/digits/calib.npz");
}

TEST_CASE("networks: the plan gives what separate buffers give") {
  const std::string s = shared();
  if (s.empty()) return;
  for (const auto& [model, data] : std::vector<std::pair<std::string, std::string>>{{"mlperf_tiny/kws_dscnn", "kws"},
                                                                                    {"mlperf_tiny/ic_resnet8", "ic"},
                                                                                    {"mlperf_tiny/sww", "sww"},
                                                                                    {"mlperf_tiny/ad_autoencoder", "ad"},
                                                                                    {"zoo/har_cnn1d", "har"},
                                                                                    {"zoo/arm_kws_cnn_s", "arm_kws_cnn_s"},
                                                                                    {"qdq/kws_dscnn", ""},
                                                                                    {"qdq/ic_resnet8", ""}})
    check_model(s + "/models/" + model + ".pt2", data.empty() ? "" : s + "/data/" + data + "_calib.npz");
}

TEST_CASE("a plan in which two live values overlap is found out") {
  const Compiled c = compile_for("examples/digits/digits_cnn.pt2", "examples/digits/calib.npz", "cortex-m4", Goal::balanced);
  int found = 0, tried = 0;
  for (size_t s = 0; s < c.planned.steps.size(); s++)
    for (size_t k = 0; k < c.planned.steps[s].operands.size(); k++)
      for (const int32_t move : {-16, 16, 64}) {
        Planned bad = c.planned;
        Place& p = bad.steps[s].operands[k];
        if (p.constant || int64_t(p.offset) + move < 0) continue;
        p.offset = uint32_t(int64_t(p.offset) + move);
        tried++;
        try {
          check_plan(bad);
        } catch (const std::logic_error&) {
          found++;
        }
      }
  CHECK(tried > 10);
  CHECK(found == tried);  // every operand moved away from where its value is
}
