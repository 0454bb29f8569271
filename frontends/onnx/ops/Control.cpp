//===- ops/Control.cpp - Branches and loops
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph has no control flow. Of an If, whose condition must be known, one branch is
// imported. Loop and Scan, whose numbers of steps must be known, are written out step by
// step: constants of a step, such as its number, fold away, and gradients follow. What is
// written out in a model is bounded by Importer::countUnrolled.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Rules.h"
#include "frontends/onnx/emit/Dimensions.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <limits>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;
using ::onnx::GraphProto;

static LogicalResult ifRule(OpBinder &node) {
  std::optional<double> condition = knownSplat(node.input(0));
  if (!condition)
    return node.error("the condition must be known at compile time; where the data decide, compute both branches and "
                      "choose with Where");
  const auto *branch = node.attribute(*condition != 0 ? "then_branch" : "else_branch");
  if (!branch)
    return node.error("must have both branches");
  FailureOr<SmallVector<Tensor>> outputs = node.getImporter().importBranch(branch->g(), {});
  if (failed(outputs))
    return failure();
  for (auto [i, output] : llvm::enumerate(*outputs))
    if (failed(node.result(i, output)))
      return failure();
  return success();
}

namespace {
/// The body of a Loop or Scan: what it carries from step to step, and what each step gives besides.
struct Body {
  OpBinder &node;
  const GraphProto *graph = nullptr;
  /// Values carried, and what every step gave: one list an output behind those carried.
  SmallVector<Tensor> carried;
  SmallVector<SmallVector<Tensor>> given;

  /// One step. `inputs` stand in the order of the body's; the first `skipped` outputs are returned, not carried.
  FailureOr<SmallVector<Tensor>> step(ArrayRef<Tensor> inputs, size_t skipped);
};
} // namespace

/// Reads the body, which must have `inputs` inputs and at least `outputs` outputs, of which the node has all but
/// `own` first.
static FailureOr<const GraphProto *> bodyOf(OpBinder &node, int inputs, int outputs, int own) {
  const auto *body = node.attribute("body");
  if (!body || !body->has_g())
    return node.error("must have a body");
  if (body->g().input_size() != inputs || body->g().output_size() < outputs)
    return node.error("the body must have " + Twine(inputs) + " inputs and at least " + Twine(outputs) +
                      " outputs, got: " + Twine(body->g().input_size()) + " and " + Twine(body->g().output_size()));
  if (node.proto().output_size() > body->g().output_size() - own)
    return node.error("must not have more outputs than its body");
  return &body->g();
}

FailureOr<SmallVector<Tensor>> Body::step(ArrayRef<Tensor> inputs, size_t skipped) {
  if (failed(node.getImporter().countUnrolled(*graph)))
    return failure();
  FailureOr<SmallVector<Tensor>> outputs = node.getImporter().importBranch(*graph, inputs);
  if (failed(outputs))
    return failure();
  ArrayRef<Tensor> rest = ArrayRef(*outputs).drop_front(skipped);
  for (auto [old, fresh] : llvm::zip(carried, rest))
    old = fresh;
  given.resize(rest.size() - carried.size());
  for (auto [list, value] : llvm::zip_equal(given, rest.drop_front(carried.size())))
    list.push_back(value);
  return SmallVector<Tensor>(ArrayRef(*outputs).take_front(skipped));
}

/// Stacks the results of all steps along a new dimension `dim`.
static Tensor stacked(Emitter &emit, ArrayRef<Tensor> steps, int64_t dim) {
  SmallVector<Tensor> parts;
  for (const Tensor &step : steps)
    parts.push_back(unsqueeze(emit, step, dim));
  return emit.concat(parts, dim);
}

/// The operands are the number of steps, the condition, and the carried values. The body takes the step's number, the
/// condition and the carried values; it returns the new condition, the carried values, and the results of the step.
static LogicalResult loopRule(OpBinder &node) {
  Emitter &emit = node.emit();
  int carriedCount = std::max<int>(node.numInputs() - 2, 0);
  FailureOr<const GraphProto *> graph = bodyOf(node, carriedCount + 2, carriedCount + 1, 1);
  if (failed(graph))
    return failure();
  int64_t steps = std::numeric_limits<int64_t>::max();
  if (node.has(0)) {
    FailureOr<SmallVector<int64_t>> given = node.constantIntegers(0);
    if (failed(given))
      return failure();
    if (given->size() != 1)
      return node.error("the number of steps must be one number");
    steps = (*given)[0];
  }
  std::optional<double> goesOn = 1.0;
  if (node.has(1) && !(goesOn = knownSplat(node.input(1))))
    return node.error("whether the loop is entered must be known at compile time");
  Body body{node, *graph, {}, {}};
  for (int i = 0; i < carriedCount; ++i)
    body.carried.push_back(node.input(i + 2));
  auto flag = RankedTensorType::get({}, emit.getBuilder().getI1Type());
  for (int64_t i = 0; i < steps && *goesOn != 0; ++i) {
    SmallVector<Tensor> inputs{emit.reshape(emit.integers({i}), {}), emit.splat(flag, 1)};
    llvm::append_range(inputs, body.carried);
    FailureOr<SmallVector<Tensor>> condition = body.step(inputs, 1);
    if (failed(condition))
      return failure();
    goesOn = knownSplat((*condition)[0]);
    if (!goesOn)
      return node.error("the number of steps must be known at compile time: after step " + Twine(i) +
                        " the data decide whether the loop goes on; give it a constant trip count");
  }
  for (int i = 0; i < node.proto().output_size(); ++i) {
    if (i < carriedCount) {
      if (failed(node.result(i, body.carried[i])))
        return failure();
    } else if (node.wants(i)) {
      if (body.given.empty())
        return node.error("output " + Twine(i) + " collects what no step gives: the loop has no steps");
      if (failed(node.result(i, stacked(emit, body.given[i - carriedCount], 0))))
        return failure();
    }
  }
  return success();
}

/// An attribute with one number for each of `count`, or as many of `otherwise`.
static FailureOr<SmallVector<int64_t>> listed(OpBinder &node, StringRef name, int64_t count, int64_t otherwise) {
  SmallVector<int64_t> list = node.integers(name).value_or(SmallVector<int64_t>(count, otherwise));
  if (static_cast<int64_t>(list.size()) != count)
    return node.error(name + " must have " + Twine(count) + " entries, got: " + Twine(list.size()));
  return list;
}

/// Operands: what is carried, then what is read slice by slice. The body takes what is carried and a slice of each.
static LogicalResult scanRule(OpBinder &node) {
  Emitter &emit = node.emit();
  int64_t operands = node.numInputs(), scanned = node.integer("num_scan_inputs", 0), carried = operands - scanned;
  if (scanned < 1 || carried < 0)
    return node.error("num_scan_inputs must be between 1 and the number of operands, got: " + Twine(scanned));
  FailureOr<const GraphProto *> graph = bodyOf(node, static_cast<int>(operands), static_cast<int>(carried), 0);
  if (failed(graph))
    return failure();
  int64_t results = (*graph)->output_size() - carried;
  FailureOr<SmallVector<int64_t>> axes = listed(node, "scan_input_axes", scanned, 0),
                                  directions = listed(node, "scan_input_directions", scanned, 0),
                                  outAxes = listed(node, "scan_output_axes", results, 0),
                                  outDirections = listed(node, "scan_output_directions", results, 0);
  if (failed(axes) || failed(directions) || failed(outAxes) || failed(outDirections))
    return failure();
  int64_t steps = -1;
  for (int64_t i = 0; i < scanned; ++i) {
    Tensor x = node.input(carried + i);
    FailureOr<int64_t> axis = node.axis((*axes)[i], rankOf(x));
    if (failed(axis))
      return failure();
    (*axes)[i] = *axis;
    int64_t size = shapeOf(x)[*axis];
    if (steps >= 0 && size != steps)
      return node.error("what is scanned must have one length, got: " + Twine(steps) + " and " + Twine(size));
    steps = size;
  }
  Body body{node, *graph, {}, {}};
  for (int64_t i = 0; i < carried; ++i)
    body.carried.push_back(node.input(i));
  for (int64_t step = 0; step < steps; ++step) {
    SmallVector<Tensor> inputs(body.carried);
    for (int64_t i = 0; i < scanned; ++i) {
      Tensor x = node.input(carried + i);
      int64_t axis = (*axes)[i];
      SmallVector<int64_t> offsets(rankOf(x), 0), sizes(shapeOf(x)), strides(rankOf(x), 1);
      offsets[axis] = (*directions)[i] ? steps - 1 - step : step;
      sizes[axis] = 1;
      inputs.push_back(squeeze(emit, emit.slice(x, offsets, sizes, strides), axis));
    }
    if (failed(body.step(inputs, 0)))
      return failure();
  }
  for (int i = 0; i < node.proto().output_size(); ++i) {
    if (i < carried) {
      if (failed(node.result(i, body.carried[i])))
        return failure();
    } else if (node.wants(i)) {
      if (body.given.empty())
        return node.error("what is scanned must have at least one cell");
      SmallVector<Tensor> &list = body.given[i - carried];
      if ((*outDirections)[i - carried])
        std::reverse(list.begin(), list.end());
      FailureOr<int64_t> axis = node.axis((*outAxes)[i - carried], rankOf(list.front()) + 1);
      if (failed(axis) || failed(node.result(i, stacked(emit, list, *axis))))
        return failure();
    }
  }
  return success();
}

void dtcc::onnx::addControlRules(RuleTable &table) {
  table.on("If", 1, {1, 1}, ifRule);
  table.on("Loop", 1, {0, kManyOptional}, loopRule);
  table.on("Scan", 9, {1, kAnyNumber}, scanRule);
}
