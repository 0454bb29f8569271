//===- Window.cpp - Rules: convolution and pooling
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All share how a window's size, steps and pads are stated. Averages are convolutions with
// ones, a channel a group, times the reciprocal of how many cells each window has.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Rules.h"
#include "frontends/onnx/emit/Dimensions.h"
#include "frontends/onnx/emit/Products.h"
#include "frontends/onnx/emit/Reductions.h"
#include <limits>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

namespace {
/// The attributes of a window operator, for one image.
struct Windows {
  SmallVector<int64_t> window, strides, dilations, low, high, image, result;

  int64_t spatial() const { return window.size(); }
  /// Windows that lie side by side and cover the image, or all but its edge.
  bool tiles() const {
    auto zero = [](int64_t pad) { return pad == 0; };
    return window == strides && llvm::all_of(dilations, [](int64_t step) { return step == 1; }) &&
           llvm::all_of(low, zero) && llvm::all_of(high, zero);
  }
  /// Cells of window `i` along dimension `d`; pads count if `pads`.
  int64_t cells(int64_t d, int64_t i, bool pads) const {
    int64_t start = i * strides[d] - low[d];
    // Number of the window's cells start, start + dilation, .. that lie before `end`.
    auto before = [&](int64_t end) {
      return end <= start ? 0 : std::min(window[d], (end - start + dilations[d] - 1) / dilations[d]);
    };
    return before(image[d] + (pads ? high[d] : 0)) - before(pads ? -low[d] : 0);
  }
};
} // namespace

/// Reads the attributes of a node over windows of size `kernel` (empty: as kernel_shape says).
static FailureOr<Windows> windowsOf(OpBinder &node, const Tensor &x, ArrayRef<int64_t> kernel) {
  Windows w;
  int64_t spatial = rankOf(x) - 2;
  if (spatial < 1 || spatial > 3)
    return node.error("must have 1 to 3 spatial dimensions, got: " + Twine(spatial));
  if (!isFloat(x))
    return node.error("must slide over floats");
  w.image.assign(shapeOf(x).begin() + 2, shapeOf(x).end());
  auto stated = node.integers("kernel_shape");
  if (!stated && kernel.empty())
    return node.error("must have a kernel_shape");
  if (stated && !kernel.empty() && ArrayRef<int64_t>(*stated) != kernel)
    return node.error("kernel_shape must be that of the kernel");
  w.window = stated ? *stated : SmallVector<int64_t>(kernel);
  w.strides = node.integers("strides").value_or(SmallVector<int64_t>(spatial, 1));
  w.dilations = node.integers("dilations").value_or(SmallVector<int64_t>(spatial, 1));
  SmallVector<int64_t> pads = node.integers("pads").value_or(SmallVector<int64_t>(2 * spatial, 0));
  if (w.spatial() != spatial || int64_t(w.strides.size()) != spatial || int64_t(w.dilations.size()) != spatial ||
      int64_t(pads.size()) != 2 * spatial)
    return node.error("kernel_shape, strides, dilations and pads must have an entry (pads two) for each of " +
                      Twine(spatial) + " spatial dimensions");
  w.low.assign(pads.begin(), pads.begin() + spatial);
  w.high.assign(pads.begin() + spatial, pads.end());
  std::string automatic = node.text("auto_pad", "NOTSET");
  if (automatic != "NOTSET" && automatic != "VALID" && automatic != "SAME_UPPER" && automatic != "SAME_LOWER")
    return node.error("auto_pad must be NOTSET, VALID, SAME_UPPER or SAME_LOWER, got: " + automatic);
  bool ceiling = node.integer("ceil_mode", 0) != 0;
  for (int64_t d = 0; d < spatial; ++d) {
    if (w.window[d] < 1 || w.strides[d] < 1 || w.dilations[d] < 1 || pads[d] < 0 || pads[spatial + d] < 0)
      return node.error("kernel_shape, strides and dilations must be at least 1 and pads at least 0, in dimension " +
                        Twine(d));
    if (int64_t most = std::max({w.image[d], w.window[d], w.strides[d], w.dilations[d], pads[d], pads[spatial + d]});
        most > kMostWindow)
      return node.error("the image, kernel_shape, strides, dilations and pads must be at most " + Twine(kMostWindow) +
                        ", got: " + Twine(most) + " in dimension " + Twine(d));
    int64_t reach = (w.window[d] - 1) * w.dilations[d] + 1;
    if (automatic != "NOTSET")
      w.low[d] = w.high[d] = 0;
    if (StringRef(automatic).starts_with("SAME")) {
      int64_t total = std::max<int64_t>(0, ((w.image[d] + w.strides[d] - 1) / w.strides[d] - 1) * w.strides[d] + reach -
                                               w.image[d]);
      w.low[d] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      w.high[d] = total - w.low[d];
    }
    int64_t room = w.image[d] + w.low[d] + w.high[d] - reach;
    if (room < 0)
      return node.error("the window must not be larger than the padded image, got: " + Twine(reach) + " over " +
                        Twine(room + reach));
    int64_t count = (room + (ceiling ? w.strides[d] - 1 : 0)) / w.strides[d] + 1;
    // No window begins in what is padded at the end.
    if (ceiling && (count - 1) * w.strides[d] >= w.image[d] + w.low[d])
      --count;
    w.result.push_back(count);
  }
  return w;
}

/// [a.., w.result..] for the leading sizes a.
static SmallVector<int64_t> withResult(ArrayRef<int64_t> leading, const Windows &w) {
  SmallVector<int64_t> shape(leading);
  llvm::append_range(shape, w.result);
  return shape;
}

/// The cells of each window as dimensions of their own: [n, c, h, p, w, q], for windows that tile.
static Tensor tiled(Emitter &emit, const Tensor &x, const Windows &w) {
  SmallVector<int64_t> split(shapeOf(x).take_front(2)), whole(split), offsets(rankOf(x), 0), unit(rankOf(x), 1);
  for (int64_t d = 0; d < w.spatial(); ++d) {
    split.append({w.result[d], w.window[d]});
    // Cells at the edge that fill no window are not read.
    whole.push_back(w.result[d] * w.window[d]);
  }
  return emit.reshape(emit.slice(x, offsets, whole, unit), split);
}

/// x [n, c..], kernel [m, c / groups..]; with groups both get a dimension of groups.
static Tensor convolution(Emitter &emit, const Tensor &x, const Tensor &kernel, int64_t groups, const Windows &w) {
  int64_t samples = shapeOf(x)[0], outputs = shapeOf(kernel)[0], inputs = shapeOf(kernel)[1];
  Tensor image = x, filter = kernel;
  SmallVector<int64_t> leading{samples, outputs};
  if (groups > 1) {
    SmallVector<int64_t> in{samples, groups, inputs}, weights{groups, outputs / groups, inputs};
    llvm::append_range(in, w.image);
    llvm::append_range(weights, w.window);
    image = emit.reshape(x, in);
    filter = emit.reshape(kernel, weights);
    leading = {samples, groups, outputs / groups};
  }
  OpBuilder &builder = emit.getBuilder();
  auto op = graph::ConvolutionOp::create(builder, emit.getLoc(), typeLike(x, withResult(leading, w)), emit.value(image),
                                         emit.value(filter), w.strides, w.dilations, w.low);
  return emit.reshape(emit.fromValue(op), withResult({samples, outputs}, w));
}

static LogicalResult convRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0), kernel = node.input(1);
  if (rankOf(x) < 3 || rankOf(kernel) != rankOf(x))
    return node.error("must have an image [n, c, ..] and a kernel [m, c, ..]");
  FailureOr<Windows> w = windowsOf(node, x, shapeOf(kernel).drop_front(2));
  if (failed(w))
    return failure();
  int64_t groups = node.integer("group", 1), outputs = shapeOf(kernel)[0];
  if (groups < 1 || outputs % groups || shapeOf(kernel)[1] * groups != shapeOf(x)[1])
    return node.error("the image's channels must be the kernel's times the groups, and the groups divide the outputs, "
                      "got: " +
                      Twine(shapeOf(x)[1]) + ", " + Twine(shapeOf(kernel)[1]) + ", " + Twine(groups) + " and " +
                      Twine(outputs));
  Tensor product;
  if (groups == 1 && w->tiles()) {
    // Letters: n, c, then a cell and a kernel letter a spatial dimension.
    std::string image = "nc", weights = "mc", result = "nm";
    for (int64_t d = 0; d < w->spatial(); ++d) {
      char cell = 'd' + int(d), inside = 'p' + int(d);
      image += {cell, inside};
      weights += inside;
      result += cell;
    }
    product = contract(emit, image + "," + weights + "->" + result, tiled(emit, x, *w), kernel);
  } else {
    product = convolution(emit, x, kernel, groups, *w);
  }
  if (!product)
    return failure();
  Tensor bias =
      node.has(2) ? node.input(2) : node.getImporter().initializers.droppedBias(node.proto(), shapeOf(product)[1]);
  return node.result(0, affineChannels(emit, product, nullptr, bias));
}

/// A depthwise convolution over x [n, c, l] whose windows end at their cell. What lies before the first is given, [n,
/// c, k - 1], or zeros. Its second result is what lies before the cell after the last.
static LogicalResult causalConvRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0), kernel = node.input(1), past = node.input(3);
  if (rankOf(x) != 3 || rankOf(kernel) != 3)
    return node.error("must have cells [n, c, l] and a kernel [c, 1, k]");
  int64_t channels = shapeOf(x)[1], before = shapeOf(kernel)[2] - 1;
  if (shapeOf(kernel)[0] != channels || shapeOf(kernel)[1] != 1)
    return node.error("must have a kernel for each of " + Twine(channels) + " channels");
  if (past && shapeOf(past) != ArrayRef<int64_t>{shapeOf(x)[0], channels, before})
    return node.error("past_state must be [n, c, k - 1]");
  std::string activation = node.text("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    return node.error("activation must be none, silu or swish, got: " + activation);
  Tensor padded = past ? emit.concat({past, x}, 2) : pad(emit, x, {0, 0, before}, {0, 0, 0}, 0);
  if (!padded)
    return failure();
  FailureOr<Windows> w = windowsOf(node, padded, shapeOf(kernel).drop_front(2));
  if (failed(w))
    return failure();
  Tensor result = convolution(emit, padded, kernel, channels, *w);
  if (!result)
    return failure();
  result = affineChannels(emit, result, nullptr, node.input(2));
  if (activation != "none")
    result = emit.mul(result, emit.unary<graph::LogisticOp>(result));
  if (node.wants(1) && failed(node.result(1, cut(emit, padded, 2, shapeOf(x)[2], before))))
    return failure();
  return node.result(0, result);
}

/// Most cells of a window whose places are told apart.
static constexpr int64_t kMostPlaces = 256;

/// The places, in the whole flattened image, of the cells that a maximum takes: the first of the largest. One cell of
/// all windows after the other is compared with the best so far.
static Tensor placesOfLargest(Emitter &emit, const Tensor &x, const Windows &w, bool columnsFirst) {
  double lowest = -std::numeric_limits<double>::infinity();
  SmallVector<int64_t> before{0, 0}, after{0, 0}, shape = withResult(shapeOf(x).take_front(2), w);
  for (int64_t d = 0; d < w.spatial(); ++d) {
    before.push_back(w.low[d]);
    int64_t end = (w.result[d] - 1) * w.strides[d] + (w.window[d] - 1) * w.dilations[d] + 1;
    after.push_back(std::max<int64_t>(end - w.low[d] - w.image[d], 0));
  }
  Tensor padded = pad(emit, x, before, after, lowest), best, place;
  // Steps of the flattened image; by columns the first spatial dimension is the densest.
  SmallVector<int64_t> steps(rankOf(x), 1);
  for (int64_t dim = rankOf(x) - 2; dim >= 0; --dim)
    steps[dim] = steps[dim + 1] * shapeOf(x)[dim + 1];
  if (columnsFirst) {
    int64_t step = 1;
    for (int64_t d = 0; d < w.spatial(); ++d, step *= w.image[d - 1])
      steps[d + 2] = step;
  }
  auto places = RankedTensorType::get(shape, emit.getBuilder().getI64Type());
  forEachIndex(w.window, [&](ArrayRef<int64_t> cell, int64_t) {
    SmallVector<int64_t> offsets{0, 0}, strides{1, 1};
    Affine at{0, {steps[0], steps[1]}};
    for (int64_t d = 0; d < w.spatial(); ++d) {
      offsets.push_back(cell[d] * w.dilations[d]);
      strides.push_back(w.strides[d]);
      at.offset += (offsets.back() - w.low[d]) * steps[d + 2];
      at.steps.push_back(w.strides[d] * steps[d + 2]);
    }
    Tensor value = emit.slice(padded, offsets, shape, strides), own = emit.affine(places, at);
    if (!value || !own)
      return;
    Tensor better = best ? emit.compare(graph::Predicate::gt, value, best) : nullptr;
    best = best ? emit.select(better, value, best) : value;
    place = place ? emit.select(better, own, place) : own;
  });
  return place;
}

static LogicalResult maxPoolRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  FailureOr<Windows> w = windowsOf(node, x, {});
  if (failed(w))
    return failure();
  for (int64_t d = 0; d < w->spatial(); ++d)
    for (int64_t i = 0; i < w->result[d]; ++i)
      if (w->cells(d, i, /*pads=*/false) == 0)
        return node.error("every window must hold a cell of the image: none in window " + Twine(i) +
                          " of spatial dimension " + Twine(d));
  if (node.wants(1)) {
    if (checkedSize(w->window).value_or(kMostCells) > kMostPlaces)
      return node.error("places are told apart in windows of at most " + Twine(kMostPlaces) + " cells");
    if (failed(node.result(1, placesOfLargest(emit, x, *w, node.integer("storage_order", 0) != 0))))
      return failure();
  }
  return node.result(0, emit.fromValue(graph::MaxPoolOp::create(
                            emit.getBuilder(), emit.getLoc(), typeLike(x, withResult(shapeOf(x).take_front(2), *w)),
                            emit.value(x), w->window, w->strides, w->dilations, w->low)));
}

static LogicalResult averagePoolRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  FailureOr<Windows> w = windowsOf(node, x, {});
  if (failed(w))
    return failure();
  int64_t channels = shapeOf(x)[1], spatial = w->spatial();
  bool pads = node.integer("count_include_pad", 0) != 0;
  bool whole = true;
  for (int64_t d = 0; d < spatial; ++d)
    for (int64_t i = 0; i < w->result[d]; ++i)
      whole &= w->cells(d, i, /*pads=*/false) == w->window[d];
  if (w->tiles() && whole) {
    SmallVector<int64_t> inside;
    for (int64_t d = 0; d < spatial; ++d)
      inside.push_back(3 + 2 * d);
    return node.result(0, mean(emit, tiled(emit, x, *w), inside, /*keep=*/false));
  }
  SmallVector<int64_t> ones{channels, 1};
  llvm::append_range(ones, w->window);
  Tensor kernel = emit.splat(typeLike(x, ones), 1);
  Tensor sum = kernel ? convolution(emit, x, kernel, channels, *w) : nullptr;
  if (!sum)
    return failure();
  if (std::optional<int64_t> windows = checkedSize(w->result); !windows || *windows > kMostExactCount)
    return node.error("averages must be of at most " + Twine(kMostExactCount) + " windows");
  HostTensor shares(w->result, elementOf(x));
  bool empty = false;
  forEachIndex(w->result, [&](ArrayRef<int64_t> index, int64_t position) {
    double count = 1;
    for (int64_t d = 0; d < spatial; ++d)
      count *= double(w->cells(d, index[d], pads));
    empty |= count == 0;
    shares.floats[position] = 1 / count;
  });
  if (empty)
    return node.error("every window must hold a cell");
  return node.result(0, emit.mul(sum, emit.constant(std::move(shares))));
}

/// (sum |x|^p)^(1/p) of each window.
static LogicalResult lpPoolRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  int64_t p = node.integer("p", 2);
  if (p < 1)
    return node.error("p must be at least 1, got: " + Twine(p));
  FailureOr<Windows> w = windowsOf(node, x, {});
  if (failed(w))
    return failure();
  Type element = elementOf(x);
  Tensor powers = p == 1   ? emit.unary<graph::AbsOp>(x)
                  : p == 2 ? emit.mul(x, x)
                           : emit.binary<graph::PowOp>(emit.unary<graph::AbsOp>(x), emit.scalar(double(p), element));
  SmallVector<int64_t> ones{shapeOf(x)[1], 1};
  llvm::append_range(ones, w->window);
  Tensor kernel = emit.splat(typeLike(x, ones), 1);
  Tensor sum = kernel && powers ? convolution(emit, powers, kernel, shapeOf(x)[1], *w) : nullptr;
  if (p == 1 || !sum)
    return node.result(0, sum);
  return node.result(0, p == 2 ? emit.unary<graph::SqrtOp>(sum)
                               : emit.binary<graph::PowOp>(sum, emit.scalar(1 / double(p), element)));
}

/// Over all cells of each channel; they stay, with size 1.
template <typename Reduce> static LogicalResult globalPool(OpBinder &node, Reduce reduce) {
  Tensor x = node.input(0);
  if (rankOf(x) < 3)
    return node.error("must have an image [n, c, ..], got rank: " + Twine(rankOf(x)));
  return node.result(0, reduce(node.emit(), x, llvm::to_vector(llvm::seq<int64_t>(2, rankOf(x)))));
}

void dtcc::onnx::addWindowRules(RuleTable &table) {
  table.on("Conv", 1, {2, 3}, convRule);
  table.on("CausalConvWithState", 27, {2, 4}, ofFloats<causalConvRule>);
  table.on("MaxPool", 1, {1, 1}, maxPoolRule);
  table.on("AveragePool", 1, {1, 1}, averagePoolRule);
  table.on("LpPool", 2, {1, 1}, ofFloats<lpPoolRule>);
  table.on("GlobalLpPool", 2, {1, 1}, [](OpBinder &node) {
    if (node.integer("p", 2) != 2)
      return LogicalResult(node.error("p must be 2"));
    return globalPool(node, [](Emitter &emit, const Tensor &x, ArrayRef<int64_t> dims) {
      return emit.unary<graph::SqrtOp>(reduce(emit, Reduction::Sum, emit.mul(x, x), dims, /*keep=*/true));
    });
  });
  table.on("GlobalAveragePool", 1, {1, 1}, [](OpBinder &node) {
    return globalPool(node, [](Emitter &emit, const Tensor &x, ArrayRef<int64_t> dims) {
      return mean(emit, x, dims, /*keep=*/true);
    });
  });
  table.on("GlobalMaxPool", 1, {1, 1}, [](OpBinder &node) {
    return globalPool(node, [](Emitter &emit, const Tensor &x, ArrayRef<int64_t> dims) {
      return reduce(emit, Reduction::Max, x, dims, /*keep=*/true);
    });
  });
}
