//===- Limits.cpp - Unsupported forms of operators, and replacements of operators
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Limits.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

using namespace dtcc::onnx;
using llvm::StringLiteral;
using llvm::StringRef;

namespace {
struct Row {
  StringRef op, text;
};
} // namespace

static constexpr Row kLimits[] = {
    {"ArgMax", "integers: at most 4,096 along the axis"},
    {"ArgMin", "integers: at most 4,096 along the axis"},
    {"Attention", "nonpad_kv_seqlen beside is_causal or past keys"},
    {"BatchNormalization", "statistics of each channel; the outputs of saved statistics"},
    {"Cast", "to floats, booleans and integers but uint64"},
    {"Col2Im", "blocks of at most 1,024 cells"},
    {"Compress", "the condition must be known"},
    {"Conv", "1 to 3 spatial dimensions"},
    {"ConvTranspose", "1 to 3 spatial dimensions"},
    {"DFT", "at most 2,048 cells"},
    {"GlobalLpPool", "p = 2"},
    {"GRU", "Sigmoid, Tanh and Relu; at most 1,024 steps if unusual among these or not f32; whole sequences"},
    {"GridSample", "1 to 3 spatial dimensions"},
    {"If", "the condition must be known"},
    {"LRN", "at most 4,096 channels"},
    {"LSTM",
     "Sigmoid, Tanh and Relu; at most 1,024 steps if unusual among these or not f32; whole sequences; no peepholes"},
    {"LayerNormalization", "stash_type 1"},
    {"LinearAttention", "at most 1,024 steps, written out"},
    {"Loop", "the number of steps must be known; they are written out, 65,536 nodes a model"},
    {"MaxPool", "indices of windows of more than 256 cells"},
    {"NonZero", "the cells must be known"},
    {"RMSNormalization", "stash_type 1"},
    {"RNN", "Sigmoid, Tanh and Relu; at most 1,024 steps if unusual among these or not f32; whole sequences"},
    {"Resize", "at most 16,777,216 pairs of old and new cells an axis"},
    {"RoiAlign", "averages of a known number of samples: mode avg, sampling_ratio of at least 1"},
    {"STFT", "frames of at most 2,048 cells"},
    {"Scan", "written out, 65,536 nodes a model"},
    {"ScatterElements", "where only the data tell the places: 16,777,216 pairs of a cell and a place"},
    {"ScatterND", "where only the data tell the places: 16,777,216 pairs of a point and a row"},
    {"Split", "sizes that only the data tell: parts that are multiplied by matrices, activated and joined again"},
    {"TopK", "integers: at most 4,096 along the axis"},
};

static constexpr StringLiteral kQuantised = "train the model in floating point, before it is quantised";
static constexpr StringLiteral kApart = "keep the tensors apart, or join them with Concat";
static constexpr StringLiteral kWords = "turn text into ids before training";
static constexpr StringLiteral kPresent = "the tensor itself: whether there is one is known when the model is exported";

static constexpr Replacement kReplacements[] = {
    {"BitCast", "Cast where the value is meant; where the bits are, store the tensor in the other type"},
    {"BitShift", "multiply or divide by a power of 2"},
    {"ConcatFromSequence", "Concat of the tensors themselves"},
    {"ConvInteger", kQuantised},
    {"DeformConv", "for each cell of the kernel a GridSample at its offsets, then a Conv with a kernel of one cell "
                   "over their Concat"},
    {"DequantizeLinear", kQuantised},
    {"Det", "the sum of products that defines it, by Slice, Mul, Add and Sub: dtcc has no factorisation of matrices"},
    {"DynamicQuantizeLinear", kQuantised},
    {"ImageDecoder", "decode images before training, and give them as arrays"},
    {"MatMulInteger", kQuantised},
    {"MaxRoiPool", "RoiAlign with mode avg"},
    {"NonMaxSuppression", "choosing boxes has no gradient: end the training graph before it"},
    {"Optional", kPresent},
    {"OptionalGetElement", kPresent},
    {"OptionalHasElement", kPresent},
    {"QLinearConv", kQuantised},
    {"QLinearMatMul", kQuantised},
    {"QuantizeLinear", kQuantised},
    {"RegexFullMatch", kWords},
    {"SequenceAt", kApart},
    {"SequenceConstruct", kApart},
    {"SequenceEmpty", kApart},
    {"SequenceErase", kApart},
    {"SequenceInsert", kApart},
    {"SequenceLength", kApart},
    {"SequenceMap", "the nodes of its body for each tensor, or a Scan over tensors that are joined"},
    {"SplitToSequence", "Split, whose parts are known"},
    {"StringConcat", kWords},
    {"StringNormalizer", kWords},
    {"StringSplit", kWords},
    {"TensorScatter",
     "whole sequences instead of a cache, which serves inference; or ScatterElements where rows are overwritten"},
    {"TfIdfVectorizer", kWords},
    {"Unique", "its result has a size that depends on the data: compare with every possible value, as OneHot does"},
    {"ai.onnx.ml",
     "it has no gradient: prepare features before training, and train trees and support vectors elsewhere"},
    {"ai.onnx.ml.ArrayFeatureExtractor", "Gather"},
    {"ai.onnx.ml.Binarizer", "Greater, then Cast"},
    {"ai.onnx.ml.FeatureVectorizer", "Concat"},
    {"ai.onnx.ml.Imputer", "Where, by IsNaN or Equal"},
    {"ai.onnx.ml.LinearClassifier", "Gemm, whose scores --loss=cross_entropy takes"},
    {"ai.onnx.ml.LinearRegressor", "Gemm"},
    {"ai.onnx.ml.Normalizer", "LpNormalization"},
    {"ai.onnx.ml.OneHotEncoder", "OneHot"},
    {"ai.onnx.ml.Scaler", "Sub, then Mul"},
    {"ai.onnx.preview.FlexAttention", "Attention, whose attn_mask is added to its scores"},
    {"ai.onnx.preview.training",
     "leave it out: dtcc makes gradients and the optimizer itself; a file may tell its own as training_info"},
    {"com.microsoft", "save the model before ONNX Runtime optimises it, in standard operators"},
};

StringRef dtcc::onnx::limitOf(StringRef op) {
  const Row *row = llvm::find_if(kLimits, [&](const Row &entry) { return entry.op == op; });
  return row == std::end(kLimits) ? StringRef() : row->text;
}

llvm::ArrayRef<Replacement> dtcc::onnx::replacements() { return kReplacements; }

Replacement dtcc::onnx::replacementOf(StringRef domain, StringRef op) {
  std::string own = domain.empty() ? op.str() : (domain + "." + op).str();
  for (StringRef name : {StringRef(own), domain})
    if (const Replacement *row = llvm::find_if(kReplacements, [&](const Replacement &row) { return row.name == name; });
        row != std::end(kReplacements))
      return *row;
  if (domain.empty())
    return {op, ""};
  return {domain, "a function of the file may define it by operators that dtcc reads"};
}
