//===- ops/Linear.cpp - Matrix products and patch convolutions
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Rules.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

static LogicalResult gemmRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0), y = node.input(1);
  if (rankOf(x) != 2 || rankOf(y) != 2)
    return node.error("must multiply matrices, got ranks: " + Twine(rankOf(x)) + " and " + Twine(rankOf(y)));
  if (!isFloat(x) || !isFloat(y))
    return node.error("must multiply floats");
  bool turned = node.integer("transB", 0) != 0;
  std::string spec = std::string(node.integer("transA", 0) ? "km" : "mk") + (turned ? ",nk->mn" : ",kn->mn");
  Tensor product = emit.contract(spec, x, y);
  if (!product)
    return failure();
  product = emit.mul(product, emit.scalar(node.real("alpha", 1), elementOf(product)));
  Tensor bias = node.input(2);
  if (!bias && !turned)
    bias = node.getImporter().droppedBias(node.proto().input(1), shapeOf(product)[1]);
  if (bias)
    product = emit.add(product, emit.mul(bias, emit.scalar(node.real("beta", 1), elementOf(bias))));
  return node.result(0, product);
}

/// A convolution whose kernel is its stride cuts the image into patches that do not overlap: a reshape and a product.
static LogicalResult convRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0), kernel = node.input(1);
  int64_t spatial = rankOf(x) - 2;
  if (spatial < 1 || rankOf(kernel) != rankOf(x))
    return node.error("must have an image [n, c, ..] and a kernel [m, c, ..]");
  SmallVector<int64_t> strides = node.integers("strides").value_or(SmallVector<int64_t>(spatial, 1));
  SmallVector<int64_t> pads = node.integers("pads").value_or(SmallVector<int64_t>(2 * spatial, 0));
  SmallVector<int64_t> dilations = node.integers("dilations").value_or(SmallVector<int64_t>(spatial, 1));
  ArrayRef<int64_t> window = shapeOf(kernel).drop_front(2);
  auto zero = [](int64_t pad) { return pad == 0; };
  auto one = [](int64_t dilation) { return dilation == 1; };
  std::string padding = node.text("auto_pad", "NOTSET");
  if (node.integer("group", 1) != 1 || window != ArrayRef(strides) || !llvm::all_of(pads, zero) ||
      !llvm::all_of(dilations, one) || (padding != "NOTSET" && padding != "VALID"))
    return node.error("only convolutions whose stride is their kernel are supported (no groups, pads or dilations)");
  if (shapeOf(kernel)[1] != shapeOf(x)[1])
    return node.error("image and kernel must have the same channels");
  // [n, c, h*p, w*q] -> [n, c, h, p, w, q]; letters: n, c, then a cell and a kernel letter a spatial dimension.
  SmallVector<int64_t> split(shapeOf(x).take_front(2)), offsets(rankOf(x), 0), whole(split), unit(rankOf(x), 1);
  std::string image = "nc", weights = "mc", result = "nm";
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t cells = shapeOf(x)[i + 2] / window[i];
    if (cells < 1)
      return node.error("the kernel must not be larger than the image");
    split.append({cells, window[i]});
    // Cells at the edge that fill no patch are not read.
    whole.push_back(cells * window[i]);
    char cell = 'd' + int(i), inside = 'p' + int(i);
    image += {cell, inside};
    weights += inside;
    result += cell;
  }
  if (spatial > 3)
    return node.error("must have at most 3 spatial dimensions, got: " + Twine(spatial));
  Tensor patches = emit.reshape(emit.slice(x, offsets, whole, unit), split);
  Tensor product = emit.contract(image + "," + weights + "->" + result, patches, kernel);
  if (Tensor bias = node.input(2)) {
    SmallVector<int64_t> channels(spatial + 1, 1);
    channels[0] = shapeOf(kernel)[0];
    product = emit.add(product, emit.reshape(bias, channels));
  }
  return node.result(0, product);
}

void dtcc::onnx::addLinearRules(RuleTable &table) {
  table.on("MatMul", 1, {2, 2},
           [](OpBinder &node) { return node.result(0, node.emit().matmul(node.input(0), node.input(1))); });
  table.on("Gemm", 7, {2, 3}, gemmRule);
  table.on("Conv", 1, {2, 3}, convRule);
}
