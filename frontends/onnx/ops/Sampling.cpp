//===- ops/Sampling.cpp - Images read at places that the data tell
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sample is a weighted sum of the cells around its place: rows of the flattened image are
// looked up, so that gradients reach both the image and, by the weights, the places.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Rules.h"
#include "frontends/onnx/emit/Dimensions.h"
#include "frontends/onnx/emit/Indexing.h"
#include "frontends/onnx/emit/Logic.h"
#include "frontends/onnx/emit/Products.h"
#include "frontends/onnx/emit/Reductions.h"
#include "frontends/onnx/file/Model.h"
#include <array>
#include <cmath>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

namespace {
/// The node's attributes, which say how positions are read.
struct Sampler {
  Emitter &emit;
  std::string mode, padding;
  bool corners;

  Tensor number(double value, const Tensor &like) { return emit.scalar(value, elementOf(like)); }
  Tensor floor(const Tensor &x) { return emit.unary<graph::FloorOp>(x); }
  /// -1 .. 1 as cells of an axis of `size`.
  Tensor unnormalized(const Tensor &at, int64_t size);
  /// A place outside as one inside, where the padding says so.
  Tensor bounded(const Tensor &at, int64_t size);
  Tensor reflected(const Tensor &at, double low, double high);
  /// The cells that a place is read from and their weights: [place.., 1] each.
  SmallVector<std::pair<Tensor, Tensor>> taps(const Tensor &at, int64_t size);
};
} // namespace

Tensor Sampler::unnormalized(const Tensor &at, int64_t size) {
  double cells = static_cast<double>(size);
  Tensor shifted = emit.add(at, number(1, at));
  if (corners)
    return emit.mul(shifted, number((cells - 1) / 2, at));
  return emit.sub(emit.mul(shifted, number(cells / 2, at)), number(0.5, at));
}

/// The distance walked between two mirrors.
Tensor Sampler::reflected(const Tensor &at, double low, double high) {
  double span = high - low;
  if (span <= 0)
    return emit.mul(at, number(0, at));
  Tensor away = emit.unary<graph::AbsOp>(emit.sub(at, number(low, at)));
  Tensor twice = emit.binary<graph::RemOp>(away, number(2 * span, at));
  Tensor back = emit.sub(number(2 * span, at), twice);
  return emit.add(emit.binary<graph::MinOp>(twice, back), number(low, at));
}

Tensor Sampler::bounded(const Tensor &at, int64_t size) {
  Tensor inside = at;
  double cells = static_cast<double>(size);
  if (padding == "zeros")
    return at;
  if (padding == "reflection")
    inside = corners ? reflected(at, 0, cells - 1) : reflected(at, -0.5, cells - 0.5);
  return emit.binary<graph::MinOp>(emit.binary<graph::MaxOp>(inside, number(0, at)), number(cells - 1, at));
}

SmallVector<std::pair<Tensor, Tensor>> Sampler::taps(const Tensor &at, int64_t size) {
  SmallVector<std::pair<Tensor, Tensor>> result;
  Tensor zero = number(0, at), one = number(1, at);
  auto add = [&](Tensor cell, Tensor weight) {
    Tensor last = number(static_cast<double>(size - 1), at);
    if (padding == "zeros") {
      // Cells outside of the image count as 0.
      Tensor inside = logicalAnd(emit, emit.compare(graph::Predicate::ge, cell, zero),
                                 emit.compare(graph::Predicate::le, cell, last));
      weight = emit.select(inside, weight, zero);
    } else {
      cell = bounded(cell, size);
    }
    cell = emit.binary<graph::MinOp>(emit.binary<graph::MaxOp>(cell, zero), last);
    result.push_back({emit.cast(cell, emit.getBuilder().getI64Type()), weight});
  };
  if (mode == "nearest") {
    // The nearest cell; of two cells at equal distance the one with the even index.
    Tensor up = floor(emit.add(at, number(0.5, at))), halved = emit.mul(up, number(0.5, at));
    Tensor tie = emit.compare(graph::Predicate::eq, emit.sub(up, at), number(0.5, at));
    Tensor odd = emit.compare(graph::Predicate::ne, floor(halved), halved);
    Tensor ones = emit.splat(at->type, 1);
    add(emit.select(logicalAnd(emit, tie, odd), emit.sub(up, one), up), ones);
    return result;
  }
  Tensor low = floor(at), part = emit.sub(at, low);
  if (mode == "linear") {
    add(low, emit.sub(one, part));
    add(emit.add(low, one), part);
    return result;
  }
  // Keys, "Cubic convolution interpolation for digital image processing", 1981, with a = -0.75.
  auto polynomial = [&](const Tensor &x, std::initializer_list<double> terms) {
    Tensor y;
    for (double term : terms)
      y = y ? emit.add(emit.mul(y, x), number(term, at)) : number(term, at);
    return y;
  };
  constexpr double a = -0.75;
  auto near = [&](const Tensor &x) { return polynomial(x, {a + 2, -(a + 3), 0, 1}); };
  auto far = [&](const Tensor &x) { return polynomial(x, {a, -5 * a, 8 * a, -4 * a}); };
  Tensor rest = emit.sub(one, part);
  add(emit.sub(low, one), far(emit.add(part, one)));
  add(low, near(part));
  add(emit.add(low, one), near(rest));
  add(emit.add(low, number(2, at)), far(emit.add(rest, one)));
  return result;
}

/// x [n, c, s..] at the places grid [n, t.., spatial], whose last dimension counts the axes from the last: [n, c, t..].
static LogicalResult gridSampleRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0), grid = node.input(1);
  int64_t spatial = rankOf(x) - 2;
  std::string mode = node.text("mode", node.opset() < 20 ? "bilinear" : "linear");
  if (mode == "bilinear" || mode == "bicubic")
    mode = mode.substr(2) == "cubic" ? "cubic" : "linear";
  Sampler sampler{emit, mode, node.text("padding_mode", "zeros"), node.integer("align_corners", 0) != 0};
  auto is = [](StringRef text, std::initializer_list<StringRef> known) { return llvm::is_contained(known, text); };
  if (!is(mode, {"linear", "nearest", "cubic"}) || !is(sampler.padding, {"zeros", "border", "reflection"}))
    return node.error("mode must be linear, nearest or cubic, and padding_mode zeros, border or reflection, got: " +
                      mode + " and " + sampler.padding);
  if (spatial < 1 || spatial > 3 || rankOf(grid) != rankOf(x) || !isFloat(grid) || shapeOf(grid).back() != spatial ||
      shapeOf(grid)[0] != shapeOf(x)[0])
    return node.error("must have an image [n, c, ..] with 1 to 3 spatial dimensions and places [n, .., one an axis]");
  ArrayRef<int64_t> places = shapeOf(grid).drop_back();
  // Rows of the image with its channels last.
  SmallVector<int64_t> turn{0};
  llvm::append_range(turn, llvm::seq<int64_t>(2, rankOf(x)));
  turn.push_back(1);
  int64_t channels = shapeOf(x)[1];
  Tensor rows = emit.reshape(emit.transpose(x, turn), {cellsOf(shapeOf(x)) / std::max<int64_t>(channels, 1), channels});
  SmallVector<SmallVector<std::pair<Tensor, Tensor>>> taps;
  for (int64_t d = 0; d < spatial; ++d) {
    Tensor at = squeeze(emit, cut(emit, grid, rankOf(grid) - 1, spatial - 1 - d, 1), rankOf(grid) - 1);
    int64_t size = shapeOf(x)[d + 2];
    at = sampler.unnormalized(at, size);
    if (mode != "cubic")
      at = sampler.bounded(at, size);
    if (!at)
      return failure();
    taps.push_back(sampler.taps(at, size));
  }
  // All combinations of a tap of each axis.
  Affine sample{0, SmallVector<int64_t>(places.size(), 0)};
  sample.steps[0] = 1;
  Tensor sum;
  SmallVector<int64_t> counts;
  for (const auto &axis : taps)
    counts.push_back(static_cast<int64_t>(axis.size()));
  forEachIndex(counts, [&](ArrayRef<int64_t> index, int64_t) {
    Tensor row = emit.affine(RankedTensorType::get(places, emit.getBuilder().getI64Type()), sample), weight;
    for (int64_t d = 0; d < spatial; ++d) {
      auto [cell, part] = taps[d][index[d]];
      row = emit.add(emit.mul(row, emit.scalar(double(shapeOf(x)[d + 2]), elementOf(row))), cell);
      weight = weight ? emit.mul(weight, part) : part;
    }
    Tensor term = emit.mul(gather(emit, rows, row, 0), unsqueeze(emit, weight, rankOf(weight)));
    sum = sum ? emit.add(sum, term) : term;
  });
  SmallVector<int64_t> back{0, rankOf(x) - 1};
  llvm::append_range(back, llvm::seq<int64_t>(1, rankOf(x) - 1));
  return node.result(0, emit.transpose(sum, back));
}

/// The two cells that each sample of a region reads along one axis of `size` cells, with their weights: [k, samples]
/// each. `from` and `extent` [k, 1] say where the regions begin and how long they are; a region has `bins` times
/// `samples` samples. A sample more than a cell outside counts as 0; up to there the outermost cell goes on.
static SmallVector<std::pair<Tensor, Tensor>> regionTaps(Emitter &emit, const Tensor &from, const Tensor &extent,
                                                         int64_t bins, int64_t samples, int64_t size) {
  HostTensor places({bins * samples}, elementOf(from));
  for (int64_t i = 0; i < bins * samples; ++i)
    places.floats[i] = (static_cast<double>(i) + 0.5) / static_cast<double>(bins * samples);
  places.round();
  auto number = [&](double value) { return emit.scalar(value, elementOf(from)); };
  Tensor at = emit.add(from, emit.mul(extent, emit.constant(std::move(places))));
  Tensor last = number(static_cast<double>(size - 1)), zero = number(0), one = number(1);
  Tensor near = logicalAnd(emit, emit.compare(graph::Predicate::ge, at, number(-1)),
                           emit.compare(graph::Predicate::le, at, number(static_cast<double>(size))));
  Tensor inside = emit.binary<graph::MinOp>(emit.binary<graph::MaxOp>(at, zero), last);
  Tensor low = emit.unary<graph::FloorOp>(inside), part = emit.sub(inside, low);
  Tensor high = emit.binary<graph::MinOp>(emit.add(low, one), last);
  Type i64 = emit.getBuilder().getI64Type();
  return {{emit.cast(low, i64), emit.select(near, emit.sub(one, part), zero)},
          {emit.cast(high, i64), emit.select(near, part, zero)}};
}

/// x [n, c, h, w] averaged over bins of the regions rois [k, 4], each of the image that its index names: [k, c,
/// bins..]. As in torchvision no gradient reaches the regions.
static LogicalResult roiAlignRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0), rois = node.input(1), images = node.input(2);
  int64_t samples = node.integer("sampling_ratio", 0);
  std::array<int64_t, 2> bins = {node.integer("output_height", 1), node.integer("output_width", 1)};
  std::string mode = node.text("mode", "avg");
  std::string coordinates =
      node.text("coordinate_transformation_mode", node.opset() < 16 ? "output_half_pixel" : "half_pixel");
  if (mode != "avg")
    return node.error("mode must be avg, got: " + mode);
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel")
    return node.error("coordinate_transformation_mode must be half_pixel or output_half_pixel, got: " + coordinates);
  if (samples < 1)
    return node.error("sampling_ratio must be at least 1, got: " + Twine(samples) +
                      " (0 takes as many samples as each region has cells)");
  if (rankOf(x) != 4 || rankOf(rois) != 2 || shapeOf(rois)[1] != 4 || !isFloat(rois) || rankOf(images) != 1 ||
      shapeOf(images)[0] != shapeOf(rois)[0])
    return node.error("must have images [n, c, h, w], regions [k, 4] and the image of each, [k]");
  for (int64_t count : bins)
    if (count < 1 || !checkedSize({count, samples}) || count * samples > kMostWindow)
      return node.error("a region must have at least one bin, and at most " + Twine(kMostWindow) +
                        " samples an axis, got: " + Twine(count) + " bins of " + Twine(samples));
  int64_t count = shapeOf(rois)[0], channels = shapeOf(x)[1];
  Tensor corners = emit.mul(emit.unary<graph::StopGradientOp>(emit.cast(rois, elementOf(x))),
                            emit.scalar(node.real("spatial_scale", 1), elementOf(x)));
  if (coordinates == "half_pixel")
    corners = emit.sub(corners, emit.scalar(0.5, elementOf(x)));
  std::array<SmallVector<std::pair<Tensor, Tensor>>, 2> taps;
  for (int64_t axis : {0, 1}) {
    // Regions are x and y of one corner, then of the other.
    Tensor from = cut(emit, corners, 1, 1 - axis, 1), to = cut(emit, corners, 1, 3 - axis, 1);
    Tensor extent = emit.sub(to, from);
    if (coordinates == "output_half_pixel")
      extent = emit.binary<graph::MaxOp>(extent, emit.scalar(1, elementOf(x)));
    taps[axis] = regionTaps(emit, from, extent, bins[axis], samples, shapeOf(x)[axis + 2]);
  }
  Tensor rows =
      emit.reshape(emit.transpose(x, {0, 2, 3, 1}), {cellsOf(shapeOf(x)) / std::max<int64_t>(channels, 1), channels});
  Type i64 = emit.getBuilder().getI64Type();
  Tensor first = emit.reshape(emit.cast(images, i64), {count, 1});
  Tensor sum;
  for (const auto &[cellY, weightY] : taps[0])
    for (const auto &[cellX, weightX] : taps[1]) {
      Tensor line = emit.add(emit.mul(first, emit.scalar(double(shapeOf(x)[2]), i64)), cellY);
      Tensor row = emit.add(unsqueeze(emit, emit.mul(line, emit.scalar(double(shapeOf(x)[3]), i64)), 2),
                            unsqueeze(emit, cellX, 1));
      Tensor weight = emit.mul(unsqueeze(emit, weightY, 2), unsqueeze(emit, weightX, 1));
      Tensor term = emit.mul(gather(emit, rows, row, 0), unsqueeze(emit, weight, 3));
      sum = sum ? emit.add(sum, term) : term;
    }
  Tensor parts = emit.reshape(sum, {count, bins[0], samples, bins[1], samples, channels});
  return node.result(0, emit.transpose(mean(emit, parts, {2, 4}, /*keep=*/false), {0, 3, 1, 2}));
}

/// The places [n, s.., spatial] of an image under the affine maps theta [n, spatial, spatial + 1].
static LogicalResult affineGridRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor theta = node.input(0);
  FailureOr<SmallVector<int64_t>> size = node.constantIntegers(1);
  if (failed(size))
    return failure();
  int64_t spatial = static_cast<int64_t>(size->size()) - 2;
  if (spatial < 2 || spatial > 3 || !checkedSize(*size) ||
      shapeOf(theta) != ArrayRef<int64_t>{size->front(), spatial, spatial + 1})
    return node.error("must have maps [n, 2, 3] or [n, 3, 4] and a size [n, c, ..] with 2 or 3 spatial dimensions");
  SmallVector<int64_t> sides(size->begin() + 2, size->end()), shape(sides);
  shape.push_back(spatial + 1);
  std::optional<int64_t> cells = checkedSize(shape);
  if (!cells || *cells > kMostWindow)
    return node.error("must have at most " + Twine(kMostWindow) + " places");
  bool corners = node.integer("align_corners", 0) != 0;
  HostTensor base(shape, elementOf(theta));
  forEachIndex(shape, [&](ArrayRef<int64_t> index, int64_t position) {
    int64_t axis = spatial - 1 - index.back();
    if (axis < 0) {
      base.floats[position] = 1;
      return;
    }
    double at = static_cast<double>(index[axis]), side = static_cast<double>(sides[axis]);
    base.floats[position] = corners ? (side == 1 ? 0 : 2 * at / (side - 1) - 1) : (2 * at + 1) / side - 1;
  });
  base.round();
  auto table =
      graph::ConstantOp::create(emit.getBuilder(), emit.getLoc(), RankedTensorType::get(shape, elementOf(theta)),
                                cast<ElementsAttr>(base.toAttribute()));
  std::string letters = spatial == 2 ? "hw" : "dhw";
  return node.result(0, contract(emit, "nxy," + letters + "y->n" + letters + "x", theta, emit.fromValue(table)));
}

void dtcc::onnx::addSamplingRules(RuleTable &table) {
  table.on("GridSample", 16, {2, 2}, ofFloats<gridSampleRule>);
  table.on("RoiAlign", 10, {3, 3}, ofFloats<roiAlignRule>);
  table.on("AffineGrid", 20, {2, 2}, ofFloats<affineGridRule>);
}
