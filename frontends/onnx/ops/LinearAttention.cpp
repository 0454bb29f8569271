//===- ops/LinearAttention.cpp - Attention with a state, step by step
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LinearAttention keeps a matrix [key, value] for each head. A step lets it decay, adds
// the outer product of key and value, and reads it by the query. The delta rules add
// only what the state does not yet give for the key. Every step is written out, since a
// graph has no loops.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Rules.h"
#include "frontends/onnx/emit/Dimensions.h"
#include "frontends/onnx/emit/Known.h"
#include "frontends/onnx/emit/Products.h"
#include <cmath>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

/// Steps of a sequence: some ten ops each, with their gradients.
static constexpr int64_t kMostSteps = 1024;

namespace {
/// A node's operands, checked. Dimensions: b batch, t step, h head of keys, g query of the head, k key, v value.
struct Attended {
  /// query [b, t, h, g, k], key [b, t, h, k], value [b, t, h, v].
  Tensor query, key, value;
  /// decay [b, t, h, k or 1, 1] and rate [b, t, h or 1, 1] by which the update rule says; else null.
  Tensor decay, rate;
  /// State before the first step, [b, h, k, v]; null stands for zeros.
  Tensor state;
  int64_t length;
};
} // namespace

/// Operand i [b, t, width], in single precision, as [b, t, inner..].
static Tensor unpacked(OpBinder &node, unsigned i, ArrayRef<int64_t> inner) {
  Emitter &emit = node.emit();
  Tensor x = node.input(i);
  SmallVector<int64_t> shape(shapeOf(x).take_front(2));
  llvm::append_range(shape, inner);
  return emit.reshape(emit.cast(x, emit.getBuilder().getF32Type()), shape);
}

static FailureOr<Attended> attendedOf(OpBinder &node) {
  int64_t queries = node.integer("q_num_heads", 0), heads = node.integer("kv_num_heads", 0);
  if (heads < 1 || queries < 1 || queries % heads)
    return node.error("q_num_heads must be a multiple of kv_num_heads, got: " + Twine(queries) + " and " +
                      Twine(heads));
  ArrayRef<int64_t> first = shapeOf(node.input(0));
  for (unsigned i : {0u, 1u, 2u, 4u, 5u})
    if (node.has(i) && (rankOf(node.input(i)) != 3 || !isFloat(node.input(i)) ||
                        shapeOf(node.input(i)).take_front(2) != first.take_front(2)))
      return node.error("query, key, value, decay and beta must be floats [batch, step, cells] of the same steps");
  int64_t keyCells = shapeOf(node.input(1))[2], valueCells = shapeOf(node.input(2))[2];
  if (keyCells % heads || valueCells % heads || first[2] != queries * (keyCells / heads))
    return node.error("query, key and value must hold whole heads, got: " + Twine(first[2]) + ", " + Twine(keyCells) +
                      " and " + Twine(valueCells) + " cells");
  int64_t k = keyCells / heads, v = valueCells / heads;
  std::string rule = node.text("update_rule", "gated_delta");
  bool gated = rule == "gated" || rule == "gated_delta", delta = rule == "delta" || rule == "gated_delta";
  if (!gated && !delta && rule != "linear")
    return node.error("update_rule must be linear, gated, delta or gated_delta, got: " + rule);
  if (gated != node.has(4) || delta != node.has(5))
    return node.error("decay belongs to the gated rules and beta to the delta rules, got: " + rule);
  Attended a;
  a.length = first[1];
  if (a.length < 1 || a.length > kMostSteps)
    return node.error("a sequence of 1 to " + Twine(kMostSteps) + " steps can be written out, got: " + Twine(a.length));
  a.query = unpacked(node, 0, {heads, queries / heads, k});
  a.key = unpacked(node, 1, {heads, k});
  a.value = unpacked(node, 2, {heads, v});
  if (gated) {
    int64_t cells = shapeOf(node.input(4))[2];
    if (cells != heads && cells != keyCells)
      return node.error("decay must have a cell for each head or key, got: " + Twine(cells));
    a.decay = node.emit().unary<graph::ExpOp>(unpacked(node, 4, {heads, cells / heads, 1}));
  }
  if (delta) {
    int64_t cells = shapeOf(node.input(5))[2];
    if (cells != heads && cells != 1)
      return node.error("beta must have a cell for each head, or one, got: " + Twine(cells));
    a.rate = unpacked(node, 5, {cells, 1});
  }
  if (node.has(3)) {
    Tensor past = node.input(3);
    if (shapeOf(past) != ArrayRef<int64_t>{first[0], heads, k, v})
      return node.error("past_state must be [batch, head, key, value]");
    if (knownSplat(past) != 0.0)
      a.state = node.emit().cast(past, node.emit().getBuilder().getF32Type());
  }
  return a;
}

static LogicalResult linearAttentionRule(OpBinder &node) {
  Emitter &emit = node.emit();
  FailureOr<Attended> a = attendedOf(node);
  if (failed(a))
    return failure();
  double scale = node.real("scale", 0);
  if (scale == 0)
    scale = 1 / std::sqrt(static_cast<double>(shapeOf(a->key).back()));
  Tensor state = a->state, query = emit.mul(a->query, emit.scalar(scale, elementOf(a->query)));
  SmallVector<Tensor> results;
  for (int64_t step = 0; step < a->length; ++step) {
    auto now = [&](const Tensor &x) { return squeeze(emit, cut(emit, x, 1, step, 1), 1); };
    Tensor key = now(a->key), fresh = now(a->value);
    if (state && a->decay)
      state = emit.mul(state, now(a->decay));
    if (state && a->rate)
      fresh = emit.sub(fresh, contract(emit, "bhk,bhkv->bhv", key, state));
    if (a->rate)
      fresh = emit.mul(fresh, now(a->rate));
    Tensor outer = emit.mul(unsqueeze(emit, key, 3), unsqueeze(emit, fresh, 2));
    state = state ? emit.add(state, outer) : outer;
    if (!state)
      return failure();
    results.push_back(unsqueeze(emit, contract(emit, "bhgk,bhkv->bhgv", now(query), state), 1));
  }
  Tensor x = node.input(0);
  Tensor whole = emit.concat(results, 1);
  if (!whole)
    return failure();
  ArrayRef<int64_t> shape = shapeOf(whole);
  whole = emit.reshape(whole, {shape[0], shape[1], shape[2] * shape[3] * shape[4]});
  if (node.wants(1) && failed(node.result(1, emit.cast(state, elementOf(node.has(3) ? node.input(3) : x)))))
    return failure();
  return node.result(0, emit.cast(whole, elementOf(x)));
}

void dtcc::onnx::addLinearAttentionRules(RuleTable &table) {
  table.on("LinearAttention", 27, {3, 6}, linearAttentionRule);
}
