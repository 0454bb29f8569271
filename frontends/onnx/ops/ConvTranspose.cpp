//===- ops/ConvTranspose.cpp - Transposed convolution
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A transposed convolution is a product if its windows lie side by side. Else it is a convolution
// of the image, with zeros between its cells, by the reversed kernel.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Rules.h"
#include "frontends/onnx/emit/Dimensions.h"
#include "frontends/onnx/emit/Products.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

/// Zeros between the cells of dimension `dim`, so that neighbours are `stride` apart.
static Tensor spread(Emitter &emit, const Tensor &x, int64_t dim, int64_t stride) {
  SmallVector<int64_t> split(shapeOf(x)), joined(shapeOf(x)), cut(shapeOf(x)), none(rankOf(x), 0), unit(rankOf(x), 1);
  split.insert(split.begin() + dim + 1, 1);
  SmallVector<int64_t> low(split.size(), 0), high(split.size(), 0);
  high[dim + 1] = stride - 1;
  joined[dim] *= stride;
  cut[dim] = joined[dim] - (stride - 1);
  return emit.slice(emit.reshape(pad(emit, emit.reshape(x, split), low, high, 0), joined), none, cut, unit);
}

namespace {
/// The attributes, one entry per spatial dimension. `low` and `high` are cut off the result's ends.
struct Spreading {
  SmallVector<int64_t> strides, dilations, low, high, more;
};
} // namespace

static FailureOr<Spreading> spreadingOf(OpBinder &node, ArrayRef<int64_t> image, ArrayRef<int64_t> window) {
  int64_t spatial = window.size();
  auto entries = [&](StringRef name, int64_t otherwise) {
    return node.integers(name).value_or(SmallVector<int64_t>(spatial, otherwise));
  };
  Spreading s{entries("strides", 1), entries("dilations", 1), {}, {}, entries("output_padding", 0)};
  SmallVector<int64_t> pads = node.integers("pads").value_or(SmallVector<int64_t>(2 * spatial, 0));
  std::string automatic = node.text("auto_pad", "NOTSET");
  auto wanted = node.integers("output_shape");
  if (wanted && int64_t(wanted->size()) == spatial + 2)
    wanted->erase(wanted->begin(), wanted->begin() + 2);
  if ((automatic != "NOTSET" && automatic != "VALID" && automatic != "SAME_UPPER" && automatic != "SAME_LOWER") ||
      (wanted && int64_t(wanted->size()) != spatial))
    return node.error("auto_pad must be NOTSET, VALID, SAME_UPPER or SAME_LOWER, and output_shape have an entry for "
                      "each of " +
                      Twine(spatial) + " spatial dimensions, got: " + automatic);
  for (const SmallVector<int64_t> *list : {&s.strides, &s.dilations, &s.more})
    if (int64_t(list->size()) != spatial)
      return node.error("strides, dilations and output_padding must have an entry for each of " + Twine(spatial) +
                        " spatial dimensions");
  if (int64_t(pads.size()) != 2 * spatial)
    return node.error("pads must have two entries for each of " + Twine(spatial) + " spatial dimensions");
  s.low.assign(pads.begin(), pads.begin() + spatial);
  s.high.assign(pads.begin() + spatial, pads.end());
  for (int64_t d = 0; d < spatial; ++d) {
    if (s.strides[d] < 1 || s.dilations[d] < 1 || s.more[d] < 0 || s.low[d] < 0 || s.high[d] < 0)
      return node.error("strides and dilations must be at least 1, pads and output_padding at least 0, in dimension " +
                        Twine(d));
    if (int64_t most = std::max({image[d], window[d], s.strides[d], s.dilations[d], s.low[d], s.high[d], s.more[d]});
        most > kMostWindow)
      return node.error("the image, the kernel, strides, dilations, pads and output_padding must be at most " +
                        Twine(kMostWindow) + ", got: " + Twine(most) + " in dimension " + Twine(d));
    int64_t reach = (window[d] - 1) * s.dilations[d];
    if (wanted || StringRef(automatic).starts_with("SAME")) {
      int64_t size = wanted ? (*wanted)[d] : image[d] * s.strides[d];
      int64_t total = s.strides[d] * (image[d] - 1) + s.more[d] + reach + 1 - size;
      // A result that is larger than what the windows cover has zeros at its end.
      s.more[d] += std::max<int64_t>(-total, 0);
      total = std::max<int64_t>(total, 0);
      s.low[d] = automatic == "SAME_UPPER" || automatic == "NOTSET" ? total / 2 : total - total / 2;
      s.high[d] = total - s.low[d];
    } else if (automatic == "VALID") {
      s.low[d] = s.high[d] = 0;
    }
  }
  return s;
}

/// x [n, c, s..], kernel [c, m, k..] with k = stride and nothing cut off: a cell makes a block.
static Tensor blocks(Emitter &emit, const Tensor &x, const Tensor &kernel) {
  std::string image = "nc", weights = "cm", result = "nm";
  SmallVector<int64_t> shape{shapeOf(x)[0], shapeOf(kernel)[1]};
  for (int64_t d = 0; d < rankOf(x) - 2; ++d) {
    char cell = 'd' + int(d), inside = 'p' + int(d);
    image += cell;
    weights += inside;
    result += {cell, inside};
    shape.push_back(shapeOf(x)[d + 2] * shapeOf(kernel)[d + 2]);
  }
  return emit.reshape(contract(emit, image + "," + weights + "->" + result, x, kernel), shape);
}

static LogicalResult convTransposeRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0), kernel = node.input(1);
  int64_t spatial = rankOf(x) - 2, groups = node.integer("group", 1);
  if (spatial < 1 || spatial > 3 || rankOf(kernel) != rankOf(x) || !isFloat(x) || shapeOf(kernel)[0] != shapeOf(x)[1])
    return node.error("must have an image of floats [n, c, ..] with 1 to 3 spatial dimensions and a kernel [c, m, ..]");
  if (groups < 1 || shapeOf(x)[1] % groups)
    return node.error("the groups must divide the image's channels, got: " + Twine(groups) + " and " +
                      Twine(shapeOf(x)[1]));
  ArrayRef<int64_t> image = shapeOf(x).drop_front(2), window = shapeOf(kernel).drop_front(2);
  FailureOr<Spreading> s = spreadingOf(node, image, window);
  if (failed(s))
    return failure();
  auto zero = [](int64_t cells) { return cells == 0; };
  int64_t outputs = shapeOf(kernel)[1] * groups;
  Tensor y;
  if (groups == 1 && window == ArrayRef(s->strides) && llvm::all_of(s->low, zero) && llvm::all_of(s->high, zero) &&
      llvm::all_of(s->more, zero) && llvm::all_of(s->dilations, [](int64_t step) { return step == 1; })) {
    y = blocks(emit, x, kernel);
  } else {
    // [g, c, m, k..] backwards is the kernel [g, m, c, k..] of a convolution with steps of one.
    SmallVector<int64_t> in{shapeOf(x)[0], groups, shapeOf(x)[1] / groups}, out{in[0], groups, shapeOf(kernel)[1]};
    SmallVector<int64_t> weights{groups, in[2], out[2]}, turn{0, 2, 1}, low, result{in[0], outputs};
    llvm::append_range(weights, window);
    for (int64_t d = 0; d < spatial; ++d) {
      int64_t reach = (window[d] - 1) * s->dilations[d], spreadSize = (image[d] - 1) * s->strides[d] + 1;
      // Pads beyond the kernel's reach cut off cells of the image that no cell of the result reads.
      int64_t unreadLow = std::max<int64_t>(s->low[d] - reach, 0);
      int64_t unreadHigh = std::max<int64_t>(s->high[d] - reach - s->more[d], 0);
      if (unreadLow + unreadHigh >= spreadSize)
        return node.error("pads must leave a cell of the image, got: " + Twine(s->low[d]) + " and " +
                          Twine(s->high[d]) + " in dimension " + Twine(d));
      x = spread(emit, x, d + 2, s->strides[d]);
      if (x && unreadLow + unreadHigh)
        x = cut(emit, x, d + 2, unreadLow, spreadSize - unreadLow - unreadHigh);
      kernel = reversed(emit, kernel, d + 2);
      if (!x || !kernel)
        return failure();
      turn.push_back(d + 3);
      low.push_back(std::max<int64_t>(reach - s->low[d], 0));
      result.push_back(spreadSize + reach - s->low[d] - s->high[d] + s->more[d]);
      if (result.back() < 1)
        return node.error("pads must leave a cell of the result, got: " + Twine(result.back()) + " in dimension " +
                          Twine(d));
    }
    llvm::append_range(in, shapeOf(x).drop_front(2));
    llvm::append_range(out, ArrayRef(result).drop_front(2));
    Tensor filter = emit.transpose(emit.reshape(kernel, weights), turn), cells = emit.reshape(x, in);
    SmallVector<int64_t> steps(spatial, 1);
    auto op = graph::ConvolutionOp::create(emit.getBuilder(), emit.getLoc(), typeLike(x, out), emit.value(cells),
                                           emit.value(filter), steps, s->dilations, low);
    y = emit.reshape(emit.fromValue(op), result);
  }
  if (!y)
    return failure();
  Tensor bias = node.has(2) ? node.input(2) : node.getImporter().initializers.droppedBias(node.proto(), shapeOf(y)[1]);
  return node.result(0, affineChannels(emit, y, nullptr, bias));
}

void dtcc::onnx::addConvTransposeRules(RuleTable &table) { table.on("ConvTranspose", 1, {2, 3}, convTransposeRule); }
