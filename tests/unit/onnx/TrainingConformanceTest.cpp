//===- tests/unit/onnx/TrainingConformanceTest.cpp - ONNX's own training tests
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The 121 tests of the pinned onnx package that concern training: losses, batch norm and
// dropout in training form, optimizers, gradients. All of them must pass, those that cannot
// run as they are by the forms of TrainingCase.h.
//
//===----------------------------------------------------------------------===//

#include "tests/unit/onnx/TrainingCase.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::test;

namespace {

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
  void SetUp() override {
    if (!llvm::sys::fs::exists(DTCC_ONNX_TESTS "/node"))
      GTEST_SKIP() << "the onnx package is absent";
  }

  /// Runs `count` node tests, each as it is or by its form.
  void runAll(StringRef prefix, size_t count) {
    dtcc::onnx::RuleTable table;
    std::vector<std::string> folders = foldersOf("node", prefix);
    EXPECT_EQ(folders.size(), count) << prefix.str();
    for (const std::string &folder : folders) {
      std::string name = llvm::sys::path::filename(folder).str(), why;
      ::onnx::ModelProto model;
      ASSERT_TRUE(parse(folder + "/model.onnx", model)) << name;
      const TrainingForm *form = trainingFormOf(name);
      Verdict verdict = form ? form->run(folder, why)
                             : runCase(table, folder, model, DTCC_ONNX_SCRATCH "/training-conformance.onnx", why);
      EXPECT_EQ(verdict, Verdict::Passed) << name << ": " << why;
    }
  }
};

} // namespace

TEST_F(TrainingConformance, SoftmaxCrossEntropyLoss) { runAll("test_sce", 68); }
TEST_F(TrainingConformance, NegativeLogLikelihoodLoss) { runAll("test_nllloss", 36); }
TEST_F(TrainingConformance, BatchNormalization) {
  runAll("test_batchnorm_example_training_mode", 1);
  runAll("test_batchnorm_epsilon_training_mode", 1);
}
TEST_F(TrainingConformance, Dropout) { runAll("test_training_dropout", 6); }
TEST_F(TrainingConformance, Optimizers) {
  runAll("test_adam", 2);
  runAll("test_adagrad", 2);
  runAll("test_momentum", 2);
  runAll("test_nesterov", 1);
}
TEST_F(TrainingConformance, Gradients) {
  std::vector<std::string> folders = foldersOf("simple", "test_gradient_of");
  EXPECT_EQ(folders.size(), 2u);
  for (const std::string &folder : folders) {
    std::string why;
    EXPECT_EQ(runGradient(folder, why), Verdict::Passed) << folder << ": " << why;
  }
}
