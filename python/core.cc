// corten._core: the compiler for the Python package, which checks and shapes what comes in (python/corten).
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "compiler/budget.h"
#include "compiler/compare.h"
#include "compiler/emit.h"
#include "compiler/explain.h"
#include "compiler/files.h"
#include "compiler/json.h"
#include "compiler/metrics.h"
#include "compiler/pipeline.h"
#include "compiler/program_file.h"
#include "compiler/report.h"
#include "compiler/target.h"
#include "ir/render.h"
#include "python/task.h"
#if __has_include("compiler/report_html.h")
#include "compiler/report_html.h"
#endif

namespace corten::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Json = nlohmann::ordered_json;
using Floats = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;  // samples first
using Labels = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// ---- errors -------------------------------------------------------------------------------------------------------------------

void raise(const std::vector<Diag>& diags) {
  nb::list list;
  for (const Diag& d : diags) list.append(nb::cast(d));
  const nb::object type = nb::module_::import_("corten._errors").attr("CompileError");
  const nb::object error = type.attr("of")(list);
  PyErr_SetObject(type.ptr(), error.ptr());
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& e) {
    raise({e.diag});
  } catch (const Errors& e) {
    raise(e.diags);
  }
}

std::string trimmed(std::string s) {
  while (s.ends_with('\n')) s.pop_back();
  return s;
}

void bind_codes(nb::module_& m) {
  nb::enum_<Code> codes(m, "Code", "What `corten explain` explains.");
  for (const CodeInfo& c : all_codes()) codes.value(c.name.data(), c.code, c.title.data());
  m.def(
      "code_named", [](const std::string& text) { return find_code(text) ? find_code(text)->code : Code::internal; }, "text"_a,
      "the code of this text, as in C0101");
  m.def(
      "render", [](const std::vector<Diag>& diags) { return trimmed(render(diags, Format::full)); }, "diagnostics"_a,
      "as the command shows them, without colour");
}

void bind_diagnostic(nb::module_& m) {
  using Texts = std::vector<std::string>;
  using State = std::tuple<Code, int, Texts, Texts, int>;  // code, severity, texts in the order below, notes, line
  const auto texts = [](auto& d) {
    return std::vector{&d.message,    &d.help,           &d.subject,    &d.node,        &d.aten,
                       &d.where.file, &d.where.function, &d.where.text, &d.where.marks, &d.where.module};
  };
  nb::class_<Diag>(m, "Diagnostic", "One message of the compiler and the place that it is about.")
      .def(
          "__init__",
          [](Diag* d, Code code, std::string message, std::string help, std::string subject) {
            new (d) Diag(code, std::move(message), std::move(help));
            d->subject = std::move(subject);
          },
          "code"_a, "message"_a, "help"_a = "", "subject"_a = "")
      .def_prop_ro(
          "code", [](const Diag& d) { return std::string(info_of(d.code).text); }, "what `corten explain` takes, as in 'C0101'")
      .def_prop_ro(
          "severity", [](const Diag& d) { return std::string(to_text(d.severity)); }, "'error', 'warning' or 'note'")
      .def_rw("message", &Diag::message, "what is wrong")
      .def_rw("help", &Diag::help, "what to do; '' if there is nothing to say")
      .def_rw("notes", &Diag::notes, "what else there is to know, such as costs")
      .def_rw("subject", &Diag::subject, "the file or model that it is about")
      .def_ro("node", &Diag::node, "node of the exported graph, '' if none")
      .def_ro("aten", &Diag::aten, "that node's ATen operator, '' if none")
      .def_prop_ro(
          "file", [](const Diag& d) { return d.where.file; }, "Python file of the model, '' if not known")
      .def_prop_ro(
          "line", [](const Diag& d) { return d.where.line; }, "line in that file, 0 if not known")
      .def_prop_ro(
          "text", [](const Diag& d) { return d.where.text; }, "that line")
      .def_prop_ro(
          "module", [](const Diag& d) { return d.where.module; }, "path of the nn.Module, as in 'layers.0.conv'")
      .def("__str__", [](const Diag& d) { return trimmed(render(std::vector{d}, Format::full)); })
      .def("__repr__", [](const Diag& d) { return "<Diagnostic " + std::string(info_of(d.code).text) + ": " + d.message + ">"; })
      .def("__getstate__",
           [texts](const Diag& d) {
             Texts all;
             for (const std::string* s : texts(d)) all.push_back(*s);
             return State(d.code, int(d.severity), all, d.notes, d.where.line);
           })
      .def("__setstate__", [texts](Diag& d, const State& s) {
        const auto& [code, severity, all, notes, line] = s;
        new (&d) Diag(code);
        d.severity = Severity(severity), d.notes = notes, d.where.line = line;
        const auto to = texts(d);
        for (size_t i = 0; i < std::min(to.size(), all.size()); i++) *to[i] = all[i];
      });
}

// ---- arrays -------------------------------------------------------------------------------------------------------------------

// A copy, in pieces: Ctrl-C ends that of large data too.
std::vector<float> copy_of(const Floats& a) {
  constexpr size_t kPiece = 1 << 18;
  std::vector<float> values;
  values.reserve(a.size());
  for (size_t at = 0; at < a.size(); at += kPiece) {
    values.insert(values.end(), a.data() + at, a.data() + std::min(a.size(), at + kPiece));
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
  return values;
}

std::shared_ptr<Samples> samples_of(const std::vector<Floats>& arrays, const std::optional<Labels>& labels = std::nullopt) {
  auto samples = std::make_shared<Samples>();
  for (const Floats& a : arrays) {
    samples->count = int64_t(a.shape(0));
    samples->inputs.push_back(copy_of(a));
  }
  if (labels) samples->labels.assign(labels->data(), labels->data() + labels->size());
  return samples;
}

nb::object array_of(std::vector<uint8_t> bytes, int64_t count, nb::dlpack::dtype dtype) {
  auto* kept = new std::vector<uint8_t>(std::move(bytes));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<uint8_t>*>(p); });
  const size_t rows = size_t(count), columns = rows ? kept->size() / rows / (dtype.bits / 8) : 0;
  return nb::cast(nb::ndarray<nb::numpy>(kept->data(), {rows, columns}, owner, {}, dtype));
}

template <class T>
nb::object array_of(const std::vector<T>& values, int64_t count) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return array_of(std::move(bytes), count, nb::dtype<T>());
}

// ---- model and compile --------------------------------------------------------------------------------------------------------

// A .pt2, read and checked for operators: what compile will ask for.
struct Model {
  std::string path;
  std::vector<InputSpec> inputs;
  std::vector<std::string> dtypes;
  bool needs_data = false;
};

Model open_model(const std::string& path) {
  return interruptible<Model>([path](Task&) {
    const Graph g = front(path);
    Model m;
    m.path = path, m.needs_data = needs_calibration(g);
    for (ValueId v : g.inputs) m.inputs.push_back({g[v].name, g[v].shape}), m.dtypes.emplace_back(to_text(g[v].dtype));
    return m;
  });
}

struct Settings {
  std::string target, observer, optimize;
  bool float_io, keep_inputs;
};

// Bytes, or a size as the command takes it.
std::optional<uint64_t> limit_of(const nb::object& limit, const char* name) {
  if (limit.is_none()) return {};
  const auto bytes = parse_bytes(nb::cast<std::string>(nb::str(limit)));
  if (!bytes) throw nb::value_error((std::string(name) + " is no size: give bytes, or a text as in \"64K\" or \"1MiB\"").c_str());
  return bytes;
}

CompileOptions options_of(const Model& model, const Settings& s) {
  const std::map<std::string, Goal> goals = {
      {"balanced", Goal::balanced}, {"speed", Goal::speed}, {"ram", Goal::ram}, {"size", Goal::size}};
  CompileOptions o;
  o.model = model.path, o.target = s.target, o.goal = goals.at(s.optimize);
  o.plan.float_io = s.float_io, o.plan.keep_inputs = s.keep_inputs;
  if (s.observer != "auto") o.observer = s.observer == "mse" ? Observer::mse : Observer::minmax;
  return o;
}

using Compilation = std::tuple<Program, std::string, std::vector<Diag>>;

Compilation compile_model(const Model& model, const std::optional<std::vector<Floats>>& data, const std::string& target,
                          const std::string& observer, const std::string& optimize, bool float_io, bool keep_inputs,
                          const nb::object& max_flash, const nb::object& max_ram, nb::object progress) {
  const Budget budget = {limit_of(max_flash, "max_flash"), limit_of(max_ram, "max_ram")};
  CompileOptions o = options_of(model, {target, observer, optimize, float_io, keep_inputs});
  if (data) o.samples = samples_of(*data);
  const std::string& path = model.path;
  return interruptible<Compilation>(
      [o, path, budget](Task& task) mutable {
        o.progress = [&task](int64_t done, int64_t all) { task.progress(done, all); };
        o.check = [&task] { task.check(); };
        const Compiled c = compile(o);
        const Json report = report_json(c, o);
        check_budget(report, c.image, budget);
        return Compilation(Program::from_bytes(c.image, path), json_text(report), c.notes);
      },
      std::move(progress));
}

std::vector<std::tuple<std::string, std::vector<int64_t>, std::string>> list_inputs(const std::string& path) {
  std::vector<std::tuple<std::string, std::vector<int64_t>, std::string>> all;
  for (const Value& v : inputs_of(path)) all.emplace_back(v.name, v.shape, std::string(to_text(v.dtype)));
  return all;
}

std::string explain_model(const std::string& path, const std::optional<std::vector<Floats>>& data, const std::string& target,
                          const std::string& optimize, nb::object progress) {
  CompileOptions o = options_of({path, {}, {}, false}, {target, data ? "auto" : "minmax", optimize, false, false});
  if (data) o.samples = samples_of(*data);
  return interruptible<std::string>(
      [o](Task& task) mutable {
        o.progress = [&task](int64_t done, int64_t all) { task.progress(done, all); };
        o.check = [&task] { task.check(); };
        return json_text(explain(o));
      },
      std::move(progress));
}

// ---- program ------------------------------------------------------------------------------------------------------------------

constexpr size_t kRunAtOnce = 16;  // samples between two checks

using Columns = std::vector<std::vector<uint8_t>>;  // one per output: all samples in PyTorch's order

void append_output(std::vector<uint8_t>& column, const IoInfo& io, const std::vector<uint8_t>& device, bool raw) {
  if (raw) {
    const std::vector<uint8_t> values = to_torch_order(io, device);
    column.insert(column.end(), values.begin(), values.end());
    return;
  }
  const std::vector<float> values = dequantised(io, device);
  const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
  column.insert(column.end(), bytes, bytes + values.size() * sizeof(float));
}

Columns run_samples(const Program& program, const Samples& samples, bool raw, Task& task) {
  const size_t count = size_t(samples.count);
  Columns columns(program.outputs().size());
  for (size_t first = 0; first < count; first += kRunAtOnce) {
    task.progress(int64_t(first), samples.count);
    std::vector<Sample> in(std::min(kRunAtOnce, count - first));
    for (size_t s = 0; s < in.size(); s++)
      for (size_t i = 0; i < program.inputs().size(); i++) {
        const size_t n = size_t(program.inputs()[i].elements());
        in[s].push_back(to_device(program.inputs()[i], {samples.inputs[i].data() + (first + s) * n, n}));
      }
    for (const Sample& out : program.run_all(in))
      for (size_t i = 0; i < out.size(); i++) append_output(columns[i], program.outputs()[i], out[i], raw);
  }
  return columns;
}

std::vector<nb::object> run_program(const Program& program, const std::vector<Floats>& inputs, bool raw) {
  const auto samples = samples_of(inputs);
  Columns columns =
      interruptible<Columns>([program, samples, raw](Task& task) { return run_samples(program, *samples, raw, task); });
  std::vector<nb::object> arrays;
  for (size_t i = 0; i < columns.size(); i++) {
    const bool real = !raw || program.outputs()[i].dtype == DType::f32;
    arrays.push_back(array_of(std::move(columns[i]), samples->count, real ? nb::dtype<float>() : nb::dtype<int8_t>()));
  }
  return arrays;
}

// ---- comparison -----------------------------------------------------------------------------------------------------------

using Board = std::shared_ptr<BoardDump>;
using Stages = std::vector<std::tuple<std::string, std::vector<int64_t>, std::vector<nb::object>>>;  // outputs: (samples, elements)

struct CompareSettings {
  std::string report, quantised;
  std::optional<std::vector<std::string>> metrics;
  std::optional<bool> rank;
  bool keep_outputs = false;
};

std::pair<std::string, Stages> compare_program(const Program& program, const std::string& model, const std::vector<Floats>& inputs,
                                               const std::optional<Labels>& labels, const CompareSettings& s, Board board,
                                               nb::object progress) {
  const auto samples = samples_of(inputs, labels);
  CompareOptions o;
  o.quantised = s.quantised, o.metrics = s.metrics, o.rank = s.rank, o.board = board, o.keep_outputs = s.keep_outputs;
  const std::string report = s.report;
  Comparison c = interruptible<Comparison>(
      [program, model, samples, report, o](Task& task) mutable {
        o.progress = [&task](int64_t done, int64_t all) { task.progress(done, all); };
        return compare(model, program, *samples, report.empty() ? Json() : Json::parse(report), o);
      },
      std::move(progress));
  Stages stages;
  for (const StageOutputs& stage : c.kept) {
    std::vector<nb::object> arrays;
    for (const std::vector<float>& values : stage.values) arrays.push_back(array_of(values, int64_t(stage.samples.size())));
    stages.emplace_back(stage.stage, stage.samples, std::move(arrays));
  }
  return {json_text(to_json(c)), std::move(stages)};
}

std::vector<std::pair<std::string, nb::object>> arrays_of_dump(const BoardDump& dump, const Program& program) {
  std::vector<std::pair<std::string, nb::object>> all;
  for (NpArray& a : dump_arrays(dump, program)) {
    const nb::dlpack::dtype dtype = a.dtype == DType::i64   ? nb::dtype<int64_t>()
                                    : a.dtype == DType::f32 ? nb::dtype<float>()
                                                            : nb::dtype<int8_t>();
    const nb::object flat = array_of(std::move(a.bytes), a.shape[0], dtype);
    all.emplace_back(a.name, flat.attr("reshape")(nb::cast(a.shape)));
  }
  return all;
}

std::string merged_report(const std::string& report, const std::string& bench, const std::string& comparison) {
  Json j = Json::parse(report);
  if (!bench.empty()) merge_bench(j, Json::parse(bench), "Program.bench");
  if (!comparison.empty()) merge_comparison(j, Json::parse(comparison), "Program.compare");
  return json_text(j);
}

void bind_comparison(nb::module_& m) {
  nb::class_<BoardDump>(m, "BoardDump", "Values that a board printed.")
      .def(
          "to_json", [](const BoardDump& d, const Program& p) { return json_text(to_json(d, p)); }, "program"_a)
      .def("arrays", &arrays_of_dump, "program"_a, "names and arrays");
  nb::class_<CompareSettings>(m, "CompareSettings", "What a comparison is asked for.")
      .def(nb::init<>())
      .def_rw("report", &CompareSettings::report)
      .def_rw("quantised", &CompareSettings::quantised)
      .def_rw("metrics", &CompareSettings::metrics, nb::arg().none())
      .def_rw("rank", &CompareSettings::rank, nb::arg().none())
      .def_rw("keep_outputs", &CompareSettings::keep_outputs);
  m.def("check_metrics", &check_metrics, "names"_a);
  m.def("merged_report", &merged_report, "report"_a, "bench"_a, "comparison"_a);
  m.def(
      "decode",
      [](const nb::bytes& log, const Program& p, const std::string& source) {
        return std::make_shared<BoardDump>(decode_trace({log.c_str(), log.size()}, p, source));
      },
      "log"_a, "program"_a, "source"_a);
  m.def(
      "read_dump", [](const std::string& path, const Program& p) { return std::make_shared<BoardDump>(read_dump(path, p)); },
      "path"_a, "program"_a);
}

void save_program(const Program& program, const std::string& folder, const std::string& report) {
  const std::span<const uint8_t> image = program.image();
  std::vector<std::pair<std::string, std::string>> files = {
      {"model.corten", std::string(image.begin(), image.end())}, {"model.h", emit_header(image)}, {"model.cc", emit_source(image)}};
  if (!report.empty()) files.emplace_back("report.json", report);
  write_files(folder, files);
}

void bind_program(nb::module_& m) {
  nb::class_<IoInfo>(m, "Io", "An input or output of a program.")
      .def_ro("name", &IoInfo::name)
      .def_prop_ro("dtype", [](const IoInfo& io) { return io.dtype == DType::f32 ? "float32" : "int8"; })
      .def_ro("shape", &IoInfo::shape)
      .def_ro("scale", &IoInfo::scale)
      .def_ro("zero_point", &IoInfo::zero);
  nb::class_<Program>(m, "Program", "A program image.")
      .def_static("load", &Program::load, "path"_a)
      .def_static(
          "from_bytes",
          [](const nb::bytes& image, std::string source) {
            const auto* first = static_cast<const uint8_t*>(image.data());
            return Program::from_bytes(std::vector<uint8_t>(first, first + image.size()), std::move(source));
          },
          "image"_a, "source"_a = "<image>")
      .def_prop_ro("name", &Program::name)
      .def_prop_ro("target", &Program::target)
      .def_prop_ro("tier", [](const Program& p) { return std::string(to_text(p.tier())); })
      .def_prop_ro("inputs", &Program::inputs)
      .def_prop_ro("outputs", &Program::outputs)
      .def_prop_ro(
          "steps",
          [](const Program& p) {
            std::vector<std::pair<std::string, std::string>> steps;
            for (const StepInfo& s : p.steps()) steps.emplace_back(s.node, s.kernel);
            return steps;
          },
          "node and kernel of each step")
      .def_prop_ro("arena_bytes", &Program::arena_bytes)
      .def_prop_ro("image", [](const Program& p) { return nb::bytes(p.image().data(), p.image().size()); })
      .def("run", &run_program, "inputs"_a, "raw"_a, "inputs: (samples, elements) of each; so are the outputs")
      .def("compare", &compare_program, "model"_a, "inputs"_a, "labels"_a.none(), "settings"_a, "board"_a.none(),
           "progress"_a.none(), "JSON, and of each stage its name, its samples and its outputs if they are kept")
      .def("save", &save_program, "folder"_a, "report"_a);
}

std::vector<std::tuple<std::string, std::string, std::string, std::string>> list_targets() {
  std::vector<std::tuple<std::string, std::string, std::string, std::string>> rows;
  for (const Target& t : all_targets())
    rows.emplace_back(std::string(t.name), std::string(to_text(t.tier)), std::string(t.machine), std::string(t.meaning));
  return rows;
}

std::pair<std::vector<nb::object>, nb::object> samples_from_file(
    const std::string& path, const std::vector<std::pair<std::string, std::vector<int64_t>>>& inputs) {
  std::vector<InputSpec> specs;
  for (const auto& [name, shape] : inputs) specs.push_back({name, shape});
  const Samples samples = load_samples(path, specs);
  std::vector<nb::object> arrays;
  for (const std::vector<float>& values : samples.inputs) arrays.push_back(array_of(values, samples.count));
  return {arrays, samples.labels.empty() ? nb::none() : array_of(samples.labels, int64_t(samples.labels.size()))};
}

std::optional<std::string> html_of(const std::string& report) {
#if __has_include("compiler/report_html.h")
  return report_html(Json::parse(report));
#else
  (void)report;
  return std::nullopt;
#endif
}

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "The compiler. Use the package `corten`, which checks what comes in.";
  nb::register_exception_translator(translate);
  bind_codes(m);
  bind_diagnostic(m);
  nb::class_<Model>(m, "Model", "A .pt2 that was read: its operators are all known.")
      .def_ro("path", &Model::path)
      .def_prop_ro(
          "inputs",
          [](const Model& model) {
            std::vector<std::tuple<std::string, std::vector<int64_t>, std::string>> all;
            for (size_t i = 0; i < model.inputs.size(); i++)
              all.emplace_back(model.inputs[i].name, model.inputs[i].shape, model.dtypes[i]);
            return all;
          },
          "name, shape and type of each")
      .def_ro("needs_data", &Model::needs_data, "some value has no scale yet");
  bind_program(m);
  bind_comparison(m);
  m.def("open_model", &open_model, "path"_a);
  m.def("compile", &compile_model, "model"_a, "data"_a.none(), "target"_a, "observer"_a, "optimize"_a, "float_io"_a,
        "keep_inputs"_a, "max_flash"_a.none(), "max_ram"_a.none(), "progress"_a.none(),
        "the program, its report as JSON, warnings");
  m.def("inputs_of", &list_inputs, "path"_a, "name, shape and type of each input of a .pt2, whatever its operators");
  m.def("explain", &explain_model, "path"_a, "data"_a.none(), "target"_a, "optimize"_a, "progress"_a.none(), "JSON");
  m.def(
      "check_target", [](const std::string& name) { target_named(name); }, "name"_a);
  m.def("targets", &list_targets, "name, kernel tier, emulated board and meaning of each");
  m.def("load_samples", &samples_from_file, "path"_a, "inputs"_a, "arrays of a .npz or .npy for inputs of these names and shapes");
  m.def("report_html", &html_of, "report"_a, "None where this build writes no HTML");
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&join_abandoned));
}

}  // namespace corten::python
