//===- tests/unit/onnx/GoldenLossTest.cpp - Imported models against PyTorch's losses
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first loss of every given model, evaluated by the reference on the imported
// graph and on the factored one. Skipped where the sibling folder of models is absent.
//
//===----------------------------------------------------------------------===//

#include "dialects/AllDialects.h"
#include "frontends/onnx/Import.h"
#include "mlir/Pass/PassManager.h"
#include "passes/graph/Evaluator.h"
#include "passes/graph/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace dtcc;

static const std::string kModels = DTCC_SHARED_MODELS;

/// The first cells of a .npy file in the type of `like`.
static HostTensor readRows(const std::string &path, RankedTensorType like) {
  HostTensor cells(like.getShape(), like.getElementType());
  auto buffer = llvm::MemoryBuffer::getFile(path);
  EXPECT_TRUE(bool(buffer)) << path;
  if (!buffer)
    return cells;
  StringRef bytes = (*buffer)->getBuffer();
  size_t header = 10 + uint8_t(bytes[8]) + 256 * uint8_t(bytes[9]);
  StringRef data = bytes.drop_front(header);
  bool wide = bytes.take_front(header).contains("'<i8'");
  for (int64_t i = 0; i < cells.size(); ++i) {
    if (cells.isFloat()) {
      float cell;
      std::memcpy(&cell, data.data() + 4 * i, 4);
      cells.floats[i] = cell;
    } else {
      int64_t cell = 0;
      std::memcpy(&cell, data.data() + (wide ? 8 : 4) * i, wide ? 8 : 4);
      cells.ints[i] = wide ? cell : int32_t(cell);
    }
  }
  return cells;
}

static double evaluateLoss(ModuleOp module, const std::string &folder) {
  auto function = module.lookupSymbol<func::FuncOp>("loss");
  SmallVector<HostTensor> arguments;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    arguments.push_back(
        readRows(folder + "/data/" + function.getArgAttrOfType<StringAttr>(i, "graph.name").str() + ".npy",
                 cast<RankedTensorType>(function.getArgument(i).getType())));
  graph::Evaluator evaluator(module);
  if (failed(evaluator.initialize()))
    return NAN;
  FailureOr<SmallVector<HostTensor>> results = evaluator.run(function, arguments);
  return failed(results) ? NAN : (*results)[0].floats[0] / (*results)[1].floats[0];
}

struct Case {
  const char *model, *file, *loss;
};
static void PrintTo(const Case &row, std::ostream *out) { *out << row.model << "/" << row.file; }

class GoldenLoss : public testing::TestWithParam<Case> {};

TEST_P(GoldenLoss, FirstStepBeforeAndAfterFactoring) {
  Case row = GetParam();
  std::string folder = kModels + "/" + row.model;
  if (!llvm::sys::fs::exists(folder))
    GTEST_SKIP() << "no " << folder;
  auto buffer = llvm::MemoryBuffer::getFile(folder + "/golden.json");
  ASSERT_TRUE(bool(buffer));
  llvm::Expected<llvm::json::Value> golden = llvm::json::parse((*buffer)->getBuffer());
  ASSERT_TRUE(bool(golden));
  const llvm::json::Object &facts = *golden->getAsObject();
  double expected = facts.getObject("runs")
                        ->begin()
                        ->second.getAsObject()
                        ->getObject("f64")
                        ->getArray("loss")
                        ->front()
                        .getAsNumber()
                        .value();

  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  onnx::ImportOptions options;
  options.bindings.emplace_back("batch", facts.getInteger("batch").value());
  if (auto seq = facts.getInteger("seq"))
    options.bindings.emplace_back("seq", *seq);
  if (*row.loss) {
    std::string error;
    options.loss = onnx::LossSpec::parse(row.loss, error);
    ASSERT_TRUE(options.loss.has_value()) << error;
  }
  FailureOr<OwningOpRef<ModuleOp>> module = onnx::importOnnx(&context, folder + "/" + row.file, options);
  ASSERT_TRUE(succeeded(module));
  double imported = evaluateLoss(**module, folder);
  // The weights and the data are f32; PyTorch's own f64 run starts from the same.
  EXPECT_NEAR(imported, expected, 2e-6 * expected);

  PassManager passes(&context);
  passes.addPass(graph::createGraphFactorDimensions());
  ASSERT_TRUE(succeeded(passes.run(**module)));
  EXPECT_NEAR(evaluateLoss(**module, folder), imported, 1e-12 * expected);
}

INSTANTIATE_TEST_SUITE_P(
    Models, GoldenLoss,
    testing::Values(Case{"mlp", "loss.onnx", ""}, Case{"mlp", "loss_legacy.onnx", ""},
                    Case{"mlp", "forward.onnx", "cross_entropy:logits=linear_1,labels=labels"},
                    Case{"gpt2", "loss.onnx", ""}, Case{"gpt2", "loss_legacy.onnx", ""},
                    Case{"gpt2", "forward.onnx", "cross_entropy:logits=linear,labels=labels,shift=1"},
                    Case{"gpt2", "forward_legacy.onnx", "cross_entropy:logits=logits,labels=labels,shift=1"},
                    Case{"llama", "loss.onnx", ""}, Case{"llama", "loss_opset23.onnx", ""},
                    Case{"llama", "loss_opset24.onnx", ""}, Case{"bert", "loss.onnx", ""},
                    Case{"bert", "loss_opset23.onnx", ""}, Case{"vit", "loss.onnx", ""},
                    Case{"resnet", "loss_train_mode.onnx", ""}, Case{"resnet", "loss.onnx", ""},
                    Case{"resnet", "forward.onnx", "cross_entropy:logits=linear,labels=labels"}));
