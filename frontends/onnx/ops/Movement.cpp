//===- ops/Movement.cpp - Reshapes, transposes, slices and joins
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Rules.h"
#include "frontends/onnx/emit/DataParts.h"
#include "frontends/onnx/emit/Dimensions.h"
#include <algorithm>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

static LogicalResult reshapeRule(OpBinder &node) {
  Tensor x = node.input(0);
  FailureOr<SmallVector<int64_t>> target = node.constantIntegers(1);
  if (failed(target))
    return failure();
  int64_t inferred = -1, known = 1;
  // Shapes that were exported with a fixed batch follow another one that was asked for.
  auto [fixedBatch, batch] = node.getImporter().newBatch();
  if (batch != fixedBatch && rankOf(x) > 0 && shapeOf(x)[0] == batch && !target->empty() &&
      (*target)[0] == fixedBatch) {
    (*target)[0] = batch;
    node.getImporter().noteOfNode("a shape for a batch of " + Twine(fixedBatch) + " is taken for one of " +
                                  Twine(batch));
  }
  for (auto [i, size] : llvm::enumerate(*target)) {
    if (size == 0 && node.integer("allowzero", 0) == 0) {
      if (int64_t(i) >= rankOf(x))
        return node.error("dimension " + Twine(i) + " is to be copied, but the operand has rank " + Twine(rankOf(x)));
      size = shapeOf(x)[i];
    }
    if (size == -1) {
      if (inferred >= 0)
        return node.error("at most one dimension may be inferred");
      inferred = i;
    } else if (size < 0 || llvm::MulOverflow(known, size, known)) {
      return node.error("a dimension must be -1 or at least 0, got: " + Twine(size));
    }
  }
  if (int64_t(target->size()) > kMaxRank)
    return node.error("must have at most " + Twine(kMaxRank) + " dimensions, got: " + Twine(target->size()));
  int64_t cells = cellsOf(shapeOf(x));
  if (inferred >= 0) {
    if (known == 0 || cells % known != 0)
      return node.error("cannot infer a dimension: " + Twine(cells) + " elements are not a multiple of " +
                        Twine(known) + "; an export with a fixed batch size writes such shapes");
    (*target)[inferred] = cells / known;
  }
  return node.result(0, node.emit().reshape(x, *target));
}

static LogicalResult flattenRule(OpBinder &node) {
  Tensor x = node.input(0);
  int64_t axis = node.integer("axis", 1), rank = rankOf(x);
  if (axis < -rank || axis > rank)
    return node.error("axis must be within a tensor of rank " + Twine(rank) + ", got: " + Twine(axis));
  axis = axis < 0 ? axis + rank : axis;
  return node.result(
      0, node.emit().reshape(x, {cellsOf(shapeOf(x).take_front(axis)), cellsOf(shapeOf(x).drop_front(axis))}));
}

/// A channel for each cell of a block becomes that block, or the other way round: nothing but a transpose.
template <bool ToSpace> static LogicalResult blocksRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  int64_t size = node.integer("blocksize", 0);
  std::string mode = node.text("mode", "DCR");
  if (rankOf(x) != 4 || size < 1 || (mode != "DCR" && mode != "CRD"))
    return node.error("must have an image [n, c, h, w], a positive blocksize, and a mode of DCR or CRD");
  int64_t n = shapeOf(x)[0], c = shapeOf(x)[1], h = shapeOf(x)[2], w = shapeOf(x)[3];
  // A block that is larger than what it is cut from has no size worth squaring.
  if (ToSpace ? size > c || c % (size * size) != 0 : h % size != 0 || w % size != 0)
    return node.error("the channels, or the sides, must be a multiple of the block's, got: " + Twine(c) + ", " +
                      Twine(h) + ", " + Twine(w));
  if (!ToSpace) {
    Tensor blocks = emit.reshape(x, {n, c, h / size, size, w / size, size});
    return node.result(
        0, emit.reshape(emit.transpose(blocks, {0, 3, 5, 1, 2, 4}), {n, c * size * size, h / size, w / size}));
  }
  c /= size * size;
  bool blocksFirst = mode == "DCR";
  Tensor cells = blocksFirst ? emit.reshape(x, {n, size, size, c, h, w}) : emit.reshape(x, {n, c, size, size, h, w});
  SmallVector<int64_t> turn =
      blocksFirst ? SmallVector<int64_t>{0, 3, 4, 1, 5, 2} : SmallVector<int64_t>{0, 1, 4, 2, 5, 3};
  return node.result(0, emit.reshape(emit.transpose(cells, turn), {n, c, h * size, w * size}));
}

static LogicalResult squeezeRule(OpBinder &node) {
  Tensor x = node.input(0);
  FailureOr<std::optional<SmallVector<int64_t>>> axes = node.axes(1, 13, rankOf(x));
  if (failed(axes))
    return failure();
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(shapeOf(x))) {
    bool named = *axes ? llvm::is_contained(**axes, int64_t(dim)) : size == 1;
    if (named && size != 1)
      return node.error("a squeezed dimension must have size 1, got: " + Twine(size));
    if (!named)
      shape.push_back(size);
  }
  return node.result(0, node.emit().reshape(x, shape));
}

static LogicalResult unsqueezeRule(OpBinder &node) {
  Tensor x = node.input(0);
  // Axes count in the result, whose rank is known only with their number.
  int64_t count = 0;
  if (node.opset() < 13) {
    count = node.integers("axes").value_or(SmallVector<int64_t>()).size();
  } else if (node.has(1)) {
    FailureOr<SmallVector<int64_t>> given = node.constantIntegers(1);
    if (failed(given))
      return failure();
    count = given->size();
  }
  FailureOr<std::optional<SmallVector<int64_t>>> axes = node.axes(1, 13, rankOf(x) + count);
  if (failed(axes))
    return failure();
  SmallVector<int64_t> shape(shapeOf(x));
  for (int64_t axis : (*axes).value_or(SmallVector<int64_t>()))
    shape.insert(shape.begin() + axis, 1);
  return node.result(0, node.emit().reshape(x, shape));
}

static LogicalResult transposeRule(OpBinder &node) {
  Tensor x = node.input(0);
  SmallVector<int64_t> identity = llvm::to_vector<6>(llvm::seq<int64_t>(0, rankOf(x)));
  SmallVector<int64_t> permutation =
      node.integers("perm").value_or(SmallVector<int64_t>(identity.rbegin(), identity.rend()));
  SmallVector<int64_t> sorted = permutation;
  llvm::sort(sorted);
  if (sorted != identity)
    return node.error("perm must be a permutation of the " + Twine(rankOf(x)) + " dimensions");
  return node.result(0, node.emit().transpose(x, permutation));
}

static LogicalResult expandRule(OpBinder &node) {
  Tensor x = node.input(0);
  FailureOr<SmallVector<int64_t>> target = node.constantIntegers(1);
  if (failed(target))
    return failure();
  SmallVector<int64_t> shape = *target;
  if (int64_t(shape.size()) < rankOf(x))
    shape.insert(shape.begin(), rankOf(x) - shape.size(), 1);
  // Expand goes both ways: a size of 1 in the target keeps the operand's.
  for (int64_t i = 1; i <= rankOf(x); ++i)
    if (shape[shape.size() - i] == 1)
      shape[shape.size() - i] = shapeOf(x)[rankOf(x) - i];
  if (!checkedSize(shape) || int64_t(shape.size()) > kMaxRank)
    return node.error("the shape is too large or negative");
  return node.result(0, node.emit().broadcastTo(x, shape));
}

static LogicalResult tileRule(OpBinder &node) {
  Tensor x = node.input(0);
  FailureOr<SmallVector<int64_t>> repeats = node.constantIntegers(1);
  if (failed(repeats))
    return failure();
  if (int64_t(repeats->size()) != rankOf(x))
    return node.error("must have one number of repeats a dimension");
  // [n] repeated r times is [r, n] flattened.
  SmallVector<int64_t> split, wide, result;
  for (auto [size, times] : llvm::zip_equal(shapeOf(x), *repeats)) {
    int64_t whole;
    if (times < 0 || llvm::MulOverflow(times, size, whole))
      return node.error("repeats must be at least 0 and fit, got: " + Twine(times));
    split.append({1, size});
    wide.append({times, size});
    result.push_back(whole);
  }
  if (!checkedSize(wide))
    return node.error("the result is too large");
  return node.result(0, node.emit().reshape(node.emit().broadcastTo(node.emit().reshape(x, split), wide), result));
}

static LogicalResult concatRule(OpBinder &node) {
  SmallVector<Tensor> xs = node.inputs();
  FailureOr<int64_t> axis = node.axis(node.integer("axis", 0), rankOf(xs[0]));
  if (failed(axis))
    return failure();
  return node.result(0, node.emit().concat(xs, *axis));
}

static LogicalResult splitRule(OpBinder &node) {
  Tensor x = node.input(0);
  FailureOr<int64_t> axis = node.axis(node.integer("axis", 0), rankOf(x));
  if (failed(axis))
    return failure();
  int64_t size = shapeOf(x)[*axis], count = node.proto().output_size();
  SmallVector<int64_t> sizes;
  if (Tensor told = node.opset() >= 13 ? node.input(1) : nullptr;
      told && !isFloat(told) && !knownCells(told) && rankOf(told) == 1 && shapeOf(told)[0] == count) {
    std::vector<Tensor> parts = splitByData(node.emit(), x, told, *axis);
    for (auto [i, part] : llvm::enumerate(parts))
      if (failed(node.result(i, part)))
        return failure();
    return failure(parts.empty());
  }
  if (node.opset() >= 13 && node.has(1)) {
    FailureOr<SmallVector<int64_t>> given = node.constantIntegers(1);
    if (failed(given))
      return failure();
    sizes = *given;
  } else if (auto given = node.opset() < 13 ? node.integers("split") : std::nullopt) {
    sizes = *given;
  } else {
    int64_t parts = node.integer("num_outputs", count);
    if (parts < 1 || parts != count)
      return node.error("num_outputs must be the number of outputs, got: " + Twine(parts));
    // Equal parts; the last may be smaller.
    int64_t part = (size + parts - 1) / parts;
    for (int64_t i = 0; i < parts; ++i)
      sizes.push_back(std::min(part, std::max<int64_t>(size - i * part, 0)));
  }
  int64_t sum = 0;
  for (int64_t part : sizes)
    if (part < 0 || llvm::AddOverflow(sum, part, sum))
      return node.error("a part must have a size of at least 0, got: " + Twine(part));
  if (sum != size || int64_t(sizes.size()) != count)
    return node.error("the " + Twine(count) + " parts must add up to " + Twine(size) + ", got: " + Twine(sum));
  SmallVector<int64_t> offsets(rankOf(x), 0), strides(rankOf(x), 1), shape(shapeOf(x));
  for (auto [i, part] : llvm::enumerate(sizes)) {
    shape[*axis] = part;
    if (failed(node.result(i, node.emit().slice(x, offsets, shape, strides))))
      return failure();
    offsets[*axis] += part;
  }
  return success();
}

static LogicalResult sliceRule(OpBinder &node) {
  Tensor x = node.input(0);
  SmallVector<int64_t> lists[4]; // starts, ends, axes, steps
  static constexpr StringRef names[] = {"starts", "ends", "axes"};
  for (unsigned i = 0; i < 4; ++i) {
    if (node.opset() >= 10 && node.has(i + 1)) {
      FailureOr<SmallVector<int64_t>> given = node.constantIntegers(i + 1);
      if (failed(given))
        return failure();
      lists[i] = *given;
    } else if (node.opset() < 10 && i < 3) {
      lists[i] = node.integers(names[i]).value_or(SmallVector<int64_t>());
    }
  }
  auto &[starts, ends, axes, steps] = lists;
  if (axes.empty())
    llvm::append_range(axes, llvm::seq<int64_t>(0, starts.size()));
  if (steps.empty())
    steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    return node.error("starts, ends, axes and steps must have one length");
  SmallVector<int64_t> offsets(rankOf(x), 0), strides(rankOf(x), 1), shape(shapeOf(x));
  for (auto [start, end, given, step] : llvm::zip_equal(starts, ends, axes, steps)) {
    FailureOr<int64_t> axis = node.axis(given, rankOf(x));
    if (failed(axis))
      return failure();
    if (step == 0)
      return node.error("a step must not be 0");
    int64_t size = shapeOf(x)[*axis];
    auto clamp = [&](int64_t at, int64_t low, int64_t high) {
      return std::max(low, std::min(at < 0 ? std::max(at, -size - 1) + size : at, high));
    };
    int64_t from = step > 0 ? clamp(start, 0, size) : clamp(start, 0, size - 1);
    int64_t to = step > 0 ? clamp(end, 0, size) : clamp(end, -1, size - 1);
    int64_t distance = step > 0 ? to - from : from - to;
    // The smallest integer has no negation.
    uint64_t stride = step > 0 ? uint64_t(step) : uint64_t(0) - uint64_t(step);
    int64_t count = distance <= 0 ? 0 : int64_t((uint64_t(distance) - 1) / stride) + 1;
    offsets[*axis] = count > 0 ? from : 0;
    strides[*axis] = count > 1 ? step : 1;
    shape[*axis] = count;
  }
  return node.result(0, node.emit().slice(x, offsets, shape, strides));
}

/// x with `low` cells before and `high` behind dimension `dim`, which repeat cells of its own.
static Tensor extended(Emitter &emit, const Tensor &x, int64_t dim, int64_t low, int64_t high, StringRef mode) {
  int64_t size = shapeOf(x)[dim], most = mode == "reflect" ? size - 1 : size;
  auto last = [&](int64_t first, int64_t count) { return cut(emit, x, dim, first, count); };
  auto repeated = [&](int64_t first, int64_t count) {
    SmallVector<int64_t> shape(shapeOf(x));
    shape[dim] = count;
    return emit.broadcastTo(last(first, 1), shape);
  };
  if (size < 1 || (mode != "edge" && std::max(low, high) > most))
    return emit.error("pads of mode " + mode + " must be at most " + Twine(most) + " in dimension " + Twine(dim) +
                      ", got: " + Twine(std::max(low, high)));
  SmallVector<Tensor> parts;
  if (low > 0)
    parts.push_back(mode == "edge"      ? repeated(0, low)
                    : mode == "reflect" ? reversed(emit, last(1, low), dim)
                                        : last(size - low, low));
  parts.push_back(x);
  if (high > 0)
    parts.push_back(mode == "edge"      ? repeated(size - 1, high)
                    : mode == "reflect" ? reversed(emit, last(size - 1 - high, high), dim)
                                        : last(0, high));
  return emit.concat(parts, dim);
}

static LogicalResult padRule(OpBinder &node) {
  Tensor x = node.input(0);
  std::string mode = node.text("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap")
    return node.error("mode must be constant, reflect, edge or wrap, got: " + mode);
  SmallVector<int64_t> pads = node.integers("pads").value_or(SmallVector<int64_t>());
  double value = node.real("value", 0);
  if (node.opset() >= 11) {
    FailureOr<SmallVector<int64_t>> given = node.has(1) ? node.constantIntegers(1) : pads;
    if (failed(given))
      return failure();
    pads = *given;
    if (node.has(2)) {
      std::optional<double> cell = knownSplat(node.input(2));
      if (!cell)
        return node.error("the value must be known at compile time");
      value = *cell;
    }
  }
  SmallVector<int64_t> axes = llvm::to_vector<6>(llvm::seq<int64_t>(0, rankOf(x)));
  if (node.opset() >= 18 && node.has(3)) {
    FailureOr<SmallVector<int64_t>> given = node.constantIntegers(3);
    if (failed(given))
      return failure();
    axes = *given;
  }
  if (pads.size() != 2 * axes.size())
    return node.error("pads must have two numbers an axis, got: " + Twine(pads.size()));
  constexpr int64_t limit = int64_t(1) << 40;
  SmallVector<int64_t> low(rankOf(x), 0), high(rankOf(x), 0);
  for (auto [i, given] : llvm::enumerate(axes)) {
    FailureOr<int64_t> axis = node.axis(given, rankOf(x));
    if (failed(axis))
      return failure();
    low[*axis] = pads[i];
    high[*axis] = pads[axes.size() + i];
    if (std::clamp(low[*axis], -limit, limit) != low[*axis] || std::clamp(high[*axis], -limit, limit) != high[*axis])
      return node.error("pads are too large");
  }
  // Negative pads cut.
  SmallVector<int64_t> offsets, shape, whole, strides(rankOf(x), 1);
  for (auto [size, before, after] : llvm::zip_equal(shapeOf(x), low, high)) {
    offsets.push_back(std::max<int64_t>(-before, 0));
    shape.push_back(size - offsets.back() - std::max<int64_t>(-after, 0));
    if (shape.back() < 0)
      return node.error("negative pads must leave at least 0 cells");
    before = std::max<int64_t>(before, 0);
    after = std::max<int64_t>(after, 0);
    whole.push_back(before + shape.back() + after);
  }
  if (!checkedSize(whole))
    return node.error("the result is too large");
  x = node.emit().slice(x, offsets, shape, strides);
  if (mode == "constant")
    return node.result(0, pad(node.emit(), x, low, high, value));
  for (int64_t dim = 0; x && dim < rankOf(x); ++dim)
    x = extended(node.emit(), x, dim, low[dim], high[dim], mode);
  return node.result(0, x);
}

void dtcc::onnx::addMovementRules(RuleTable &table) {
  table.on("Reshape", 5, {2, 2}, reshapeRule).keepsUnsigned();
  table.on("Flatten", 1, {1, 1}, flattenRule).keepsUnsigned();
  table.on("DepthToSpace", 1, {1, 1}, blocksRule<true>).keepsUnsigned();
  table.on("SpaceToDepth", 1, {1, 1}, blocksRule<false>).keepsUnsigned();
  table.on("Squeeze", 1, {1, 2}, squeezeRule).keepsUnsigned();
  table.on("Unsqueeze", 1, {1, 2}, unsqueezeRule).keepsUnsigned();
  table.on("Transpose", 1, {1, 1}, transposeRule).keepsUnsigned();
  table.on("Expand", 8, {2, 2}, expandRule).keepsUnsigned();
  table.on("Tile", 6, {2, 2}, tileRule).keepsUnsigned();
  table.on("Concat", 4, {1, kAnyNumber}, concatRule).keepsUnsigned();
  table.on("Split", 2, {1, 2}, splitRule).keepsUnsigned();
  table.on("Slice", 1, {1, 5}, sliceRule).keepsUnsigned();
  table.on("Pad", 2, {1, 4}, padRule);
}
