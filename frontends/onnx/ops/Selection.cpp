//===- ops/Selection.cpp - Cells that are chosen, cut or put together
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators whose results have a size of their own. Where it depends on values, these must
// be known at compile time.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Rules.h"
#include "frontends/onnx/emit/Dimensions.h"
#include "frontends/onnx/emit/Indexing.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

/// The cells of operand 0 whose condition, which must be known, holds.
static LogicalResult compressRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  std::shared_ptr<const HostTensor> condition = knownCells(node.input(1));
  if (!condition || condition->rank() != 1 || condition->isFloat())
    return node.error("the condition must be a list of booleans known at compile time");
  int64_t axis = 0;
  if (node.hasAttribute("axis")) {
    FailureOr<int64_t> given = node.axis(node.integer("axis", 0), rankOf(x));
    if (failed(given))
      return failure();
    axis = *given;
  } else {
    x = emit.reshape(x, {cellsOf(shapeOf(x))});
  }
  SmallVector<int64_t> kept;
  for (int64_t i = 0; i < std::min<int64_t>(condition->size(), shapeOf(x)[axis]); ++i)
    if (condition->ints[i])
      kept.push_back(i);
  if (kept.empty())
    return node.error("the condition must hold for at least one cell");
  return node.result(0, gather(emit, x, emit.integers(kept), axis));
}

/// The places [rank, n] of the cells that are not 0, which must be known.
static LogicalResult nonZeroRule(OpBinder &node) {
  Emitter &emit = node.emit();
  std::shared_ptr<const HostTensor> x = knownCells(node.input(0));
  if (!x)
    return node.error(
        "the cells must be known at compile time, as the number of those that are not 0 is a shape; where "
        "the data decide, multiply by a mask or choose with Where");
  SmallVector<SmallVector<int64_t>> places;
  forEachIndex(x->shape, [&](ArrayRef<int64_t> index, int64_t position) {
    if (x->isFloat() ? x->floats[position] != 0 : x->ints[position] != 0)
      places.emplace_back(index);
  });
  auto count = static_cast<int64_t>(places.size());
  HostTensor result({x->rank(), count}, emit.getBuilder().getI64Type());
  for (int64_t dim = 0; dim < x->rank(); ++dim)
    for (int64_t i = 0; i < count; ++i)
      result.ints[dim * count + i] = places[i][dim];
  return node.result(0, emit.constant(std::move(result)));
}

/// Reverses the first cells of each sample; operand 1 says how many. The rest of the sample stays.
static LogicalResult reverseSequenceRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0), lengths = node.input(1);
  FailureOr<int64_t> time = node.axis(node.integer("time_axis", 0), rankOf(x)),
                     batch = node.axis(node.integer("batch_axis", 1), rankOf(x));
  if (failed(time) || failed(batch))
    return failure();
  if (rankOf(x) < 2 || *time == *batch || isFloat(lengths) || shapeOf(lengths) != ArrayRef(shapeOf(x)[*batch]))
    return node.error("must have a sequence of samples, and an integer length for each of them");
  SmallVector<int64_t> turn = llvm::to_vector(llvm::seq<int64_t>(0, rankOf(x)));
  turn.erase(llvm::find(turn, *time));
  turn.erase(llvm::find(turn, *batch));
  turn.insert(turn.begin(), {*batch, *time});
  Tensor turned = emit.transpose(x, turn);
  auto places = RankedTensorType::get(shapeOf(turned).take_front(2), elementOf(lengths));
  Tensor own = emit.affine(places, {0, {0, 1}}), sample = emit.affine(places, {0, {1, 0}});
  Tensor length = emit.broadcastTo(unsqueeze(emit, lengths, 1), places.getShape());
  Tensor mirrored = emit.sub(emit.sub(length, emit.scalar(1, elementOf(lengths))), own);
  Tensor place = emit.select(emit.compare(graph::Predicate::lt, own, length), mirrored, own);
  SmallVector<int64_t> back(rankOf(x));
  for (auto [to, from] : llvm::enumerate(turn))
    back[from] = static_cast<int64_t>(to);
  return node.result(0, emit.transpose(gatherPoints(emit, turned, {sample, place}), back));
}

/// The middle of operand 0 in the size that operand 1 says, with zeros around where that is larger.
static LogicalResult centerCropPadRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  FailureOr<SmallVector<int64_t>> sizes = node.constantIntegers(1);
  if (failed(sizes))
    return failure();
  SmallVector<int64_t> axes = node.integers("axes").value_or(llvm::to_vector(llvm::seq<int64_t>(0, rankOf(x))));
  if (axes.size() != sizes->size())
    return node.error("must have a size an axis, got: " + Twine(sizes->size()));
  for (auto [given, size] : llvm::zip_equal(axes, *sizes)) {
    FailureOr<int64_t> axis = node.axis(given, rankOf(x));
    if (failed(axis))
      return failure();
    if (size < 1 || size > kMostWindow)
      return node.error("a size must be between 1 and " + Twine(kMostWindow) + ", got: " + Twine(size));
    int64_t old = shapeOf(x)[*axis];
    SmallVector<int64_t> low(rankOf(x), 0), high(rankOf(x), 0);
    if (size <= old) {
      x = cut(emit, x, *axis, (old - size) / 2, size);
    } else {
      low[*axis] = (size - old) / 2;
      high[*axis] = size - old - low[*axis];
      x = pad(emit, x, low, high, 0);
    }
    if (!x)
      return failure();
  }
  return node.result(0, x);
}

/// Blocks [n, c * block.., places] added to an image [n, c, ..]: every cell of a block stands `stride` apart in the
/// image.
static LogicalResult col2ImRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  FailureOr<SmallVector<int64_t>> image = node.constantIntegers(1), block = node.constantIntegers(2);
  if (failed(image) || failed(block))
    return failure();
  int64_t spatial = block->size();
  auto entries = [&](StringRef name, int64_t count, int64_t otherwise) {
    return node.integers(name).value_or(SmallVector<int64_t>(count, otherwise));
  };
  SmallVector<int64_t> strides = entries("strides", spatial, 1), dilations = entries("dilations", spatial, 1),
                       pads = entries("pads", 2 * spatial, 0);
  if (rankOf(x) != 3 || spatial < 1 || int64_t(image->size()) != spatial || int64_t(strides.size()) != spatial ||
      int64_t(dilations.size()) != spatial || int64_t(pads.size()) != 2 * spatial)
    return node.error("must have blocks [n, c, places], and a size, strides, dilations and pads (two) an axis");
  std::optional<int64_t> inside = checkedSize(*block);
  SmallVector<int64_t> places;
  for (int64_t d = 0; d < spatial; ++d) {
    int64_t most = std::max({(*image)[d], (*block)[d], strides[d], dilations[d], pads[d], pads[d + spatial]});
    if ((*image)[d] < 1 || (*block)[d] < 1 || strides[d] < 1 || dilations[d] < 1 || pads[d] < 0 ||
        pads[d + spatial] < 0 || most > kMostWindow)
      return node.error("sizes, strides and dilations must be at least 1, pads at least 0, and none above " +
                        Twine(kMostWindow));
    int64_t room = (*image)[d] + pads[d] + pads[d + spatial] - ((*block)[d] - 1) * dilations[d] - 1;
    places.push_back(room < 0 ? 0 : room / strides[d] + 1);
  }
  constexpr int64_t kMostCells = 1024;
  if (!inside || *inside > kMostCells || shapeOf(x)[1] % *inside || checkedSize(places) != shapeOf(x)[2])
    return node.error("the blocks must have at most " + Twine(kMostCells) +
                      " cells each and be as many as fit into the padded image, " +
                      Twine(checkedSize(places).value_or(0)) + ", got: " + Twine(shapeOf(x)[2]));
  SmallVector<int64_t> split{shapeOf(x)[0], shapeOf(x)[1] / *inside, *inside};
  llvm::append_range(split, places);
  Tensor cells = emit.reshape(x, split), sum;
  int64_t number = 0;
  forEachIndex(*block, [&](ArrayRef<int64_t> at, int64_t) {
    Tensor part = cells ? squeeze(emit, cut(emit, cells, 2, number++, 1), 2) : nullptr;
    // Zeros between the places, then around them; what is padded is cut off.
    for (int64_t d = 0; part && d < spatial; ++d) {
      int64_t dim = d + 2, stride = strides[d], size = (places[d] - 1) * stride + 1;
      SmallVector<int64_t> wide(shapeOf(part)), joined(shapeOf(part));
      wide.insert(wide.begin() + dim + 1, 1);
      SmallVector<int64_t> none(wide.size(), 0), gap(wide.size(), 0);
      gap[dim + 1] = stride - 1;
      joined[dim] *= stride;
      part = cut(emit, emit.reshape(pad(emit, emit.reshape(part, wide), none, gap, 0), joined), dim, 0, size);
      int64_t whole = (*image)[d] + pads[d] + pads[d + spatial];
      SmallVector<int64_t> low(joined.size(), 0), high(joined.size(), 0);
      low[dim] = at[d] * dilations[d];
      high[dim] = whole - size - low[dim];
      part = cut(emit, pad(emit, part, low, high, 0), dim, pads[d], (*image)[d]);
    }
    sum = sum ? emit.add(sum, part) : part;
  });
  return node.result(0, sum);
}

void dtcc::onnx::addSelectionRules(RuleTable &table) {
  table.on("Compress", 9, {2, 2}, compressRule).keepsUnsigned();
  table.on("NonZero", 9, {1, 1}, nonZeroRule).readsUnsigned();
  table.on("ReverseSequence", 10, {2, 2}, reverseSequenceRule);
  table.on("CenterCropPad", 18, {2, 2}, centerCropPadRule);
  table.on("Col2Im", 18, {3, 3}, ofFloats<col2ImRule>);
}
