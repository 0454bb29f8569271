//===- Graph.cpp - Operations that the emulated cuDNN computes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/cudnn/Graph.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace dtcc::emulator {

using namespace dnn;

int64_t DnnTensor::span() const {
  int64_t last = 0;
  for (size_t d = 0; d < sizes.size(); ++d)
    last += (sizes[d] - 1) * strides[d];
  return last + 1;
}

Element DnnTensor::element() const {
  return type == kDnnF16    ? Element::F16
         : type == kDnnBf16 ? Element::BF16
         : type == kDnnI32  ? Element::I32
                            : Element::F32;
}

namespace {

using Index = std::array<int64_t, 5>;

/// Dense cells of a tensor, in the order of its sizes.
using Cells = std::vector<float>;

template <typename Fn> void forEach(const Index &sizes, Fn fn) {
  Index i;
  int64_t number = 0;
  for (i[0] = 0; i[0] < sizes[0]; ++i[0])
    for (i[1] = 0; i[1] < sizes[1]; ++i[1])
      for (i[2] = 0; i[2] < sizes[2]; ++i[2])
        for (i[3] = 0; i[3] < sizes[3]; ++i[3])
          for (i[4] = 0; i[4] < sizes[4]; ++i[4])
            fn(i, size_t(number++));
}

int64_t offset(const Index &i, const Index &strides) {
  return i[0] * strides[0] + i[1] * strides[1] + i[2] * strides[2] + i[3] * strides[3] + i[4] * strides[4];
}

/// The dense number of the cell that stands for `i`: dimensions of size 1 are repeated.
size_t repeated(const Index &i, const Index &sizes) {
  int64_t number = 0;
  for (size_t d = 0; d < sizes.size(); ++d)
    number = number * sizes[d] + (sizes[d] == 1 ? 0 : i[d]);
  return size_t(number);
}

/// As a tensor of this type holds it.
float rounded(float x, int type) {
  return type == kDnnF16 ? rt::fromF16(rt::toF16(x)) : type == kDnnBf16 ? rt::fromBF16(rt::toBF16(x)) : x;
}

/// Pointwise modes: how many operands, and what they make.
struct Mode {
  int mode;
  size_t operands;
  float (*apply)(float x, float b, float t);
};
constexpr Mode kModes[] = {
    {kDnnAdd, 2, [](float x, float b, float) { return x + b; }},
    {kDnnSubtract, 2, [](float x, float b, float) { return x - b; }},
    {kDnnMultiply, 2, [](float x, float b, float) { return x * b; }},
    {kDnnDivide, 2, [](float x, float b, float) { return x / b; }},
    {kDnnExp, 1, [](float x, float, float) { return std::exp(x); }},
    {kDnnLog, 1, [](float x, float, float) { return std::log(x); }},
    {kDnnIdentity, 1, [](float x, float, float) { return x; }},
    {kDnnIndex, 1, nullptr},
    {kDnnGreater, 2, [](float x, float b, float) { return x > b ? 1.0f : 0.0f; }},
    {kDnnAtLeast, 2, [](float x, float b, float) { return x >= b ? 1.0f : 0.0f; }},
    {kDnnSelect, 3, [](float x, float b, float t) { return t != 0 ? x : b; }},
};
const Mode *modeOf(int number) {
  const Mode *found =
      std::find_if(std::begin(kModes), std::end(kModes), [&](const Mode &m) { return m.mode == number; });
  return found == std::end(kModes) ? nullptr : found;
}

bool isHalf(int type) { return type == kDnnF16 || type == kDnnBf16; }

std::string pointwiseProblem(const DnnOperation &op) {
  const Mode *mode = modeOf(op.mode);
  if (!mode)
    return "a pointwise mode that the emulator does not know";
  if (op.inputs.size() != mode->operands)
    return "another number of operands than the mode has";
  const bool compares = op.mode == kDnnGreater || op.mode == kDnnAtLeast;
  if (compares != (op.computeType == kDnnBool) || compares != (op.output.type == kDnnBool))
    return "a comparison computes and makes booleans, and nothing else does";
  if (op.mode == kDnnIndex && (op.axis < 0 || op.axis > 3 || op.output.type != kDnnI32))
    return "an index is of one of four dimensions, in i32";
  if (op.mode != kDnnIndex && op.axis != -1)
    return "an axis of what has none";
  if (op.mode == kDnnSelect && op.inputs[2].type != kDnnBool)
    return "a selection by what is no boolean";
  for (const DnnTensor &input : op.inputs)
    for (size_t d = 0; d < input.sizes.size(); ++d)
      if (input.sizes[d] != 1 && input.sizes[d] != op.output.sizes[d])
        return "sizes of a pointwise operation do not fit";
  return {};
}

std::string matmulProblem(const DnnOperation &op) {
  const DnnTensor &a = op.inputs[0], &b = op.inputs[1], &c = op.output;
  if (op.computeType != kDnnF32)
    return "a product that is not computed in f32";
  const bool isScores = a.type == kDnnF32 && a.isVirtual; // rounded by the kernel
  if (!isHalf(b.type) || (a.type != b.type && !isScores))
    return "types of factors that no attention has";
  if (a.sizes[0] != c.sizes[0] || b.sizes[0] != c.sizes[0] || a.sizes[1] != c.sizes[1] || c.sizes[1] % b.sizes[1] ||
      a.sizes[2] != c.sizes[2] || a.sizes[3] != b.sizes[2] || b.sizes[3] != c.sizes[3])
    return "sizes of a product do not fit";
  return {};
}

std::string reductionProblem(const DnnOperation &op) {
  if ((op.mode != kDnnSum && op.mode != kDnnMost) || op.computeType != kDnnF32)
    return "a reduction that the emulator does not know";
  for (size_t d = 0; d < op.output.sizes.size(); ++d)
    if (op.inputs[0].sizes[d] % op.output.sizes[d])
      return "sizes of a reduction do not fit";
  return {};
}

std::string reshapeProblem(const DnnOperation &op) {
  const DnnTensor &x = op.inputs[0], &y = op.output;
  return x.cells() != y.cells() || x.span() != y.span() ? "a reshape to other cells" : "";
}

bool isConvolution(int kind) { return kind == kForward || kind == kDataGrad || kind == kFilterGrad; }

/// x, w and y of a convolution or a gradient of one, one of which is the operation's result.
struct Convolution {
  const DnnTensor &x, &w, &y;

  static Convolution of(const DnnOperation &op) {
    const DnnTensor &a = op.inputs[0], &b = op.inputs[1], &out = op.output;
    return op.kind == kForward    ? Convolution{a, b, out}
           : op.kind == kDataGrad ? Convolution{out, a, b}
                                  : Convolution{a, out, b};
  }
};

std::string convolutionProblem(const DnnOperation &op) {
  const auto [x, w, y] = Convolution::of(op);
  const size_t dimensions = op.windowStrides.size();
  if (op.computeType != kDnnF32)
    return "a convolution that is not computed in f32";
  if (op.inputs[0].type != op.inputs[1].type)
    return "operands of a convolution of two types";
  if (x.rank != dimensions + 2 || w.rank != x.rank || y.rank != x.rank)
    return "tensors of a convolution of another rank than its windows";
  if (x.sizes[0] != y.sizes[0] || x.sizes[1] % w.sizes[1] || w.sizes[0] % (x.sizes[1] / w.sizes[1]) ||
      w.sizes[0] != y.sizes[1])
    return "channels of a convolution do not fit";
  for (size_t d = 0; d < dimensions; ++d) {
    const int64_t free = x.sizes[d + 2] + op.before[d] + op.after[d] - (w.sizes[d + 2] - 1) * op.dilations[d] - 1;
    if (free < 0 || free / op.windowStrides[d] + 1 != y.sizes[d + 2])
      return "sizes of a convolution do not fit";
  }
  return {};
}

struct Kind {
  int descriptor;
  std::string (*problem)(const DnnOperation &op);
  void (*run)(const DnnOperation &op, const std::vector<const Cells *> &in, Cells &out);
};

void runPointwise(const DnnOperation &op, const std::vector<const Cells *> &in, Cells &out) {
  const Mode &mode = *modeOf(op.mode);
  forEach(op.output.sizes, [&](const Index &i, size_t number) {
    if (op.mode == kDnnIndex)
      return void(out[number] = float(i[size_t(op.axis)]));
    float operands[3] = {};
    for (size_t o = 0; o < in.size(); ++o)
      operands[o] = (*in[o])[repeated(i, op.inputs[o].sizes)];
    out[number] = mode.apply(operands[0], operands[1], operands[2]);
  });
}

void runMatmul(const DnnOperation &op, const std::vector<const Cells *> &in, Cells &out) {
  const DnnTensor &b = op.inputs[1], &c = op.output;
  const int64_t m = c.sizes[2], n = c.sizes[3], k = b.sizes[2], shared = c.sizes[1] / b.sizes[1];
  std::fill(out.begin(), out.end(), 0.0f);
  for (int64_t head = 0; head < c.sizes[0] * c.sizes[1]; ++head) {
    const float *left = &(*in[0])[size_t(head * m * k)], *right = &(*in[1])[size_t(head / shared * k * n)];
    for (int64_t i = 0; i < m; ++i)
      for (int64_t l = 0; l < k; ++l) {
        const float factor = rounded(left[i * k + l], b.type);
        for (int64_t j = 0; j < n; ++j)
          out[size_t((head * m + i) * n + j)] += factor * right[l * n + j];
      }
  }
}

void runReduction(const DnnOperation &op, const std::vector<const Cells *> &in, Cells &out) {
  const Index &from = op.inputs[0].sizes, &to = op.output.sizes;
  std::fill(out.begin(), out.end(), op.mode == kDnnMost ? -std::numeric_limits<float>::infinity() : 0.0f);
  forEach(from, [&](const Index &i, size_t number) {
    size_t at = 0;
    for (size_t d = 0; d < to.size(); ++d)
      at = at * size_t(to[d]) + size_t(i[d] / (from[d] / to[d]));
    const float x = (*in[0])[number];
    out[at] = op.mode == kDnnMost ? std::max(out[at], x) : out[at] + x;
  });
}

void runReshape(const DnnOperation &op, const std::vector<const Cells *> &in, Cells &out) {
  Cells flat(size_t(op.inputs[0].span()));
  forEach(op.inputs[0].sizes,
          [&](const Index &i, size_t number) { flat[size_t(offset(i, op.inputs[0].strides))] = (*in[0])[number]; });
  forEach(op.output.sizes,
          [&](const Index &i, size_t number) { out[number] = flat[size_t(offset(i, op.output.strides))]; });
}

void runConvolution(const DnnOperation &op, const std::vector<const Cells *> &in, Cells &out) {
  const auto [x, w, y] = Convolution::of(op);
  const int64_t groups = x.sizes[1] / w.sizes[1], outputs = w.sizes[0] / groups;
  std::fill(out.begin(), out.end(), 0.0f);
  forEach(y.sizes, [&](const Index &to, size_t yNumber) {
    Index window = w.sizes;
    window[0] = 1;
    forEach(window, [&](const Index &tap, size_t) {
      const Index kernel = {to[1], tap[1], tap[2], tap[3], tap[4]};
      Index from = {to[0], to[1] / outputs * w.sizes[1] + tap[1], to[2], to[3], to[4]};
      for (size_t d = 0; d < op.windowStrides.size(); ++d) {
        from[d + 2] = to[d + 2] * op.windowStrides[d] + tap[d + 2] * op.dilations[d] - op.before[d];
        if (from[d + 2] < 0 || from[d + 2] >= x.sizes[d + 2])
          return; // padding
      }
      const size_t xNumber = repeated(from, x.sizes), wNumber = repeated(kernel, w.sizes);
      if (op.kind == kForward)
        out[yNumber] += (*in[0])[xNumber] * (*in[1])[wNumber];
      else if (op.kind == kDataGrad)
        out[xNumber] += (*in[0])[wNumber] * (*in[1])[yNumber];
      else
        out[wNumber] += (*in[0])[xNumber] * (*in[1])[yNumber];
    });
  });
}

constexpr Kind kKinds[] = {
    {kOperationPointwise, pointwiseProblem, runPointwise}, {kOperationMatmul, matmulProblem, runMatmul},
    {kOperationReduction, reductionProblem, runReduction}, {kOperationReshape, reshapeProblem, runReshape},
    {kForward, convolutionProblem, runConvolution},        {kDataGrad, convolutionProblem, runConvolution},
    {kFilterGrad, convolutionProblem, runConvolution}};
const Kind &kindOf(const DnnOperation &op) {
  return *std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind &k) { return k.descriptor == op.kind; });
}

Cells load(const DnnTensor &tensor, const char *memory) {
  Cells cells(size_t(tensor.cells()));
  forEach(tensor.sizes, [&](const Index &i, size_t number) {
    const int64_t at = offset(i, tensor.strides);
    cells[number] = tensor.type == kDnnI32 ? float(cellAs<int32_t>(memory + 4 * at))
                                           : float(loadFloat(memory, at, tensor.element()));
  });
  return cells;
}

} // namespace

std::string DnnGraph::add(const DnnOperation &op) {
  for (const DnnTensor &input : op.inputs) {
    if (auto [at, isNew] = known.try_emplace(input.id, input); !isNew && at->second != input)
      return "two tensors with one id";
    if (input.isVirtual && !made[input.id])
      return "a virtual tensor that no operation before made";
  }
  const DnnTensor &output = op.output;
  if (output.isValue || std::exchange(made[output.id], true) || !known.try_emplace(output.id, output).second)
    return "a result that is a value, or was made or read before";
  if (std::string problem = kindOf(op).problem(op); !problem.empty())
    return problem;
  operations.push_back(op);
  return {};
}

int64_t DnnGraph::sharedBytes() const {
  int64_t bytes = 0;
  for (const DnnOperation &op : operations)
    if (op.kind == kOperationReduction && isHalf(op.inputs[0].type))
      bytes += 2 * op.inputs[0].cells();
  return bytes;
}

bool DnnGraph::addsInMemory() const {
  return std::any_of(operations.begin(), operations.end(), [](const DnnOperation &op) {
    return op.kind == kOperationMatmul && !op.output.isVirtual && op.output.type == kDnnF32;
  });
}

bool DnnGraph::hasEngines() const {
  return std::none_of(operations.begin(), operations.end(), [](const DnnOperation &op) {
    return isConvolution(op.kind) && op.output.type != op.inputs[0].type;
  });
}

bool DnnGraph::isFloatConvolution() const {
  return operations.size() == 1 && isConvolution(operations[0].kind) && operations[0].output.type == kDnnF32;
}

void DnnGraph::run(const std::map<int64_t, char *> &memory, bool roundsInputs) const {
  std::map<int64_t, Cells> cells;
  for (const DnnOperation &op : operations) {
    std::vector<const Cells *> in;
    for (const DnnTensor &input : op.inputs) {
      auto [at, isNew] = cells.try_emplace(input.id);
      if (isNew)
        at->second = load(input, memory.at(input.id));
      if (isNew && roundsInputs)
        for (float &cell : at->second)
          cell = std::bit_cast<float>((std::bit_cast<uint32_t>(cell) + 0x1000) & ~uint32_t{0x1fff});
      in.push_back(&at->second);
    }
    Cells out(size_t(op.output.cells()));
    kindOf(op).run(op, in, out);
    for (float &cell : out)
      cell = rounded(cell, op.output.type);
    if (!op.output.isVirtual)
      forEach(op.output.sizes, [&](const Index &i, size_t number) {
        storeFloat(memory.at(op.output.id), offset(i, op.output.strides), op.output.element(), double(out[number]));
      });
    cells[op.output.id] = std::move(out);
  }
}

} // namespace dtcc::emulator
