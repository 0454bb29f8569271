//===- tests/unit/onnx/Tiers.cpp - Which node tests count for what
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "tests/unit/onnx/Tiers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace dtcc::test;
using llvm::StringLiteral;
using llvm::StringRef;
using ::onnx::TensorProto;

/// Signals, boxes, sets, optional values and quantised numbers.
static constexpr StringLiteral kNoTier[] = {
    "BlackmanWindow",     "ConvInteger",        "DFT",          "DequantizeLinear", "DynamicQuantizeLinear",
    "HammingWindow",      "HannWindow",         "ImageDecoder", "MatMulInteger",    "MelWeightMatrix",
    "NonMaxSuppression",  "OptionalGetElement", "QLinearConv",  "QLinearMatMul",    "QuantizeLinear",
    "OptionalHasElement", "RoiAlign",           "STFT",         "TfIdfVectorizer",  "Unique",
};

/// Operators that exports of networks and training seldom contain: 66, whose tests are 350.
static constexpr StringLiteral kTierB[] = {
    "Acos",
    "Acosh",
    "AffineGrid",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "Bernoulli",
    "BitCast",
    "BitShift",
    "BitwiseAnd",
    "BitwiseNot",
    "BitwiseOr",
    "BitwiseXor",
    "Celu",
    "CenterCropPad",
    "Col2Im",
    "Compress",
    "Cosh",
    "ConvTranspose",
    "CumProd",
    "DeformConv",
    "DepthToSpace",
    "Det",
    "Einsum",
    "Elu",
    "EyeLike",
    "GRU",
    "GlobalMaxPool",
    "GridSample",
    "HardSigmoid",
    "HardSwish",
    "Hardmax",
    "If",
    "IsInf",
    "IsNaN",
    "LRN",
    "LSTM",
    "Loop",
    "LpPool",
    "LpNormalization",
    "LinearAttention",
    "MaxUnpool",
    "Mish",
    "Mod",
    "NonZero",
    "PRelu",
    "RNN",
    "Resize",
    "Round",
    "Scan",
    "Scatter",
    "ReverseSequence",
    "MeanVarianceNormalization",
    "Selu",
    "Shrink",
    "Sinh",
    "Softsign",
    "SpaceToDepth",
    "Swish",
    "Tan",
    "TensorScatter",
    "Upsample",
    "ThresholdedRelu",
    "CausalConvWithState",
    "ai.onnx.preview.FlexAttention",
};

Tier dtcc::test::tierOf(StringRef op, const ::onnx::ModelProto &model) {
  bool otherIntegers = false, otherTypes = false;
  auto visit = [&](const ::onnx::ValueInfoProto &value) {
    switch (value.type().tensor_type().elem_type()) {
    case TensorProto::FLOAT:
    case TensorProto::FLOAT16:
    case TensorProto::BFLOAT16:
    case TensorProto::DOUBLE:
    case TensorProto::INT32:
    case TensorProto::INT64:
    case TensorProto::BOOL:
      return;
    case TensorProto::INT8:
    case TensorProto::INT16:
    case TensorProto::UINT8:
    case TensorProto::UINT16:
    case TensorProto::UINT32:
    case TensorProto::UINT64:
      otherIntegers = true;
      return;
    default: // strings, eight-bit floats, and what is no tensor
      otherTypes = true;
    }
  };
  for (const auto &value : model.graph().input())
    visit(value);
  for (const auto &value : model.graph().output())
    visit(value);
  if (otherTypes || op.starts_with("ai.onnx.ml.") || llvm::is_contained(kNoTier, op))
    return Tier::None;
  return otherIntegers ? Tier::OtherIntegers : llvm::is_contained(kTierB, op) ? Tier::B : Tier::A;
}

void TierCount::add(Tier tier, bool passed, const std::string &why) {
  Count &count = counts[tier];
  count.all += 1;
  count.passed += passed;
  if (!passed)
    count.refused[why] += 1;
}

static StringRef nameOf(Tier tier) {
  switch (tier) {
  case Tier::A:
    return "tier A";
  case Tier::B:
    return "tier B";
  case Tier::OtherIntegers:
    return "other integers";
  case Tier::None:
    return "no tier";
  }
  return "";
}

std::string TierCount::summary() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::ListSeparator separator;
  for (const auto &[tier, count] : counts)
    stream << StringRef(separator) << nameOf(tier) << " " << count.passed << " of " << count.all;
  return text;
}

std::string TierCount::reasons() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (Tier tier : {Tier::A, Tier::B})
    if (auto count = counts.find(tier); count != counts.end())
      for (const auto &[why, number] : count->second.refused)
        stream << nameOf(tier) << ": " << number << " refused: " << why << "\n";
  return text;
}
