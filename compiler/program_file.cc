#include "compiler/program_file.h"

#include <fmt/format.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>
#include <thread>

#include "compiler/files.h"
#include "compiler/npz.h"
#include "ops/op.h"
#include "runtime/program.h"

namespace corten {

std::vector<uint32_t> torch_index(const IoInfo& io) {
  const size_t rank = io.shape.size();
  std::vector<int64_t> stride(rank, 1), index(rank, 0);
  for (size_t d = rank; d-- > 1;) stride[d - 1] = stride[d] * io.shape[d];
  std::vector<uint32_t> result(size_t(io.elements()));
  int64_t at = 0;
  for (uint32_t& r : result) {
    r = uint32_t(at);
    for (size_t d = rank; d-- > 0;) {  // count up in the device's order
      const size_t t = size_t(io.perm[d]);
      at += stride[t];
      if (++index[d] < io.shape[t]) break;
      at -= stride[t] * index[d];
      index[d] = 0;
    }
  }
  return result;
}

namespace {

void require_size(const IoInfo& io, size_t got, size_t want) {
  if (got != want) throw Error(Code::wrong_inputs, fmt::format("\"{}\" takes {} values, not {}", io.name, want, got));
}

std::string help_of(corten_status status) {
  switch (status) {
    case CORTEN_BAD_MAGIC:
      return "give a model.corten that `corten compile` wrote";
    case CORTEN_BAD_VERSION:
      return "compile the model again with this version of corten";
    case CORTEN_BAD_SIZE:
      return "the file is cut short: copy or compile it again";
    case CORTEN_NO_KERNEL:
      return "the image is from a newer corten: compile the model again with this one";
    default:
      return "the file is damaged: copy or compile it again";
  }
}

IoInfo io_info(std::span<const uint8_t> image, const ImageIo& io) {
  IoInfo r;
  r.name = image_string(image.data(), io.name);
  r.dtype = io.type == uint8_t(IoType::f32) ? DType::f32 : DType::i8;
  for (int d = 0; d < io.rank; d++) r.shape.push_back(io.shape[d]), r.perm.push_back(io.perm[d]);
  r.scale = io.scale, r.zero = io.zero, r.offset = offset_of(io.where), r.bytes = io.bytes;
  return r;
}

}  // namespace

std::vector<uint8_t> to_device(const IoInfo& io, std::span<const float> values) {
  require_size(io, values.size(), size_t(io.elements()));
  const std::vector<uint32_t> index = torch_index(io);
  std::vector<uint8_t> bytes(io.bytes);
  const float inverse = float(1.0 / io.scale);  // as PyTorch computes it: float32, times the reciprocal
  for (size_t i = 0; i < index.size(); i++) {
    const float v = values[index[i]];
    if (io.dtype == DType::f32) {
      memcpy(bytes.data() + 4 * i, &v, 4);
    } else {
      const float q = nearbyintf(v * inverse) + float(io.zero);
      bytes[i] = uint8_t(int8_t(!(q > -128.f) ? -128 : q > 127.f ? 127 : q));  // NaN: lowest
    }
  }
  return bytes;
}

std::vector<Sample> device_samples(const Program& program, const Samples& samples, int64_t most) {
  std::vector<Sample> all(size_t(most < 0 ? samples.count : std::min(most, samples.count)));
  for (size_t s = 0; s < all.size(); s++)
    for (size_t i = 0; i < program.inputs().size(); i++) {
      const IoInfo& in = program.inputs()[i];
      const size_t n = size_t(in.elements());
      all[s].push_back(to_device(in, {samples.inputs[i].data() + s * n, n}));
    }
  return all;
}

std::vector<uint8_t> to_torch_order(const IoInfo& io, std::span<const uint8_t> device) {
  require_size(io, device.size(), io.bytes);
  const std::vector<uint32_t> index = torch_index(io);
  const size_t size = io.dtype == DType::f32 ? 4 : 1;
  std::vector<uint8_t> r(io.bytes);
  for (size_t i = 0; i < index.size(); i++) memcpy(r.data() + index[i] * size, device.data() + i * size, size);
  return r;
}

std::vector<float> dequantised(const IoInfo& io, std::span<const uint8_t> device) {
  const std::vector<uint8_t> bytes = to_torch_order(io, device);
  std::vector<float> r(size_t(io.elements()));
  for (size_t i = 0; i < r.size(); i++) {
    if (io.dtype == DType::f32)
      memcpy(&r[i], bytes.data() + 4 * i, 4);
    else
      r[i] = float(int32_t(int8_t(bytes[i])) - io.zero) * float(io.scale);
  }
  return r;
}

std::shared_ptr<uint8_t[]> aligned_bytes(size_t bytes) {
  void* p = calloc(1, bytes ? bytes : 1);  // on 64-bit hosts malloc gives 16-aligned blocks; zeros cost nothing until touched
  if (!p) throw std::bad_alloc();
  return {static_cast<uint8_t*>(p), free};
}

// One thread's model and arena.
class Program::Runner {
 public:
  explicit Runner(const Program& p) : program_(p), arena_(aligned_bytes(p.arena_bytes_)) {
    const std::span<const KernelEntry> kernels = all_kernels();
    status_ = model_.init(p.image_.get(), p.image_bytes_, kernels.data(), uint32_t(kernels.size()), arena_.get(), p.arena_bytes_);
  }
  corten_status status() const { return status_; }
  Traced trace(const Sample& in) {
    Trace trace = {program_.image_.get(), arena_.get(), {}};
    corten_model& state = model_.state();
    state.tracer_context = &trace;
    state.tracer = [](void* context, const corten_model*, uint32_t step) {
      Trace& t = *static_cast<Trace*>(context);
      const ImageHeader& h = *image_at<ImageHeader>(t.image, 0);
      const ImageStep& s = image_at<ImageStep>(t.image, h.step_table)[step];
      const int last = s.inputs + s.outputs - 1;
      const uint8_t* data = t.arena + offset_of(operand_places(t.image, s)[last]);
      t.written.emplace_back(data, data + operand_sizes(t.image, s)[last]);
    };
    Sample outputs = run(in);
    state.tracer = nullptr;
    return {std::move(trace.written), std::move(outputs)};
  }
  Sample run(const Sample& in) {
    if (in.size() != program_.inputs_.size())
      throw Error(Code::wrong_inputs,
                  fmt::format("{} takes {} inputs, not {}", program_.name_, program_.inputs_.size(), in.size()));
    for (size_t i = 0; i < in.size(); i++) {
      const DeviceTensor t = model_.input(uint32_t(i));
      require_size(program_.inputs_[i], in[i].size(), t.bytes);
      if (t.bytes) memcpy(t.data, in[i].data(), t.bytes);
    }
    model_.run();
    Sample out;
    for (uint32_t i = 0; i < model_.outputs(); i++) {
      const DeviceTensor t = model_.output(i);
      const uint8_t* data = static_cast<const uint8_t*>(t.data);
      out.emplace_back(data, data + t.bytes);
    }
    return out;
  }

 private:
  struct Trace {
    const uint8_t *image, *arena;
    std::vector<std::vector<uint8_t>> written;
  };
  const Program& program_;
  std::shared_ptr<uint8_t[]> arena_;
  Model model_;
  corten_status status_;
};

Program Program::load(const std::string& path) { return from_bytes(read_file(path), path); }

Program Program::from_bytes(std::vector<uint8_t> bytes, std::string source) {
  Program p;
  p.image_bytes_ = bytes.size();
  p.image_ = aligned_bytes(bytes.size());
  if (!bytes.empty()) memcpy(p.image_.get(), bytes.data(), bytes.size());
  if (bytes.size() > 2 && bytes[0] == 'P' && bytes[1] == 'K') {
    Diag d(Code::damaged_image, "this is a zip archive, as a .pt2 is, not a program image", "compile it first: `corten compile`");
    d.subject = source;
    throw Error(d);
  }
  // The first init says what arena it needs, or refuses; the second, in a Runner, must then succeed.
  const std::span<const KernelEntry> kernels = all_kernels();
  Model model;
  const Status status = model.init(p.image_.get(), bytes.size(), kernels.data(), uint32_t(kernels.size()), nullptr, 0);
  if (status != CORTEN_OK && status != CORTEN_ARENA_TOO_SMALL) {
    Diag d(Code::damaged_image);
    d.message = fmt::format("the runtime refuses this image: {}", corten_status_text(status));
    d.help = help_of(status), d.subject = source;
    throw Error(d);
  }
  p.arena_bytes_ = model.arena_needed();
  const ImageHeader& h = *image_at<ImageHeader>(p.image_.get(), 0);
  p.image_bytes_ = h.image_bytes;
  p.name_ = image_string(&h, h.name), p.target_ = image_string(&h, h.target), p.tier_ = Tier(h.tier);
  const ImageIo* io = image_at<ImageIo>(&h, h.io);
  for (int i = 0; i < h.inputs + h.outputs; i++) (i < h.inputs ? p.inputs_ : p.outputs_).push_back(io_info(p.image(), io[i]));
  const ImageStep* steps = image_at<ImageStep>(&h, h.step_table);
  for (int i = 0; i < h.steps; i++) {
    const ImageStep& s = steps[i];
    StepInfo info;
    info.node = image_string(&h, s.node);
    info.kernel = image_string(&h, image_at<ImageKernel>(&h, h.kernel_table)[s.kernel].name);
    info.scratch_bytes = s.scratch_bytes, info.outputs = s.outputs;
    for (int k = 0; k < s.inputs + s.outputs; k++) {
      const uint32_t where = operand_places(&h, s)[k];
      info.operands.push_back({memory_of(where) == uint32_t(Memory::arena), offset_of(where), operand_sizes(&h, s)[k]});
    }
    p.steps_.push_back(std::move(info));
  }
  return p;
}

Traced Program::trace(const Sample& inputs) const { return Runner(*this).trace(inputs); }

Sample Program::run(const Sample& inputs) const { return run_all({inputs}, 1)[0]; }

std::vector<Sample> Program::run_all(const std::vector<Sample>& samples, int threads) const {
  std::vector<Sample> results(samples.size());
  std::atomic<size_t> next{0};
  std::exception_ptr failure;
  std::atomic_flag failed = ATOMIC_FLAG_INIT;
  const auto work = [&] {
    try {
      Runner runner(*this);
      if (runner.status() != CORTEN_OK)
        throw Error(Code::damaged_image, std::string("init: ") + corten_status_text(runner.status()));
      for (size_t i; (i = next++) < samples.size();) results[i] = runner.run(samples[i]);
    } catch (...) {
      if (!failed.test_and_set()) failure = std::current_exception();
      next = samples.size();
    }
  };
  size_t n = threads > 0 ? size_t(threads) : std::max(1u, std::thread::hardware_concurrency());
  n = std::max<size_t>(1, std::min(n, samples.size()));
  std::vector<std::thread> pool;
  for (size_t i = 1; i < n; i++) pool.emplace_back(work);
  work();
  for (std::thread& t : pool) t.join();
  if (failure) std::rethrow_exception(failure);
  return results;
}

}  // namespace corten
