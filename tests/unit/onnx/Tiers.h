//===- tests/unit/onnx/Tiers.h - Which node tests count for what
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Divides the node tests of the onnx package by what they are good for. Tier A holds the
// operators of exported models and of training, tier B further ones of tensors of floats,
// integers and booleans. Tests of integers of other sizes are counted apart. No tier has
// strings, sequences, quantised or eight-bit types, signals, boxes and sets.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TESTS_UNIT_ONNX_TIERS_H
#define DTCC_TESTS_UNIT_ONNX_TIERS_H

#include "onnx/onnx-ml.pb.h"
#include "llvm/ADT/StringRef.h"
#include <map>
#include <string>
#include <vector>

namespace dtcc::test {

enum class Tier { A, B, OtherIntegers, None };

/// The tier of a node test of `op` ("domain.op" outside of the default domain), by the types of its model.
Tier tierOf(llvm::StringRef op, const ::onnx::ModelProto &model);

/// How the tests of each tier end: a line a tier, and by the reason how many of each tier are refused.
class TierCount {
public:
  void add(Tier tier, bool passed, const std::string &why);
  /// "tier A 950 of 981, tier B 200 of 350, other integers 80 of 117, of no tier 100 of 317"
  std::string summary() const;
  /// Reasons of the refused tests of the tiers A and B, each with the number of its tests.
  std::string reasons() const;

private:
  struct Count {
    int passed = 0, all = 0;
    std::map<std::string, int> refused;
  };
  std::map<Tier, Count> counts;
};

} // namespace dtcc::test

#endif // DTCC_TESTS_UNIT_ONNX_TIERS_H
