//===- ops/Attention.cpp - Attention and rotary embedding
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The Attention operator becomes the products and the softmax that it stands for, as
// older operator sets write it: recovery then meets one form only.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Coordinates.h"
#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Rules.h"
#include "frontends/onnx/emit/Dimensions.h"
#include "frontends/onnx/emit/Indexing.h"
#include "frontends/onnx/emit/Products.h"
#include "frontends/onnx/emit/Reductions.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

/// [b, t, heads * d] -> [b, heads, t, d].
static Tensor splitHeads(Emitter &emit, const Tensor &x, int64_t heads) {
  if (rankOf(x) == 4)
    return x;
  ArrayRef<int64_t> shape = shapeOf(x);
  return emit.transpose(emit.reshape(x, {shape[0], shape[1], heads, shape[2] / heads}), {0, 2, 1, 3});
}

namespace {

/// One node of the operator Attention, from its operands to its outputs.
class AttentionNode {
public:
  explicit AttentionNode(OpBinder &node)
      : node(node), emit(node.emit()), q(node.input(0)), k(node.input(1)), v(node.input(2)), mask(node.input(3)),
        filled(node.has(6) ? node.input(6) : nullptr), rank(rankOf(q)) {}
  LogicalResult import();

private:
  LogicalResult readOperands();
  LogicalResult joinPast();
  LogicalResult checkShapes();
  Tensor repeatHeads(const Tensor &x);
  Tensor scaledScores();
  Tensor capped(const Tensor &scores);
  LogicalResult hideKeys(Tensor &scores);
  LogicalResult hidePadding(Tensor &scores, const Tensor &lowest);
  LogicalResult applyMask(Tensor &scores, const Tensor &lowest);
  LogicalResult show(ArrayRef<Tensor> stages);

  OpBinder &node;
  Emitter &emit;
  /// [b, heads, t, d] once the operands are read.
  Tensor q, k, v;
  Tensor mask;
  /// Number of keys of each sample that are no padding; null: all.
  Tensor filled;
  /// The rank of q, k and v as the node has them.
  int64_t rank;
  /// Number of keys of earlier positions.
  int64_t past = 0;
  int64_t batch = 0, rows = 0, columns = 0, heads = 0, keyHeads = 0;
};

} // namespace

/// Reads q, k and v, and splits their heads.
LogicalResult AttentionNode::readOperands() {
  if (filled && (node.integer("is_causal", 0) || node.has(4)))
    return node.error("nonpad_kv_seqlen beside is_causal or past keys is not supported: give a mask");
  if (node.has(4) != node.has(5))
    return node.error("must have both past keys and past values, or none");
  if (rankOf(k) != rank || rankOf(v) != rank || (rank != 3 && rank != 4))
    return node.error("q, k and v must all have rank 3, or all rank 4");
  if (rank == 4)
    return success();
  heads = node.integer("q_num_heads", 0);
  keyHeads = node.integer("kv_num_heads", 0);
  if (heads < 1 || keyHeads < 1 || shapeOf(q)[2] % heads || shapeOf(k)[2] % keyHeads || shapeOf(v)[2] % keyHeads)
    return node.error("q_num_heads and kv_num_heads must divide the last dimensions");
  q = splitHeads(emit, q, heads);
  k = splitHeads(emit, k, keyHeads);
  v = splitHeads(emit, v, keyHeads);
  return success();
}

/// Puts keys and values of earlier positions first. Outputs 1 and 2 show all of them.
LogicalResult AttentionNode::joinPast() {
  if (node.has(4)) {
    if (rankOf(node.input(4)) != 4 || rankOf(node.input(5)) != 4)
      return node.error("past keys and values must be [b, heads, t, d]");
    past = shapeOf(node.input(4))[2];
    k = emit.concat({node.input(4), k}, 2);
    v = emit.concat({node.input(5), v}, 2);
    if (!k || !v)
      return failure();
  }
  if ((node.wants(1) && failed(node.result(1, k))) || (node.wants(2) && failed(node.result(2, v))))
    return failure();
  return success();
}

LogicalResult AttentionNode::checkShapes() {
  batch = shapeOf(q)[0], rows = shapeOf(q)[2], columns = shapeOf(k)[2];
  heads = shapeOf(q)[1];
  keyHeads = shapeOf(k)[1];
  if (keyHeads < 1 || heads % keyHeads || shapeOf(v)[1] != keyHeads || shapeOf(v)[2] != columns ||
      shapeOf(k)[3] != shapeOf(q)[3])
    return node.error("the shapes of q, k and v do not fit together");
  return success();
}

/// Repeats each head of keys or values for the group of queries that reads it.
Tensor AttentionNode::repeatHeads(const Tensor &x) {
  if (heads == keyHeads)
    return x;
  ArrayRef<int64_t> shape = shapeOf(x);
  Tensor wide = emit.broadcastTo(unsqueeze(emit, x, 2), {batch, keyHeads, heads / keyHeads, shape[2], shape[3]});
  return emit.reshape(wide, {batch, heads, shape[2], shape[3]});
}

Tensor AttentionNode::scaledScores() {
  double scale = node.hasAttribute("scale") ? node.real("scale", 1) : 1 / std::sqrt(double(shapeOf(q)[3]));
  Tensor scores = matmul(emit, q, emit.transpose(repeatHeads(k), {0, 1, 3, 2}));
  return scores ? emit.mul(scores, emit.scalar(scale, elementOf(scores))) : nullptr;
}

/// The scores brought softly between -cap and cap.
Tensor AttentionNode::capped(const Tensor &scores) {
  double cap = node.real("softcap", 0);
  if (cap == 0)
    return scores;
  Type element = elementOf(scores);
  return emit.mul(emit.unary<graph::TanhOp>(emit.div(scores, emit.scalar(cap, element))), emit.scalar(cap, element));
}

/// Gives the lowest score to keys that a query must not see: later ones, padding, those that the mask hides.
LogicalResult AttentionNode::hideKeys(Tensor &scores) {
  Tensor lowest = emit.scalar(-std::numeric_limits<double>::infinity(), elementOf(scores));
  if (node.integer("is_causal", 0)) {
    auto type = RankedTensorType::get({rows, columns}, emit.getBuilder().getI64Type());
    Tensor seen = emit.compare(graph::Predicate::le, emit.affine(type, {0, {0, 1}}), emit.affine(type, {past, {1, 0}}));
    scores = emit.select(seen, scores, lowest);
  }
  if (failed(hidePadding(scores, lowest)) || failed(applyMask(scores, lowest)))
    return failure();
  return success(scores != nullptr);
}

LogicalResult AttentionNode::hidePadding(Tensor &scores, const Tensor &lowest) {
  if (!filled)
    return success();
  if (rankOf(filled) != 1 || shapeOf(filled)[0] != batch)
    return node.error("nonpad_kv_seqlen must have one number for each sample");
  auto type = RankedTensorType::get({columns}, elementOf(filled));
  Tensor ends = emit.reshape(filled, {batch, 1, 1, 1});
  scores = emit.select(emit.compare(graph::Predicate::lt, emit.affine(type, {0, {1}}), ends), scores, lowest);
  // The mask need not speak of keys that are padding for all samples.
  if (mask && rankOf(mask) > 0 && shapeOf(mask).back() < columns) {
    SmallVector<int64_t> low(rankOf(mask), 0), high(rankOf(mask), 0);
    high.back() = columns - shapeOf(mask).back();
    mask = pad(emit, mask, low, high, 0);
  }
  return success();
}

LogicalResult AttentionNode::applyMask(Tensor &scores, const Tensor &lowest) {
  if (!mask)
    return success();
  if (rankOf(mask) > 4 || rankOf(mask) < 2 || shapeOf(mask).back() != columns)
    return node.error("the mask must have rank 2 to 4 and end in the number of keys");
  scores = elementOf(mask).isInteger(1) ? emit.select(mask, scores, lowest) : emit.add(scores, mask);
  return success();
}

/// Sets output 3 to the stage of the scores that the node asks for.
LogicalResult AttentionNode::show(ArrayRef<Tensor> stages) {
  if (!node.wants(3))
    return success();
  int64_t mode = node.integer("qk_matmul_output_mode", 0);
  if (mode < 0 || mode >= int64_t(stages.size()))
    return node.error("qk_matmul_output_mode must be 0 to 3, got: " + Twine(mode));
  return node.result(3, stages[mode]);
}

LogicalResult AttentionNode::import() {
  if (failed(readOperands()) || failed(joinPast()) || failed(checkShapes()))
    return failure();
  Tensor product = scaledScores();
  if (!product)
    return failure();
  Tensor afterCap = capped(product);
  if (!afterCap)
    return failure();
  Tensor masked = afterCap;
  if (failed(hideKeys(masked)))
    return failure();
  Tensor shares = softmax(emit, masked, {3}, false);
  if (failed(show({product, afterCap, masked, shares})))
    return failure();
  Tensor y = matmul(emit, shares, repeatHeads(v));
  if (rank == 3 && y)
    y = emit.reshape(emit.transpose(y, {0, 2, 1, 3}), {batch, rows, heads * shapeOf(v)[3]});
  return node.result(0, y);
}

static LogicalResult attentionRule(OpBinder &node) { return AttentionNode(node).import(); }

static LogicalResult rotaryRule(OpBinder &node) {
  Emitter &emit = node.emit();
  OpBuilder &builder = emit.getBuilder();
  Tensor x = node.input(0), cos = node.input(1), sin = node.input(2);
  int64_t rank = rankOf(x), heads = node.integer("num_heads", 0);
  if (rank == 3) {
    if (heads < 1 || shapeOf(x)[2] % heads)
      return node.error("num_heads must divide the last dimension");
    x = splitHeads(emit, x, heads);
  } else if (rank != 4) {
    return node.error("must have rank 3 or 4, got: " + Twine(rank));
  }
  int64_t size = shapeOf(x)[3], turned = node.integer("rotary_embedding_dim", 0), rows = shapeOf(x)[2];
  if (turned == 0)
    turned = size;
  if (turned < 2 || turned % 2 || turned > size || !isFloat(x))
    return node.error("rotary_embedding_dim must be even and at most " + Twine(size) + ", got: " + Twine(turned));
  int64_t half = turned / 2;
  // Positions index the rows of [positions, half].
  if (node.has(3)) {
    Tensor places = node.input(3);
    if (isFloat(places) || rankOf(places) != 2 || rankOf(cos) != 2 || rankOf(sin) != 2 ||
        shapeOf(cos) != shapeOf(sin) || shapeOf(cos)[0] < 1)
      return node.error("position_ids must be integers [b, t], with cos and sin of [positions, half]");
    Tensor row = fromStart(emit, places, shapeOf(cos)[0]);
    cos = gather(emit, cos, row, 0);
    sin = gather(emit, sin, row, 0);
    if (!cos || !sin)
      return failure();
  }
  // Tables are [b, t, half], the same for all heads; the exporter writes [1, t, half].
  SmallVector<int64_t> tableDims = {2};
  for (Tensor *table : {&cos, &sin}) {
    if (rankOf(*table) != 3 || shapeOf(*table)[1] != rows || shapeOf(*table)[2] != half)
      return node.error("cos and sin must be [b, t, " + Twine(half) + "]");
    if (shapeOf(*table)[0] == 1)
      *table = emit.reshape(*table, {rows, half});
    else if (shapeOf(*table)[0] == shapeOf(x)[0])
      tableDims = {0, 2};
    else
      return node.error("cos and sin must have the batch of x, or 1");
  }
  if (rankOf(cos) != rankOf(sin))
    return node.error("cos and sin must have one shape");
  bool interleaved = node.integer("interleaved", 0);
  SmallVector<int64_t> offsets(4, 0), strides(4, 1), shape(shapeOf(x));
  shape[3] = turned;
  Tensor head = emit.slice(x, offsets, shape, strides);
  SmallVector<int64_t> pairs(shape);
  pairs.back() = interleaved ? half : 2;
  pairs.push_back(interleaved ? 2 : half);
  tableDims.push_back(interleaved ? 3 : 4);
  head = emit.reshape(head, pairs);
  auto op = graph::RotaryOp::create(builder, emit.getLoc(), head->type, emit.value(head), emit.value(cos),
                                    emit.value(sin), builder.getI64IntegerAttr(interleaved ? 4 : 3),
                                    builder.getDenseI64ArrayAttr(tableDims), UnitAttr());
  Tensor y = emit.reshape(emit.fromValue(op.getY()), shape);
  if (turned < size) {
    offsets[3] = turned;
    shape[3] = size - turned;
    y = emit.concat({y, emit.slice(x, offsets, shape, strides)}, 3);
  }
  if (rank == 3)
    y = emit.reshape(emit.transpose(y, {0, 2, 1, 3}), shapeOf(node.input(0)));
  return node.result(0, y);
}

void dtcc::onnx::addAttentionRules(RuleTable &table) {
  table.on("Attention", 23, {3, 7}, attentionRule);
  table.on("RotaryEmbedding", 23, {3, 4}, rotaryRule);
}
