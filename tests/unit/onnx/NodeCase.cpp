//===- tests/unit/onnx/NodeCase.cpp - A node test of the onnx package
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/onnx/NodeCase.h"
#include "dialects/AllDialects.h"
#include "frontends/onnx/Import.h"
#include "frontends/onnx/file/Model.h"
#include "mlir/Pass/PassManager.h"
#include "passes/graph/Evaluator.h"
#include "passes/graph/Passes.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::test;

std::optional<::onnx::TensorProto> dtcc::test::readTensor(const std::string &folder, const char *which, int i) {
  ::onnx::TensorProto tensor;
  if (!parse(folder + "/test_data_set_0/" + which + "_" + std::to_string(i) + ".pb", tensor))
    return std::nullopt;
  return tensor;
}

FailureOr<HostTensor> dtcc::test::cellsOf(const ::onnx::TensorProto &tensor, MLIRContext &context) {
  FailureOr<dtcc::onnx::StoredTensor> stored =
      dtcc::onnx::Model(&context, "tensor", "", {}, false).decode(tensor, UnknownLoc::get(&context));
  if (failed(stored))
    return failure();
  return stored->toHost();
}

void dtcc::test::writeModel(const ::onnx::ModelProto &model, const std::string &file) {
  std::error_code error;
  llvm::raw_fd_ostream stream(file, error);
  stream << model.SerializeAsString();
}

bool dtcc::test::isClose(const HostTensor &actual, const HostTensor &expected) {
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

static bool readsNumbers(const dtcc::onnx::RuleTable &table, const ::onnx::ModelProto &model,
                         const ::onnx::NodeProto &node, int i) {
  const dtcc::onnx::RuleEntry *entry = table.find("", node.op_type(), model.opset_import(0).version());
  return entry && entry->readsNumbers(i);
}

/// Whether a rule reads the input as numbers, which must be known.
static bool isNumber(const dtcc::onnx::RuleTable &table, const ::onnx::ModelProto &model, const std::string &input) {
  for (const ::onnx::NodeProto &node : model.graph().node())
    for (int i = 0; i < node.input_size(); ++i)
      if (node.input(i) == input && readsNumbers(table, model, node, i))
        return true;
  return false;
}

Verdict dtcc::test::runCase(const dtcc::onnx::RuleTable &table, const std::string &folder, ::onnx::ModelProto model,
                            const std::string &file, std::string &why) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      why = diagnostic.str();
    return success();
  });
  // Small integers, scalars and tensors without elements become initializers; the others stay inputs.
  std::vector<::onnx::TensorProto> inputs(model.graph().input_size());
  for (int i = 0; i < model.graph().input_size(); ++i) {
    std::optional<::onnx::TensorProto> read = readTensor(folder, "input", i);
    if (!read) {
      why = "not a tensor";
      return Verdict::Refused;
    }
    ::onnx::TensorProto tensor = *read;
    bool floats = tensor.data_type() == ::onnx::TensorProto::FLOAT ||
                  tensor.data_type() == ::onnx::TensorProto::DOUBLE ||
                  tensor.data_type() == ::onnx::TensorProto::FLOAT16;
    tensor.set_name(model.graph().input(i).name());
    // Some models leave the shape to the data.
    auto *type = model.mutable_graph()->mutable_input(i)->mutable_type()->mutable_tensor_type();
    bool sized = type->has_shape() && type->shape().dim_size() == tensor.dims_size();
    for (int d = 0; sized && d < tensor.dims_size(); ++d)
      sized = type->shape().dim(d).dim_value() > 0 || !type->shape().dim(d).dim_param().empty();
    if (!sized) {
      type->clear_shape();
      for (int64_t size : tensor.dims())
        type->mutable_shape()->add_dim()->set_dim_value(size);
      type->mutable_shape();
    }
    if (tensor.dims_size() == 0 || llvm::is_contained(tensor.dims(), 0) ||
        (tensor.dims_size() == 1 && !floats && tensor.dims(0) <= 16) || isNumber(table, model, tensor.name()))
      *model.mutable_graph()->add_initializer() = tensor;
    inputs[i] = tensor;
  }
  writeModel(model, file);
  dtcc::onnx::ImportOptions options;
  options.forceTraining = false;
  FailureOr<OwningOpRef<ModuleOp>> module = dtcc::onnx::importOnnx(&context, file, options);
  if (failed(module))
    return Verdict::Refused;
  auto function = *(*module)->getOps<func::FuncOp>().begin();
  SmallVector<HostTensor> arguments;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    for (const ::onnx::TensorProto &tensor : inputs)
      if (tensor.name() == function.getArgAttrOfType<StringAttr>(i, "graph.name").str()) {
        FailureOr<HostTensor> cells = cellsOf(tensor, context);
        if (failed(cells))
          return Verdict::Refused;
        arguments.push_back(*cells);
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
      std::optional<::onnx::TensorProto> tensor = readTensor(folder, "output", i);
      if (!tensor)
        return Verdict::Refused;
      FailureOr<HostTensor> cells = cellsOf(*tensor, context);
      if (failed(cells))
        return Verdict::Refused;
      HostTensor expected = *cells;
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
