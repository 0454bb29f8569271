//===- ops/Resize.cpp - Images made larger or smaller
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A resize is one matrix an axis: row i says of which cells the new cell i is made. It
// is multiplied with the image, so that its gradient, its placement and its kernels are
// those of products. Where each cell only stands there several times, it is repeated.
//
// The matrix follows the operator's definition (onnx/reference/ops/op_resize.py).
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Rules.h"
#include "frontends/onnx/emit/Products.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

/// The largest matrix that is stored in the program: 4096 cells from 4096.
static constexpr int64_t kMostTaps = int64_t(1) << 24;

namespace {
/// Resizing of one axis. `scale` is that of the node, `to` is an integer.
struct ResizedAxis {
  int64_t dim, from, to;
  double scale;
  /// The part that is read, of 0 .. 1.
  double start = 0, end = 1;
};

/// The node's attributes.
struct Resampling {
  std::string mode, place, rounding;
  double cubic = -0.75;
  bool antialias = false, excludesOutside = false;
  /// Value of a cell that is read outside of the image.
  double outside = 0;

  bool crops() const { return place == "tf_crop_and_resize"; }
  /// Whether cell `i` is read outside of the image, where only crops do not repeat its edge.
  bool isOutside(const ResizedAxis &axis, int64_t i) const {
    double x = position(axis, i);
    return crops() && (x < 0 || x > static_cast<double>(axis.from - 1));
  }

  /// Position in the image of cell `i` of the result. Cells and the middles between them are exact.
  double position(const ResizedAxis &axis, int64_t i) const;
  /// Position by the operator's formula, as it is rounded.
  double roundedPosition(const ResizedAxis &axis, int64_t i) const;
  /// Weights of the cells floor(position) + first, + first + 1, ..
  SmallVector<double> weights(double ratio, double scale, int64_t &first) const;
  /// The matrix [to, from].
  std::vector<double> matrix(const ResizedAxis &axis) const;
};
} // namespace

double Resampling::position(const ResizedAxis &axis, int64_t i) const {
  // Scales are rounded to f32, so that the position of a cell may come out below it: the nearest cell, or whether one
  // is inside of the image, would then be another.
  constexpr double kRounding = 0x1p-22;
  double x = roundedPosition(axis, i), exact = std::round(2 * x) / 2;
  return std::abs(x - exact) <= kRounding * (std::abs(x) + 1) ? exact : x;
}

double Resampling::roundedPosition(const ResizedAxis &axis, int64_t i) const {
  double x = static_cast<double>(i), from = static_cast<double>(axis.from), length = axis.scale * from;
  if (place == "align_corners")
    return axis.to == 1 ? 0 : x * (from - 1) / (length - 1);
  if (crops())
    return (from - 1) * (axis.to > 1 ? axis.start + x * (axis.end - axis.start) / (static_cast<double>(axis.to) - 1)
                                     : (axis.start + axis.end) / 2);
  if (place == "asymmetric")
    return x / axis.scale;
  if (place == "pytorch_half_pixel" && axis.to == 1)
    return 0;
  double half = (x + 0.5) / axis.scale - 0.5;
  if (place == "half_pixel_symmetric")
    return from / 2 * (1 - static_cast<double>(axis.to) / length) + half;
  return half;
}

/// Keys, "Cubic convolution interpolation for digital image processing", 1981.
static double cubicWeight(double distance, double a) {
  double x = std::abs(distance);
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((x - 5) * x + 8) * x * a - 4 * a : 0;
}

SmallVector<double> Resampling::weights(double ratio, double scale, int64_t &first) const {
  bool linear = mode == "linear";
  // A smaller image without aliases is made of all that its cells cover.
  double stretch = antialias ? std::min(scale, 1.0) : 1;
  double reach = (linear ? 1 : 2) / stretch;
  first = static_cast<int64_t>(std::floor(-reach)) + 1;
  SmallVector<double> taps;
  double sum = 0;
  for (int64_t tap = first; tap < 2 - first; ++tap) {
    double distance = (static_cast<double>(tap) - ratio) * stretch;
    taps.push_back(linear ? std::max(0.0, 1 - std::abs(distance)) : cubicWeight(distance, cubic));
    sum += taps.back();
  }
  for (double &tap : taps)
    tap /= sum;
  return taps;
}

static int64_t nearest(double x, StringRef rounding) {
  if (rounding == "floor")
    return static_cast<int64_t>(std::floor(x));
  if (rounding == "ceil")
    return static_cast<int64_t>(std::ceil(x));
  return static_cast<int64_t>(rounding == "round_prefer_ceil" ? std::floor(x + 0.5) : std::ceil(x - 0.5));
}

std::vector<double> Resampling::matrix(const ResizedAxis &axis) const {
  std::vector<double> cells(axis.to * axis.from);
  for (int64_t i = 0; i < axis.to; ++i) {
    double *row = &cells[i * axis.from], x = position(axis, i);
    if (isOutside(axis, i))
      continue;
    if (mode == "nearest") {
      row[std::clamp<int64_t>(nearest(x, rounding), 0, axis.from - 1)] = 1;
      continue;
    }
    int64_t first = 0;
    SmallVector<double> taps = weights(x - std::floor(x), axis.scale, first);
    double kept = 0;
    for (auto [k, tap] : llvm::enumerate(taps)) {
      int64_t cell = static_cast<int64_t>(std::floor(x)) + first + static_cast<int64_t>(k);
      // The image goes on with its last cells, or what lies outside does not count.
      if (excludesOutside && (cell < 0 || cell >= axis.from))
        continue;
      row[std::clamp<int64_t>(cell, 0, axis.from - 1)] += tap;
      kept += tap;
    }
    for (int64_t cell = 0; excludesOutside && cell < axis.from; ++cell)
      row[cell] /= kept;
  }
  return cells;
}

/// Number of adjacent copies of each cell, or 0 if the matrix does anything but repeat cells.
static int64_t repetition(const ResizedAxis &axis, ArrayRef<double> matrix) {
  int64_t times = axis.to % axis.from ? 0 : axis.to / axis.from;
  for (int64_t i = 0; times && i < axis.to; ++i)
    if (matrix[i * axis.from + i / times] != 1)
      return 0;
  return times;
}

static Tensor repeated(Emitter &emit, const Tensor &x, int64_t dim, int64_t times) {
  SmallVector<int64_t> split(shapeOf(x)), wide(shapeOf(x)), joined(shapeOf(x));
  split.insert(split.begin() + dim + 1, 1);
  wide.insert(wide.begin() + dim + 1, times);
  joined[dim] *= times;
  return emit.reshape(emit.broadcastTo(emit.reshape(x, split), wide), joined);
}

static Tensor multiplied(Emitter &emit, const Tensor &x, const ResizedAxis &axis, std::vector<double> matrix) {
  HostTensor cells({axis.to, axis.from}, elementOf(x));
  cells.floats = std::move(matrix);
  cells.round();
  auto table = graph::ConstantOp::create(emit.getBuilder(), emit.getLoc(),
                                         RankedTensorType::get(cells.shape, elementOf(x)), cells.toAttribute());
  std::string image, result;
  for (int64_t dim = 0; dim < rankOf(x); ++dim) {
    image += static_cast<char>('a' + dim);
    result += dim == axis.dim ? 'z' : image.back();
  }
  return contract(emit, image + ",z" + image[axis.dim] + "->" + result, x, emit.fromValue(table));
}

/// The resized axes by operands 2 and 3, one entry per dimension.
static FailureOr<SmallVector<ResizedAxis>> resizedAxes(OpBinder &node, const Tensor &x) {
  int64_t rank = rankOf(x);
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq(rank));
  if (auto given = node.integers("axes")) {
    dims.clear();
    for (int64_t axis : *given) {
      FailureOr<int64_t> dim = node.axis(axis, rank);
      if (failed(dim))
        return failure();
      dims.push_back(*dim);
    }
  }
  SmallVector<ResizedAxis> axes;
  auto add = [&](size_t i, double scale, double to) {
    // Sizes of images, which the matrix bounds once more.
    if (!(scale > 0) || !(to >= 1) || !(to <= 0x1p31) || shapeOf(x)[dims[i]] < 1)
      return false;
    axes.push_back({dims[i], shapeOf(x)[dims[i]], static_cast<int64_t>(to), scale});
    return true;
  };
  auto size = [&](size_t i) { return static_cast<double>(shapeOf(x)[dims[i]]); };
  bool good = true;
  if (node.has(3)) {
    FailureOr<SmallVector<int64_t>> sizes = node.constantIntegers(3);
    if (failed(sizes))
      return failure();
    if (sizes->size() != dims.size())
      return node.error("sizes must have an entry an axis");
    // One scale for all axes, where their shape is to stay.
    std::string policy = node.text("keep_aspect_ratio_policy", "stretch");
    double kept = policy == "not_larger" ? std::numeric_limits<double>::infinity() : 0;
    for (auto [i, to] : llvm::enumerate(*sizes)) {
      double scale = static_cast<double>(to) / size(i);
      kept = policy == "not_larger" ? std::min(kept, scale) : std::max(kept, scale);
    }
    for (auto [i, to] : llvm::enumerate(*sizes))
      good &= policy == "stretch" ? add(i, static_cast<double>(to) / size(i), static_cast<double>(to))
                                  : add(i, kept, std::floor(kept * size(i) + 0.5));
  } else {
    std::shared_ptr<const HostTensor> scales = node.has(2) ? node.getImporter().numbers(node.proto(), 2) : nullptr;
    if (!scales || scales->floats.size() != dims.size())
      return node.error("must have scales or sizes that are known, an entry an axis");
    for (auto [i, scale] : llvm::enumerate(scales->floats))
      good &= add(i, scale, std::floor(scale * size(i)));
  }
  if (!good)
    return node.error("must leave a cell in each axis");
  if (node.text("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize")
    return axes;
  // The starts of all axes, then their ends.
  std::shared_ptr<const HostTensor> part = node.has(1) ? node.getImporter().numbers(node.proto(), 1) : nullptr;
  if (!part || part->floats.size() != 2 * dims.size())
    return node.error("the region of interest must be known, with two entries an axis");
  for (auto [i, axis] : llvm::enumerate(axes)) {
    axis.start = part->floats[i];
    axis.end = part->floats[i + dims.size()];
    if (!(std::abs(axis.start) <= 0x1p20) || !(std::abs(axis.end) <= 0x1p20))
      return node.error("the region of interest must be within a million images");
  }
  return axes;
}

/// x, whose cells that were read outside of the image are 0, with `how.outside` in them.
static Tensor withOutside(Emitter &emit, const Tensor &x, ArrayRef<ResizedAxis> axes, const Resampling &how) {
  Tensor inside;
  for (const ResizedAxis &axis : axes) {
    HostTensor flags({axis.to}, elementOf(x));
    for (int64_t i = 0; i < axis.to; ++i)
      flags.floats[i] = how.isOutside(axis, i) ? 0 : 1;
    SmallVector<int64_t> shape(rankOf(x), 1);
    shape[axis.dim] = axis.to;
    Tensor own = emit.reshape(emit.constant(std::move(flags)), shape);
    inside = inside ? emit.mul(inside, own) : own;
  }
  auto number = [&](double value) { return emit.scalar(value, elementOf(x)); };
  return emit.add(x, emit.mul(emit.sub(number(1), inside), number(how.outside)));
}

/// x with each axis resized; null: the error is out.
static Tensor resized(OpBinder &node, Tensor x, ArrayRef<ResizedAxis> axes, const Resampling &how) {
  Emitter &emit = node.emit();
  for (const ResizedAxis &axis : axes) {
    if (axis.from == axis.to && axis.scale == 1 && axis.start == 0 && axis.end == 1)
      continue;
    if (axis.to > kMostTaps / axis.from)
      return emit.error("an axis must have at most " + Twine(kMostTaps) +
                        " pairs of old and new cells, got: " + Twine(axis.from) + " and " + Twine(axis.to));
    std::vector<double> matrix = how.matrix(axis);
    if (int64_t times = repetition(axis, matrix)) {
      x = repeated(emit, x, axis.dim, times);
    } else {
      if (!isFloat(x))
        return emit.error("must have a float operand where cells are not repeated a whole number of times");
      x = multiplied(emit, x, axis, std::move(matrix));
    }
    if (!x)
      return nullptr;
  }
  return how.crops() && how.outside != 0 ? withOutside(emit, x, axes, how) : x;
}

static LogicalResult resizeRule(OpBinder &node) {
  Tensor x = node.input(0);
  Resampling how{node.text("mode", "nearest"), node.text("coordinate_transformation_mode", "half_pixel"),
                 node.text("nearest_mode", "round_prefer_floor")};
  how.cubic = node.real("cubic_coeff_a", -0.75);
  how.antialias = node.integer("antialias", 0) != 0;
  how.excludesOutside = node.integer("exclude_outside", 0) != 0;
  auto is = [](StringRef text, std::initializer_list<StringRef> known) { return llvm::is_contained(known, text); };
  if (!is(how.mode, {"nearest", "linear", "cubic"}) ||
      !is(how.place, {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                      "tf_crop_and_resize"}) ||
      !is(how.rounding, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) ||
      !is(node.text("keep_aspect_ratio_policy", "stretch"), {"stretch", "not_larger", "not_smaller"}))
    return node.error(
        "must be nearest, linear or cubic, by places, rounding and a policy that the operator knows, got: " + how.mode +
        ", " + how.place + ", " + how.rounding);
  how.outside = node.real("extrapolation_value", 0);
  FailureOr<SmallVector<ResizedAxis>> axes = resizedAxes(node, x);
  if (failed(axes))
    return failure();
  return node.result(0, resized(node, x, *axes, how));
}

/// Resize as it was before operator set 11, and Upsample: by scales alone, from cell 0 on.
static LogicalResult upsampleRule(OpBinder &node) {
  Tensor x = node.input(0);
  std::shared_ptr<const HostTensor> scales = node.getImporter().numbers(node.proto(), 1);
  Resampling how{node.text("mode", "nearest"), "asymmetric", "floor"};
  if (!scales || int64_t(scales->floats.size()) != rankOf(x) || (how.mode != "nearest" && how.mode != "linear"))
    return node.error("must be nearest or linear, by scales that are known, an entry a dimension");
  SmallVector<ResizedAxis> axes;
  for (auto [dim, scale] : llvm::enumerate(scales->floats)) {
    double to = std::floor(scale * static_cast<double>(shapeOf(x)[dim]));
    if (!(scale > 0) || !(to >= 1) || !(to <= 0x1p31))
      return node.error("must leave a cell in each axis");
    axes.push_back({static_cast<int64_t>(dim), shapeOf(x)[dim], static_cast<int64_t>(to), scale});
  }
  return node.result(0, resized(node, x, axes, how));
}

void dtcc::onnx::addResizeRules(RuleTable &table) {
  table.on("Upsample", 9, {2, 2}, upsampleRule, /*numbers=*/1 << 1);
  table.on("Resize", 10, {2, 2}, upsampleRule, /*numbers=*/1 << 1);
  // The region of interest and the scales are floats.
  table.on("Resize", 11, {1, 4}, resizeRule, /*numbers=*/1 << 1 | 1 << 2);
}
