//===- tests/unit/onnx/TrainingCase.h - A node test as a step of training
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Some tests of the onnx package cannot run as they are. Optimizers and gradients are tested
// as nodes, and dtcc takes them in training information: each becomes a model with it, whose
// one step the test's expected values describe. Dropout with a rate is tested on NumPy's
// random numbers, which no other implementation draws: its rate, scale and mask are compared.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_UNIT_ONNX_TRAININGCASE_H
#define DTCC_TESTS_UNIT_ONNX_TRAININGCASE_H

#include "tests/unit/onnx/NodeCase.h"

namespace dtcc::test {

/// Runs the test of an optimizer: one step of it on parameters whose gradients are those of the test.
Verdict runOptimizer(const std::string &folder, std::string &why);
/// Runs the test of a dropout over 40 seeds.
Verdict runDropout(const std::string &folder, std::string &why);
/// Runs the test of a Gradient node.
Verdict runGradient(const std::string &folder, std::string &why);

/// How a node test runs that cannot run as it is.
struct TrainingForm {
  /// The form in words, for the report.
  llvm::StringLiteral text;
  Verdict (*run)(const std::string &folder, std::string &why);
};
/// The form of a node test, or null if it runs as it is.
const TrainingForm *trainingFormOf(llvm::StringRef name);

} // namespace dtcc::test

#endif // DTCC_TESTS_UNIT_ONNX_TRAININGCASE_H
