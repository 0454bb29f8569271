//===- tests/unit/onnx/TrainingCase.cpp - A node test as a step of training
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/onnx/TrainingCase.h"
#include "dialects/AllDialects.h"
#include "dialects/graph/Graph.h"
#include "frontends/onnx/Import.h"
#include "mlir/Pass/PassManager.h"
#include "passes/graph/Evaluator.h"
#include "passes/graph/Passes.h"
#include <cmath>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::test;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

static constexpr StringLiteral kTraining = "ai.onnx.preview.training";

static NodeProto &addNode(::onnx::GraphProto &graph, StringRef op, ArrayRef<std::string> inputs,
                          const std::string &output) {
  NodeProto &node = *graph.add_node();
  node.set_op_type(op.str());
  node.set_name(output);
  for (const std::string &input : inputs)
    node.add_input(input);
  node.add_output(output);
  return node;
}

static ::onnx::AttributeProto &addAttribute(NodeProto &node, const char *name,
                                            ::onnx::AttributeProto::AttributeType type) {
  ::onnx::AttributeProto &attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

/// The Gradient of `y` by `xs`, which makes a value `dx` of each x.
static void addGradient(::onnx::GraphProto &graph, ArrayRef<std::string> xs, const std::string &y) {
  NodeProto &node = addNode(graph, "Gradient", xs, "d" + xs.front());
  node.set_domain(kTraining.str());
  auto &names = addAttribute(node, "xs", ::onnx::AttributeProto::STRINGS);
  for (const std::string &x : xs)
    names.add_strings(x);
  for (const std::string &x : xs.drop_front())
    node.add_output("d" + x);
  addAttribute(node, "y", ::onnx::AttributeProto::STRING).set_s(y);
}

static void addTensor(::onnx::GraphProto &graph, const std::string &folder, int i, const std::string &name) {
  std::optional<TensorProto> tensor = readTensor(folder, "input", i);
  if (!tensor)
    return;
  tensor->set_name(name);
  *graph.add_initializer() = *tensor;
}

static void addNumber(::onnx::GraphProto &graph, const std::string &name, float value) {
  TensorProto &tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(TensorProto::FLOAT);
  tensor.add_float_data(value);
}

static void addBinding(::onnx::TrainingInfoProto &info, const std::string &key, const std::string &value) {
  auto &binding = *info.add_update_binding();
  binding.set_key(key);
  binding.set_value(value);
}

static ModelProto emptyModel() {
  ModelProto model;
  model.set_ir_version(10);
  for (auto [domain, version] : {std::pair("", 20), std::pair(kTraining.data(), 1)}) {
    auto &set = *model.add_opset_import();
    set.set_domain(domain);
    set.set_version(version);
  }
  model.mutable_graph()->set_name("graph");
  model.mutable_graph()->add_output()->set_name("loss");
  return model;
}

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registerAllDialects(registry);
  return registry;
}

namespace {
/// One model and what its step makes of its states.
class Run {
public:
  Run(const std::string &folder, std::string &why)
      : folder(folder), why(why), context(makeRegistry(), MLIRContext::Threading::DISABLED),
        handler(&context, [&](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
            why = diagnostic.str();
          return success();
        }) {}

  bool import(const ModelProto &model) {
    writeModel(model, DTCC_ONNX_SCRATCH "/training-step.onnx");
    dtcc::onnx::ImportOptions options;
    options.forceTraining = false;
    FailureOr<OwningOpRef<ModuleOp>> made =
        dtcc::onnx::importOnnx(&context, DTCC_ONNX_SCRATCH "/training-step.onnx", options);
    if (succeeded(made))
      module = std::move(*made);
    return succeeded(made);
  }

  /// Runs a step of the model's own training.
  bool train() {
    PassManager passes(&context);
    passes.addPass(graph::createGraphFactorDimensions());
    passes.addPass(graph::createGraphDifferentiate());
    if (failed(passes.run(*module)))
      return false;
    step = std::make_unique<graph::Evaluator>(*module, /*round=*/true);
    return succeeded(step->initialize()) &&
           succeeded(step->run(module->lookupSymbol<func::FuncOp>("step"), ArrayRef<HostTensor>()));
  }

  std::optional<HostTensor> read(const char *which, int i) {
    std::optional<TensorProto> tensor = readTensor(folder, which, i);
    FailureOr<HostTensor> cells = tensor ? cellsOf(*tensor, context) : FailureOr<HostTensor>(failure());
    return succeeded(cells) ? std::optional(*cells) : std::nullopt;
  }

  /// Whether the cells are those of output `i`, up to the rounding of f32.
  bool isOutput(int i, const HostTensor &actual) {
    std::optional<HostTensor> expected = read("output", i);
    bool same = expected && actual.floats.size() == expected->floats.size();
    for (size_t cell = 0; same && cell < actual.floats.size(); ++cell)
      same = std::abs(actual.floats[cell] - expected->floats[cell]) <= 2e-6 * (1 + std::abs(expected->floats[cell]));
    if (!same)
      why = "output " + std::to_string(i) + " differs";
    return same;
  }

  const std::string &folder;
  std::string &why;
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<graph::Evaluator> step;

private:
  ScopedDiagnosticHandler handler;
};
} // namespace

/// Whether a dropout of `x` drops about as many cells as `rate` says, scales the others, and gives a mask of both.
static bool dropsAndScales(Run &run, const HostTensor &x, double rate) {
  auto function = *run.module->getOps<func::FuncOp>().begin();
  double scale = 1 / (1 - rate);
  size_t dropped = 0, cells = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    graph::Evaluator evaluator(*run.module, /*round=*/true, seed);
    if (failed(evaluator.initialize()))
      return false;
    FailureOr<SmallVector<HostTensor>> results = evaluator.run(function, x);
    if (failed(results))
      return false;
    const HostTensor &y = results->front();
    for (size_t i = 0; i < y.floats.size(); ++i) {
      bool kept = y.floats[i] != 0;
      if (kept && !(std::abs(y.floats[i] - x.floats[i] * scale) <= 1e-5 * std::abs(x.floats[i] * scale))) {
        run.why = "a kept cell is not scaled";
        return false;
      }
      if (results->size() > 1 && ((*results)[1].ints[i] != 0) != kept) {
        run.why = "the mask is another";
        return false;
      }
      dropped += !kept;
    }
    cells += y.floats.size();
  }
  // Five deviations of a binomial distribution.
  double wanted = rate * double(cells), most = 5 * std::sqrt(rate * (1 - rate) * double(cells));
  if (std::abs(double(dropped) - wanted) <= most)
    return true;
  run.why = "dropped " + std::to_string(dropped) + " of " + std::to_string(cells) + " cells";
  return false;
}

Verdict dtcc::test::runDropout(const std::string &folder, std::string &why) {
  Run run(folder, why);
  ModelProto model;
  std::optional<HostTensor> x = run.read("input", 0), ratio = run.read("input", 1);
  if (!parse(folder + "/model.onnx", model) || !x || !ratio)
    return Verdict::Refused;
  for (int i : {1, 2})
    addTensor(*model.mutable_graph(), folder, i, model.graph().input(i).name());
  if (!run.import(model))
    return Verdict::Refused;
  return dropsAndScales(run, *x, ratio->floats[0]) ? Verdict::Passed : Verdict::Wrong;
}

/// Adds the gradients of the sum of X * G by the X, which are the G, so that a step of `node` is the test's.
static ModelProto optimizerModel(const std::string &folder, NodeProto node, ArrayRef<std::string> xs) {
  ModelProto model = emptyModel();
  ::onnx::TrainingInfoProto &info = *model.add_training_info();
  ::onnx::GraphProto &graph = *model.mutable_graph(), &algorithm = *info.mutable_algorithm();
  int size = int(xs.size());
  for (int i = 0; i < node.input_size(); ++i)
    addTensor(i < 2 ? algorithm : graph, folder, i, node.input(i));
  std::vector<std::string> sums;
  for (int i = 0; i < size; ++i) {
    const std::string &x = xs[i], &g = node.input(2 + size + i);
    sums.push_back("sum" + x);
    addNode(graph, "Mul", {x, g}, "product" + x);
    NodeProto &sum = addNode(graph, "ReduceSum", {"product" + x}, sums.back());
    addAttribute(sum, "keepdims", ::onnx::AttributeProto::INT).set_i(0);
  }
  addNode(graph, "Sum", sums, "loss");
  addGradient(algorithm, xs, "loss");
  for (int i = 0; i < size; ++i)
    node.set_input(2 + size + i, "d" + xs[i]);
  *algorithm.add_node() = node;
  TensorProto &one = *algorithm.add_initializer();
  one.set_name("one");
  one.set_data_type(TensorProto::INT64);
  one.add_int64_data(1);
  addNode(algorithm, "Add", {node.input(1), "one"}, "counted");
  addBinding(info, node.input(1), "counted");
  for (int i = 0; i < node.output_size(); ++i)
    addBinding(info, node.input(i < size ? 2 + i : 2 + size + i), node.output(i));
  return model;
}

Verdict dtcc::test::runOptimizer(const std::string &folder, std::string &why) {
  ModelProto tested;
  if (!parse(folder + "/model.onnx", tested))
    return Verdict::Refused;
  const NodeProto &node = tested.graph().node(0);
  int slots = node.op_type() == "Adam" ? 2 : 1, size = (node.input_size() - 2) / (2 + slots);
  std::vector<std::string> xs(node.input().begin() + 2, node.input().begin() + 2 + size);
  Run run(folder, why);
  if (!run.import(optimizerModel(folder, node, xs)) || !run.train())
    return Verdict::Refused;
  for (int i = 0; i < size; ++i) {
    SmallVector<HostTensor> &moments = run.step->slots[xs[i]];
    if (int(moments.size()) != slots || !run.isOutput(i, run.step->states[xs[i]]))
      return Verdict::Wrong;
    for (int k = 0; k < slots; ++k)
      if (!run.isOutput((1 + k) * size + i, moments[k]))
        return Verdict::Wrong;
  }
  return Verdict::Passed;
}

/// Adds a step of gradient descent at a rate of 1, which moves each parameter by its gradient.
static ModelProto descentModel(const std::string &folder, const ModelProto &tested, ArrayRef<std::string> xs) {
  ModelProto model = emptyModel();
  ::onnx::TrainingInfoProto &info = *model.add_training_info();
  ::onnx::GraphProto &graph = *model.mutable_graph(), &algorithm = *info.mutable_algorithm();
  for (auto [i, x] : llvm::enumerate(xs))
    addTensor(graph, folder, int(i), x);
  for (const NodeProto &node : tested.graph().node())
    *(node.op_type() == "Gradient" ? algorithm : graph).add_node() = node;
  NodeProto gradient = algorithm.node(0);
  graph.mutable_output(0)->set_name(tested.graph().output(0).name());
  NodeProto &update = *algorithm.add_node();
  update.set_domain(kTraining.str());
  update.set_op_type("Momentum");
  for (const char *name : {"alpha", "beta", "norm_coefficient"})
    addAttribute(update, name, ::onnx::AttributeProto::FLOAT).set_f(StringRef(name) == "beta" ? 1 : 0);
  addAttribute(update, "mode", ::onnx::AttributeProto::STRING).set_s("standard");
  addNumber(algorithm, "rate", 1);
  addNumber(algorithm, "count", 0);
  update.add_input("rate");
  update.add_input("count");
  for (const std::string &x : xs)
    update.add_input(x);
  for (const std::string &dx : gradient.output())
    update.add_input(dx);
  for (const std::string &x : xs) {
    addNumber(algorithm, "v" + x, 0);
    update.add_input("v" + x);
    update.add_output("new_" + x);
    addBinding(info, x, "new_" + x);
  }
  return model;
}

Verdict dtcc::test::runGradient(const std::string &folder, std::string &why) {
  ModelProto tested;
  if (!parse(folder + "/model.onnx", tested))
    return Verdict::Refused;
  std::vector<std::string> xs;
  for (const auto &input : tested.graph().input())
    xs.push_back(input.name());
  Run run(folder, why);
  if (!run.import(descentModel(folder, tested, xs)) || !run.train())
    return Verdict::Refused;
  for (size_t i = 0; i < xs.size(); ++i) {
    std::optional<HostTensor> moved = run.read("input", int(i));
    if (!moved)
      return Verdict::Refused;
    moved->floats[0] -= run.step->states[xs[i]].floats[0];
    if (!run.isOutput(1 + int(i), *moved))
      return Verdict::Wrong;
  }
  return Verdict::Passed;
}

const TrainingForm *dtcc::test::trainingFormOf(StringRef name) {
  static const TrainingForm optimizer{"a step of training", runOptimizer};
  static const TrainingForm dropout{"a dropout by its rate, scale and mask, as the expected cells are of NumPy's "
                                    "random numbers",
                                    runDropout};
  for (StringRef prefix : {"test_adam", "test_adagrad", "test_momentum", "test_nesterov"})
    if (name.starts_with(prefix))
      return &optimizer;
  if (name.starts_with("test_training_dropout") && !name.contains("zero_ratio"))
    return &dropout;
  return nullptr;
}
