//===- Limits.cpp - What operators leave out, and what stands in for others
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

static constexpr Row kInstead[] = {
    {"BitShift", "multiply or divide by a power of 2"},
    {"DequantizeLinear", "train the model in floating point, before it is quantised"},
    {"DynamicQuantizeLinear", "train the model in floating point, before it is quantised"},
    {"MatMulInteger", "train the model in floating point, before it is quantised"},
    {"NonMaxSuppression", "choosing boxes has no gradient: end the training graph before it"},
    {"QLinearConv", "train the model in floating point, before it is quantised"},
    {"QLinearMatMul", "train the model in floating point, before it is quantised"},
    {"QuantizeLinear", "train the model in floating point, before it is quantised"},
    {"SequenceConstruct", "keep the tensors apart, or join them with Concat"},
    {"SequenceEmpty", "keep the tensors apart, or join them with Concat"},
    {"SplitToSequence", "Split, whose parts are known"},
    {"StringNormalizer", "turn text into ids before training"},
    {"TfIdfVectorizer", "turn text into ids before training"},
    {"Unique", "its result has a size that depends on the data: compare with every possible value, as OneHot does"},
};

static StringRef textOf(llvm::ArrayRef<Row> rows, StringRef op) {
  const Row *row = llvm::find_if(rows, [&](const Row &entry) { return entry.op == op; });
  return row == rows.end() ? StringRef() : row->text;
}

StringRef dtcc::onnx::limitOf(StringRef op) { return textOf(kLimits, op); }
StringRef dtcc::onnx::insteadOf(StringRef op) { return textOf(kInstead, op); }
