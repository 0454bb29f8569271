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
//===----------------------------------------------------------------------===//

#include "tests/unit/onnx/NodeCase.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::test;

/// Tests that are refused for a reason, or whose expected values hold something this comparison cannot: by prefix.
static constexpr StringRef kExceptions[] = {
    "test_training_dropout", // NumPy's random numbers
    "test_bernoulli",        // and here
};

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
