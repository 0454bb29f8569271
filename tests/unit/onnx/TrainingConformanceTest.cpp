//===- tests/unit/onnx/TrainingConformanceTest.cpp - ONNX's own training tests
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The 121 tests of the pinned onnx package that concern training: losses, batch norm and
// dropout in training form, optimizers, gradients. All of them must pass, but for those
// that are named with a reason.
//
// Optimizers and gradients are tested as nodes; dtcc takes them in training information.
// So each becomes a model with it: the test's node trains, with one step, parameters
// whose gradients are those of the test.
//
//===----------------------------------------------------------------------===//

#include "dialects/AllDialects.h"
#include "dialects/graph/Graph.h"
#include "frontends/onnx/Import.h"
#include "mlir/Pass/PassManager.h"
#include "passes/graph/Evaluator.h"
#include "passes/graph/Passes.h"
#include "tests/unit/onnx/NodeCase.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::test;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

namespace {

constexpr StringLiteral kTraining = "ai.onnx.preview.training";

/// Tests whose expected values no implementation but the one that made them can give.
struct Exception {
  StringRef name, reason;
};
constexpr Exception kExceptions[] = {
    {"test_training_dropout", "the mask is that of NumPy's random numbers; its rate and its scale are tested instead"},
    {"test_training_dropout_mask", "likewise"},
    {"test_training_dropout_default", "likewise"},
    {"test_training_dropout_default_mask", "likewise"},
};

/// Folders below `part` whose names start with `prefix`.
std::vector<std::string> foldersOf(StringRef part, StringRef prefix) {
  std::vector<std::string> folders;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator entry((DTCC_ONNX_TESTS "/" + part).str(), error), end; entry != end && !error;
       entry.increment(error))
    if (llvm::sys::path::filename(entry->path()).starts_with(prefix))
      folders.push_back(entry->path());
  llvm::sort(folders);
  return folders;
}

class TrainingConformance : public testing::Test {
protected:
  TrainingConformance() : context(makeRegistry(), MLIRContext::Threading::DISABLED) {}
  void SetUp() override {
    if (!llvm::sys::fs::exists(DTCC_ONNX_TESTS "/node"))
      GTEST_SKIP() << "the onnx package is absent";
  }
  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  /// Runs node tests that are models as they are.
  void runAll(StringRef prefix, size_t count) {
    dtcc::onnx::RuleTable table;
    std::vector<std::string> folders = foldersOf("node", prefix);
    EXPECT_EQ(folders.size(), count) << prefix.str();
    for (const std::string &folder : folders) {
      std::string name = llvm::sys::path::filename(folder).str(), why;
      if (llvm::any_of(kExceptions, [&](const Exception &exception) { return exception.name == name; }))
        continue;
      ModelProto model;
      ASSERT_TRUE(parse(folder + "/model.onnx", model)) << name;
      EXPECT_EQ(runCase(table, folder, model, "training-conformance.onnx", why), Verdict::Passed)
          << name << ": " << why;
    }
  }

  OwningOpRef<ModuleOp> import(const ModelProto &model) {
    writeModel(model, "training-step.onnx");
    dtcc::onnx::ImportOptions options;
    options.forceTraining = false;
    FailureOr<OwningOpRef<ModuleOp>> module = dtcc::onnx::importOnnx(&context, "training-step.onnx", options);
    return succeeded(module) ? std::move(*module) : nullptr;
  }

  /// A step of the model's own training.
  std::unique_ptr<graph::Evaluator> train(ModuleOp module) {
    PassManager passes(&context);
    passes.addPass(graph::createGraphFactorDimensions());
    passes.addPass(graph::createGraphDifferentiate());
    auto evaluator = std::make_unique<graph::Evaluator>(module, /*round=*/true);
    if (failed(passes.run(module)) || failed(evaluator->initialize()) ||
        failed(evaluator->run(module.lookupSymbol<func::FuncOp>("step"), {})))
      return nullptr;
    return evaluator;
  }

  void expectOutput(const std::string &folder, int i, HostTensor actual) {
    std::optional<TensorProto> tensor = readTensor(folder, "output", i);
    ASSERT_TRUE(tensor.has_value()) << folder;
    FailureOr<HostTensor> expected = cellsOf(*tensor, context);
    ASSERT_TRUE(succeeded(expected));
    actual.shape = expected->shape;
    ASSERT_EQ(actual.floats.size(), expected->floats.size());
    for (auto [a, b] : llvm::zip_equal(actual.floats, expected->floats))
      EXPECT_NEAR(a, b, 2e-6 * (1 + std::abs(b))) << folder << " output " << i;
  }

  MLIRContext context;
};

NodeProto &addNode(::onnx::GraphProto &graph, StringRef op, ArrayRef<std::string> inputs, const std::string &output) {
  NodeProto &node = *graph.add_node();
  node.set_op_type(op.str());
  node.set_name(output);
  for (const std::string &input : inputs)
    node.add_input(input);
  node.add_output(output);
  return node;
}

::onnx::AttributeProto &addAttribute(NodeProto &node, const char *name, ::onnx::AttributeProto::AttributeType type) {
  ::onnx::AttributeProto &attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

/// The Gradient of `y` by `xs`, which makes a value `dx` of each x.
void addGradient(::onnx::GraphProto &graph, ArrayRef<std::string> xs, const std::string &y) {
  NodeProto &node = addNode(graph, "Gradient", xs, "d" + xs.front());
  node.set_domain(kTraining.str());
  auto &names = addAttribute(node, "xs", ::onnx::AttributeProto::STRINGS);
  for (const std::string &x : xs)
    names.add_strings(x);
  for (const std::string &x : xs.drop_front())
    node.add_output("d" + x);
  addAttribute(node, "y", ::onnx::AttributeProto::STRING).set_s(y);
}

void addTensor(::onnx::GraphProto &graph, const std::string &folder, int i, const std::string &name) {
  std::optional<TensorProto> tensor = readTensor(folder, "input", i);
  ASSERT_TRUE(tensor.has_value()) << folder;
  tensor->set_name(name);
  *graph.add_initializer() = *tensor;
}

void addNumber(::onnx::GraphProto &graph, const std::string &name, float value) {
  TensorProto &tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(TensorProto::FLOAT);
  tensor.add_float_data(value);
}

void addBinding(::onnx::TrainingInfoProto &info, const std::string &key, const std::string &value) {
  auto &binding = *info.add_update_binding();
  binding.set_key(key);
  binding.set_value(value);
}

ModelProto emptyModel() {
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

} // namespace

TEST_F(TrainingConformance, SoftmaxCrossEntropyLoss) { runAll("test_sce", 68); }
TEST_F(TrainingConformance, NegativeLogLikelihoodLoss) { runAll("test_nllloss", 36); }
TEST_F(TrainingConformance, BatchNormalization) {
  runAll("test_batchnorm_example_training_mode", 1);
  runAll("test_batchnorm_epsilon_training_mode", 1);
}
TEST_F(TrainingConformance, DropoutWithoutRandomNumbers) { runAll("test_training_dropout", 6); }

/// Tests the dropout cases that kExceptions takes out of the comparison: each cell is 0 or scaled, about as many are
/// 0 as the ratio says, and the mask names them.
TEST_F(TrainingConformance, DropoutDropsAndScales) {
  for (const Exception &exception : kExceptions) {
    std::string folder = (DTCC_ONNX_TESTS "/node/" + exception.name).str();
    ModelProto model;
    ASSERT_TRUE(parse(folder + "/model.onnx", model)) << folder;
    FailureOr<HostTensor> x = cellsOf(*readTensor(folder, "input", 0), context);
    FailureOr<HostTensor> ratio = cellsOf(*readTensor(folder, "input", 1), context);
    ASSERT_TRUE(succeeded(x) && succeeded(ratio));
    for (int i : {1, 2})
      addTensor(*model.mutable_graph(), folder, i, model.graph().input(i).name());
    OwningOpRef<ModuleOp> module = import(model);
    ASSERT_TRUE(module) << folder;
    auto function = *module->getOps<func::FuncOp>().begin();
    double rate = ratio->floats[0], scale = 1 / (1 - rate);
    size_t dropped = 0, cells = 0;
    for (uint64_t seed = 0; seed < 40; ++seed) {
      graph::Evaluator evaluator(*module, /*round=*/true, seed);
      ASSERT_TRUE(succeeded(evaluator.initialize()));
      FailureOr<SmallVector<HostTensor>> results = evaluator.run(function, *x);
      ASSERT_TRUE(succeeded(results));
      const HostTensor &y = results->front();
      for (size_t i = 0; i < y.floats.size(); ++i) {
        bool kept = y.floats[i] != 0;
        if (kept) {
          EXPECT_NEAR(y.floats[i], x->floats[i] * scale, 1e-5 * std::abs(x->floats[i] * scale));
        }
        if (results->size() > 1) {
          EXPECT_EQ((*results)[1].ints[i] != 0, kept);
        }
        dropped += !kept;
      }
      cells += y.floats.size();
    }
    // Five deviations of a binomial distribution.
    EXPECT_NEAR(double(dropped), rate * double(cells), 5 * std::sqrt(rate * (1 - rate) * double(cells)))
        << exception.name.str();
  }
}

/// The loss is the sum of X * G: its gradients by the X are the G.
TEST_F(TrainingConformance, Optimizers) {
  size_t count = 0;
  for (StringRef prefix : {"test_adam", "test_adagrad", "test_momentum", "test_nesterov"})
    for (const std::string &folder : foldersOf("node", prefix)) {
      SCOPED_TRACE(folder);
      ++count;
      ModelProto tested, model = emptyModel();
      ASSERT_TRUE(parse(folder + "/model.onnx", tested));
      NodeProto node = tested.graph().node(0);
      ::onnx::TrainingInfoProto &info = *model.add_training_info();
      ::onnx::GraphProto &graph = *model.mutable_graph(), &algorithm = *info.mutable_algorithm();
      for (int i = 0; i < node.input_size(); ++i)
        addTensor(i < 2 ? algorithm : graph, folder, i, node.input(i));
      int slots = node.op_type() == "Adam" ? 2 : 1, size = (node.input_size() - 2) / (2 + slots);
      std::vector<std::string> xs, sums;
      for (int i = 0; i < size; ++i) {
        const std::string &x = node.input(2 + i), &g = node.input(2 + size + i);
        xs.push_back(x);
        sums.push_back("sum" + x);
        addNode(graph, "Mul", {x, g}, "product" + x);
        auto &keep = addAttribute(addNode(graph, "ReduceSum", {"product" + x}, sums.back()), "keepdims",
                                  ::onnx::AttributeProto::INT);
        keep.set_i(0);
      }
      addNode(graph, "Sum", sums, "loss");
      addGradient(algorithm, xs, "loss");
      for (int i = 0; i < size; ++i)
        node.set_input(2 + size + i, "d" + xs[i]);
      *algorithm.add_node() = node;
      addNumber(algorithm, "one", 1);
      algorithm.mutable_initializer(algorithm.initializer_size() - 1)->set_data_type(TensorProto::INT64);
      algorithm.mutable_initializer(algorithm.initializer_size() - 1)->clear_float_data();
      algorithm.mutable_initializer(algorithm.initializer_size() - 1)->add_int64_data(1);
      addNode(algorithm, "Add", {node.input(1), "one"}, "counted");
      addBinding(info, node.input(1), "counted");
      for (int i = 0; i < node.output_size(); ++i)
        addBinding(info, node.input(i < size ? 2 + i : 2 + size + i), node.output(i));

      OwningOpRef<ModuleOp> module = import(model);
      ASSERT_TRUE(module);
      std::unique_ptr<graph::Evaluator> step = train(*module);
      ASSERT_TRUE(step);
      for (int i = 0; i < size; ++i) {
        expectOutput(folder, i, step->states[xs[i]]);
        ASSERT_EQ(int(step->slots[xs[i]].size()), slots);
        for (int k = 0; k < slots; ++k)
          expectOutput(folder, (1 + k) * size + i, step->slots[xs[i]][k]);
      }
    }
  EXPECT_EQ(count, 7u);
}

/// Gradient descent at a rate of 1 moves each parameter by its gradient.
TEST_F(TrainingConformance, Gradients) {
  std::vector<std::string> folders = foldersOf("simple", "test_gradient_of");
  EXPECT_EQ(folders.size(), 2u);
  for (const std::string &folder : folders) {
    SCOPED_TRACE(folder);
    ModelProto tested, model = emptyModel();
    ASSERT_TRUE(parse(folder + "/model.onnx", tested));
    ::onnx::TrainingInfoProto &info = *model.add_training_info();
    ::onnx::GraphProto &graph = *model.mutable_graph(), &algorithm = *info.mutable_algorithm();
    std::vector<std::string> xs;
    for (int i = 0; i < tested.graph().input_size(); ++i) {
      xs.push_back(tested.graph().input(i).name());
      addTensor(graph, folder, i, xs.back());
    }
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
    OwningOpRef<ModuleOp> module = import(model);
    ASSERT_TRUE(module);
    std::unique_ptr<graph::Evaluator> step = train(*module);
    ASSERT_TRUE(step);
    for (size_t i = 0; i < xs.size(); ++i) {
      HostTensor moved = *cellsOf(*readTensor(folder, "input", int(i)), context);
      moved.floats[0] -= step->states[xs[i]].floats[0];
      expectOutput(folder, 1 + int(i), moved);
    }
  }
}
