//===- Rules.cpp - How each ONNX operator is imported
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Rules.h"
#include "frontends/onnx/file/Model.h"
#include "onnx/onnx-ml.pb.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

RuleTable::RuleTable() {
  addMathRules(*this);
  addActivationRules(*this);
  addLogicRules(*this);
  addShapeRules(*this);
  addControlRules(*this);
  addMovementRules(*this);
  addIndexingRules(*this);
  addScatterRules(*this);
  addSelectionRules(*this);
  addLinearRules(*this);
  addEinsumRules(*this);
  addWindowRules(*this);
  addConvTransposeRules(*this);
  addResizeRules(*this);
  addSamplingRules(*this);
  addSignalRules(*this);
  addRecurrentRules(*this);
  addReductionRules(*this);
  addNormRules(*this);
  addBatchNormRules(*this);
  addAttentionRules(*this);
  addLinearAttentionRules(*this);
  addLossRules(*this);
  addRandomRules(*this);
  addGradientRules(*this);
  addMicrosoftRules(*this);
}

RuleEntry &RuleTable::alias(StringRef op, std::pair<unsigned, unsigned> inputs, StringRef standard, int64_t version) {
  const RuleEntry &known = *find("", standard, version);
  return rules[op][1] = RuleEntry(inputs, known.rule, known.numbers, version);
}

const RuleEntry *RuleTable::find(StringRef domain, StringRef op, int64_t version) const {
  auto entry = rules.find(domain.empty() || domain == "ai.onnx" ? op.str() : (domain + "." + op).str());
  if (entry == rules.end())
    return nullptr;
  auto after = entry->second.upper_bound(version);
  return after == entry->second.begin() ? nullptr : &std::prev(after)->second;
}

/// The operators whose meaning in set 7, the first that all rules know, dates from an earlier set.
static constexpr std::pair<int64_t, StringLiteral> kEarly[] = {
    {1,
     " ArgMax ArgMin Constant Conv ConvTranspose DepthToSpace Flatten Gather GlobalAveragePool GlobalMaxPool Hardmax "
     "Identity If LRN LogSoftmax Loop LpNormalization MatMul MaxPool Not RandomNormal RandomNormalLike "
     "RandomUniform RandomUniformLike ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean "
     "ReduceMin ReduceProd ReduceSum ReduceSumSquare Shape Size Slice Softmax Softplus Softsign SpaceToDepth "
     "Squeeze TopK Transpose Unsqueeze "},
    {2, " GlobalLpPool LpPool Pad Split "},
    {4, " Concat "},
    {5, " Reshape "},
    {6, " Abs Cast Ceil Clip Elu Exp Floor HardSigmoid InstanceNormalization LeakyRelu Log Max Mean Min Neg Reciprocal "
        "Relu Selu Sigmoid Sqrt Sum Tanh Tile "},
};

/// Whether an operator means in `version`, which is before kFirstSet, what it means in kFirstSet.
static bool meansTheSame(StringRef op, int64_t version) {
  return llvm::any_of(
      kEarly, [&](const auto &row) { return row.first <= version && row.second.contains((" " + op + " ").str()); });
}

const RuleEntry *RuleTable::find(const Model &model, const ::onnx::NodeProto &node) const {
  bool standard = node.domain().empty() || node.domain() == "ai.onnx";
  int64_t version = standard ? model.opset() : model.opset(node.domain());
  if (standard && version < kFirstSet)
    return meansTheSame(node.op_type(), version) ? find("", node.op_type(), kFirstSet) : nullptr;
  return find(node.domain(), node.op_type(), version);
}
