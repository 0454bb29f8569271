//===- Products.cpp - Products of matrices and channels
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/emit/Products.h"
#include <string>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

Tensor dtcc::onnx::contract(Emitter &emit, StringRef spec, const Tensor &x, const Tensor &y) {
  if (!x || !y)
    return nullptr;
  auto [terms, result] = spec.split("->");
  auto [left, right] = terms.split(',');
  SmallVector<int64_t> shape;
  for (char letter : result) {
    size_t at = left.find(letter);
    shape.push_back(at != StringRef::npos ? shapeOf(x)[at] : shapeOf(y)[right.find(letter)]);
  }
  for (auto [i, letter] : llvm::enumerate(left))
    if (size_t at = right.find(letter); at != StringRef::npos && shapeOf(x)[i] != shapeOf(y)[at])
      return emit.error("multiplied dimensions must agree, got: " + Twine(shapeOf(x)[i]) + " and " +
                        Twine(shapeOf(y)[at]));
  if (cellsOf(shapeOf(x)) == 0 || cellsOf(shapeOf(y)) == 0)
    return emit.splat(typeLike(x, shape), 0);
  return emit.finish(graph::ContractOp::create(emit.getBuilder(), emit.getLoc(), typeLike(x, shape), spec,
                                               emit.value(x), emit.value(y)),
                     {x, y});
}

Tensor dtcc::onnx::matmul(Emitter &emit, const Tensor &x, const Tensor &y) {
  if (!x || !y)
    return nullptr;
  if (rankOf(x) == 0 || rankOf(y) == 0)
    return emit.error("factors of a matrix product must have at least one dimension");
  if (!isFloat(x) || !isFloat(y))
    return emit.error("factors of a matrix product must be floats");
  // Letters: a.. for batch dimensions, then m, k, n.
  int64_t leftBatch = std::max<int64_t>(rankOf(x) - 2, 0), rightBatch = std::max<int64_t>(rankOf(y) - 2, 0);
  int64_t batch = std::max(leftBatch, rightBatch);
  std::string left, right, result;
  SmallVector<int64_t> leftShape, rightShape, whole;
  for (int64_t i = 0; i < batch; ++i) {
    int64_t inLeft = i - (batch - leftBatch), inRight = i - (batch - rightBatch);
    int64_t leftSize = inLeft >= 0 ? shapeOf(x)[inLeft] : 1, rightSize = inRight >= 0 ? shapeOf(y)[inRight] : 1;
    if (leftSize != rightSize && leftSize != 1 && rightSize != 1)
      return emit.error("batch dimensions of a product must agree, got: " + Twine(leftSize) + " and " +
                        Twine(rightSize));
    whole.push_back(leftSize == 1 ? rightSize : leftSize);
    if (whole.back() == 1)
      continue;
    char letter = 'a' + int(result.size());
    result += letter;
    if (leftSize != 1)
      left += letter, leftShape.push_back(leftSize);
    if (rightSize != 1)
      right += letter, rightShape.push_back(rightSize);
  }
  if (batch > 10)
    return emit.error("a product of more than 10 batch dimensions is not supported");
  if (rankOf(x) > 1)
    left += 'm', leftShape.push_back(shapeOf(x)[rankOf(x) - 2]), result += 'm', whole.push_back(leftShape.back());
  left += 'k', leftShape.push_back(shapeOf(x).back());
  right += 'k', rightShape.push_back(shapeOf(y)[std::max<int64_t>(rankOf(y) - 2, 0)]);
  if (rankOf(y) > 1)
    right += 'n', rightShape.push_back(shapeOf(y).back()), result += 'n', whole.push_back(rightShape.back());
  Tensor product =
      contract(emit, left + "," + right + "->" + result, emit.reshape(x, leftShape), emit.reshape(y, rightShape));
  return emit.reshape(product, whole);
}

Tensor dtcc::onnx::affineChannels(Emitter &emit, const Tensor &x, const Tensor &scale, const Tensor &bias) {
  if (!x)
    return nullptr;
  SmallVector<int64_t> channels(rankOf(x) - 1, 1);
  channels[0] = shapeOf(x)[1];
  Tensor y = x;
  if (scale && knownSplat(scale) != 1.0)
    y = emit.mul(y, emit.reshape(scale, channels));
  if (bias && knownSplat(bias) != 0.0)
    y = emit.add(y, emit.reshape(bias, channels));
  return y;
}
