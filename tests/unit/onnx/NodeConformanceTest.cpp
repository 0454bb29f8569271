//===- tests/unit/onnx/NodeConformanceTest.cpp - ONNX's own node tests
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The node tests that the pinned onnx package brings: each model whose operators all
// have rules is imported, evaluated by the reference and compared. A model that the
// importer refuses is counted, not failed: wrong values are what must never happen.
//
// The tests feed shapes, axes and the like as inputs of the run. Here they are made
// initializers first, as exporters write them.
//
//===----------------------------------------------------------------------===//

#include "dialects/AllDialects.h"
#include "frontends/onnx/Import.h"
#include "frontends/onnx/Model.h"
#include "frontends/onnx/Rules.h"
#include "mlir/Pass/PassManager.h"
#include "onnx/onnx-ml.pb.h"
#include "passes/graph/Evaluator.h"
#include "passes/graph/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace dtcc;

/// Tests that are refused for a reason, or whose expected values hold something this comparison cannot: by prefix.
static constexpr StringRef kExceptions[] = {
    "test_training_dropout", // NumPy's random numbers
    "test_bernoulli",        // and here
};

template <typename Message> static bool parse(const std::string &path, Message &message) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  return buffer && message.ParseFromArray((*buffer)->getBufferStart(), int((*buffer)->getBufferSize()));
}

static bool isClose(const HostTensor &actual, const HostTensor &expected) {
  if (actual.shape != expected.shape || actual.ints != expected.ints)
    return false;
  double tolerance = expected.elementType.isF16() || expected.elementType.isBF16() ? 1e-2 : 1e-4;
  for (auto [a, b] : llvm::zip_equal(actual.floats, expected.floats)) {
    bool same = (std::isnan(a) && std::isnan(b)) || a == b;
    if (!same && !(std::abs(a - b) <= tolerance * (1 + std::abs(b))))
      return false;
  }
  return true;
}

enum class Verdict { Passed, Refused, Wrong };

/// Whether a rule reads the input as numbers, which must be known.
static bool isNumber(const dtcc::onnx::RuleTable &table, const ::onnx::ModelProto &model, const std::string &input) {
  for (const ::onnx::NodeProto &node : model.graph().node())
    for (int i = 0; i < node.input_size(); ++i)
      if (node.input(i) == input && table.find(node.op_type(), model.opset_import(0).version())->readsNumbers(i))
        return true;
  return false;
}

static Verdict runCase(const dtcc::onnx::RuleTable &table, const std::string &folder, ::onnx::ModelProto model,
                       const std::string &file, std::string &why) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      why = diagnostic.str();
    return success();
  });
  // Small integers and scalars become initializers; the others stay inputs.
  std::vector<::onnx::TensorProto> inputs(model.graph().input_size());
  for (int i = 0; i < model.graph().input_size(); ++i) {
    std::string path = folder + "/test_data_set_0/input_" + std::to_string(i) + ".pb";
    ::onnx::TensorProto tensor;
    if (!parse(path, tensor)) {
      why = "not a tensor";
      return Verdict::Refused;
    }
    bool floats = tensor.data_type() == ::onnx::TensorProto::FLOAT ||
                  tensor.data_type() == ::onnx::TensorProto::DOUBLE ||
                  tensor.data_type() == ::onnx::TensorProto::FLOAT16;
    tensor.set_name(model.graph().input(i).name());
    if (tensor.dims_size() == 0 || (tensor.dims_size() == 1 && !floats && tensor.dims(0) <= 16) ||
        isNumber(table, model, tensor.name()))
      *model.mutable_graph()->add_initializer() = tensor;
    inputs[i] = tensor;
  }
  {
    std::error_code error;
    llvm::raw_fd_ostream stream(file, error);
    stream << model.SerializeAsString();
  }
  dtcc::onnx::ImportOptions options;
  options.forceTraining = false;
  FailureOr<OwningOpRef<ModuleOp>> module = dtcc::onnx::importOnnx(&context, file, options);
  if (failed(module))
    return Verdict::Refused;
  auto function = *(*module)->getOps<func::FuncOp>().begin();
  dtcc::onnx::Model decoder(&context, file, "", {}, false);
  SmallVector<HostTensor> arguments;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    for (const ::onnx::TensorProto &tensor : inputs)
      if (tensor.name() == function.getArgAttrOfType<StringAttr>(i, "graph.name").str()) {
        FailureOr<dtcc::onnx::StoredTensor> stored = decoder.decode(tensor, UnknownLoc::get(&context));
        if (failed(stored))
          return Verdict::Refused;
        arguments.push_back(stored->toHost());
      }
  for (bool factored : {false, true}) {
    if (factored) {
      PassManager passes(&context);
      passes.addPass(graph::createGraphFactorDimensions());
      if (failed(passes.run(**module))) {
        why = "factoring fails: " + why;
        return Verdict::Wrong;
      }
    }
    graph::Evaluator evaluator(**module, /*round=*/true);
    if (failed(evaluator.initialize()))
      return Verdict::Wrong;
    FailureOr<SmallVector<HostTensor>> results = evaluator.run(function, arguments);
    if (failed(results))
      return Verdict::Wrong;
    if (function.getName() == "loss") {
      (*results)[0].floats[0] /= (*results)[1].floats[0];
      results->pop_back();
    }
    for (auto [i, actual] : llvm::enumerate(*results)) {
      ::onnx::TensorProto tensor;
      if (!parse(folder + "/test_data_set_0/output_" + std::to_string(i) + ".pb", tensor))
        return Verdict::Refused;
      FailureOr<dtcc::onnx::StoredTensor> stored = decoder.decode(tensor, UnknownLoc::get(&context));
      if (failed(stored))
        return Verdict::Refused;
      HostTensor expected = stored->toHost();
      // A loss is a scalar of the contract, whatever the rank of the output.
      if (function.getName() == "loss")
        expected.shape.clear();
      if (!isClose(actual, expected)) {
        why = (Twine("output ") + Twine(i) + (factored ? " after factoring" : "") + " differs").str();
        return Verdict::Wrong;
      }
    }
  }
  return Verdict::Passed;
}

TEST(NodeConformance, EveryModelIsRightOrRefused) {
  std::string root = DTCC_ONNX_NODE_TESTS;
  if (!llvm::sys::fs::exists(root))
    GTEST_SKIP() << "no " << root;
  dtcc::onnx::RuleTable table;
  int passed = 0, refused = 0;
  std::error_code error;
  std::vector<std::string> folders;
  for (llvm::sys::fs::directory_iterator entry(root, error), end; entry != end && !error; entry.increment(error))
    folders.push_back(entry->path());
  llvm::sort(folders);
  for (const std::string &folder : folders) {
    StringRef name = llvm::sys::path::filename(folder);
    ::onnx::ModelProto model;
    if (llvm::any_of(kExceptions, [&](StringRef prefix) { return name.starts_with(prefix); }) ||
        !parse(folder + "/model.onnx", model) || model.opset_import_size() != 1 || model.functions_size() > 0)
      continue;
    int64_t opset = model.opset_import(0).version();
    bool known = llvm::all_of(model.graph().node(), [&](const ::onnx::NodeProto &node) {
      return node.domain().empty() && table.find(node.op_type(), opset);
    });
    if (!known)
      continue;
    std::string why;
    switch (runCase(table, folder, model, "node-conformance.onnx", why)) {
    case Verdict::Passed:
      ++passed;
      break;
    case Verdict::Refused:
      ++refused;
      break;
    case Verdict::Wrong:
      ADD_FAILURE() << name.str() << ": " << why;
    }
  }
  RecordProperty("passed", passed);
  RecordProperty("refused", refused);
  EXPECT_GE(passed, 970);
}
