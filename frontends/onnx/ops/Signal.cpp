//===- ops/Signal.cpp - Transforms, windows and filters of sound
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A discrete Fourier transform is a product with a constant matrix of cosines and one of
// sines: n^2 multiplications where a fast transform takes n log n, but with the kernels,
// the placement and the gradients of products. Windows and filter banks are constants.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Rules.h"
#include "frontends/onnx/emit/Dimensions.h"
#include "frontends/onnx/emit/Indexing.h"
#include "frontends/onnx/emit/Products.h"
#include "frontends/onnx/file/Model.h"
#include <cmath>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

/// The largest matrix of cosines that is stored: 2048 frequencies of 2048 cells.
static constexpr int64_t kMostWaves = int64_t(1) << 22;

namespace {
/// A complex tensor by its parts; no imaginary part: zeros.
struct Complex {
  Tensor real, imaginary;
};
} // namespace

static Tensor sumOf(Emitter &emit, const Tensor &x, const Tensor &y) { return !x ? y : !y ? x : emit.add(x, y); }

/// A stored matrix of floats [rows, columns] whose cells `at` gives.
static Tensor tableOf(Emitter &emit, int64_t rows, int64_t columns, Type element,
                      llvm::function_ref<double(int64_t, int64_t)> at) {
  HostTensor cells({rows, columns}, element);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      cells.floats[i * columns + j] = at(i, j);
  cells.round();
  return emit.fromValue(graph::ConstantOp::create(emit.getBuilder(), emit.getLoc(),
                                                  RankedTensorType::get(cells.shape, element),
                                                  cast<ElementsAttr>(cells.toAttribute())));
}

/// The first `frequencies` of the transform of length `length` over the last dimension, whose cells beyond are zeros.
static Complex transformed(Emitter &emit, const Complex &x, int64_t length, int64_t frequencies, bool inverse) {
  int64_t given = std::min(shapeOf(x.real).back(), length), last = rankOf(x.real) - 1;
  Type element = elementOf(x.real);
  // exp(-2 pi i f k / length); the product of f and k counts modulo the length.
  auto wave = [&](int64_t f, int64_t k) { return 2 * M_PI * double(f * k % length) / double(length); };
  double share = inverse ? 1 / double(length) : 1, sign = inverse ? 1 : -1;
  Tensor cosines =
      tableOf(emit, frequencies, given, element, [&](int64_t f, int64_t k) { return share * std::cos(wave(f, k)); });
  Tensor sines = tableOf(emit, frequencies, given, element,
                         [&](int64_t f, int64_t k) { return share * sign * std::sin(wave(f, k)); });
  std::string letters;
  for (int64_t dim = 0; dim < last; ++dim)
    letters += static_cast<char>('a' + dim);
  auto product = [&](const Tensor &cells, const Tensor &table) {
    return cells ? contract(emit, letters + "y,zy->" + letters + "z", cut(emit, cells, last, 0, given), table)
                 : nullptr;
  };
  Tensor real = product(x.real, cosines), imaginary = product(x.real, sines);
  if (x.imaginary) {
    real = emit.sub(real, product(x.imaginary, sines));
    imaginary = sumOf(emit, imaginary, product(x.imaginary, cosines));
  }
  return {real, imaginary};
}

/// The parts of x [.., 1 or 2].
static Complex partsOf(Emitter &emit, const Tensor &x) {
  int64_t last = rankOf(x) - 1;
  auto part = [&](int64_t i) { return squeeze(emit, cut(emit, x, last, i, 1), last); };
  return {part(0), shapeOf(x)[last] > 1 ? part(1) : nullptr};
}

/// [.., 2] of both parts.
static Tensor joined(Emitter &emit, const Complex &x) {
  if (!x.real || !x.imaginary)
    return nullptr;
  int64_t rank = rankOf(x.real);
  return emit.concat({unsqueeze(emit, x.real, rank), unsqueeze(emit, x.imaginary, rank)}, rank);
}

/// The complex spectrum of half of the frequencies determines the other half of a real signal.
static Complex mirrored(Emitter &emit, const Complex &half, int64_t length) {
  int64_t last = rankOf(half.real) - 1, rest = length - shapeOf(half.real)[last];
  if (rest <= 0)
    return half;
  auto turned = [&](const Tensor &x) { return reversed(emit, cut(emit, x, last, 1, rest), last); };
  Tensor real = turned(half.real), imaginary = half.imaginary ? turned(half.imaginary) : nullptr;
  if (imaginary)
    imaginary = emit.unary<graph::NegOp>(imaginary);
  return {emit.concat({half.real, real}, last), imaginary ? emit.concat({half.imaginary, imaginary}, last) : nullptr};
}

static LogicalResult dftRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0);
  int64_t rank = rankOf(x);
  if (rank < 2 || shapeOf(x).back() < 1 || shapeOf(x).back() > 2)
    return node.error("must have a signal [.., n, .., 1 or 2], whose last dimension holds the parts of a number");
  int64_t which = node.opset() < 20 ? node.integer("axis", 1) : -2;
  if (node.opset() >= 20 && node.has(2)) {
    FailureOr<SmallVector<int64_t>> given = node.constantIntegers(2);
    if (failed(given))
      return failure();
    if (given->size() != 1)
      return node.error("the axis must be one number");
    which = (*given)[0];
  }
  FailureOr<int64_t> axis = node.axis(which, rank);
  if (failed(axis))
    return failure();
  if (*axis == rank - 1)
    return node.error("the axis must not be the last dimension, which holds the parts of a number");
  bool inverse = node.integer("inverse", 0) != 0, half = node.integer("onesided", 0) != 0;
  int64_t length = shapeOf(x)[*axis];
  // Half a spectrum, back to a signal of real numbers.
  bool toReal = inverse && half;
  if (toReal)
    length = 2 * (length - 1);
  if (node.has(1)) {
    FailureOr<SmallVector<int64_t>> given = node.constantIntegers(1);
    if (failed(given))
      return failure();
    if (given->size() != 1)
      return node.error("the length must be one number");
    length = (*given)[0];
  }
  if (length < 1 || length > kMostWaves / length)
    return node.error("a transform of 1 to 2048 cells is supported, got: " + Twine(length));
  SmallVector<int64_t> turn = llvm::to_vector(llvm::seq<int64_t>(0, rank - 1));
  std::swap(turn[*axis], turn.back());
  Complex signal = partsOf(emit, x);
  signal.real = emit.transpose(signal.real, turn);
  signal.imaginary = signal.imaginary ? emit.transpose(signal.imaginary, turn) : nullptr;
  if (!signal.real)
    return failure();
  int64_t frequencies = half && !inverse ? length / 2 + 1 : length;
  if (toReal)
    signal = mirrored(emit,
                      {cut(emit, signal.real, rank - 2, 0, std::min(length / 2 + 1, shapeOf(signal.real).back())),
                       signal.imaginary ? cut(emit, signal.imaginary, rank - 2, 0,
                                              std::min(length / 2 + 1, shapeOf(signal.real).back()))
                                        : nullptr},
                      length);
  Complex y = transformed(emit, signal, length, frequencies, inverse);
  y.real = emit.transpose(y.real, turn);
  if (toReal)
    return node.result(0, y.real ? unsqueeze(emit, y.real, rank - 1) : nullptr);
  y.imaginary = emit.transpose(y.imaginary, turn);
  return node.result(0, joined(emit, y));
}

/// signal [b, n, 1 or 2] cut into frames, one every `step` cells, times a window, transformed: [b, frames, f, 2].
static LogicalResult stftRule(OpBinder &node) {
  Emitter &emit = node.emit();
  Tensor x = node.input(0), window = node.input(2);
  if (rankOf(x) == 2)
    x = unsqueeze(emit, x, 2);
  FailureOr<SmallVector<int64_t>> step = node.constantIntegers(1);
  if (failed(step))
    return failure();
  int64_t length = window ? shapeOf(window).back() : 0;
  if (node.has(3)) {
    FailureOr<SmallVector<int64_t>> given = node.constantIntegers(3);
    if (failed(given))
      return failure();
    length = given->empty() ? 0 : given->front();
  }
  if (rankOf(x) != 3 || shapeOf(x)[2] < 1 || shapeOf(x)[2] > 2 || step->size() != 1 || step->front() < 1 ||
      length < 1 || length > shapeOf(x)[1] || length > kMostWaves / length ||
      (window && shapeOf(window) != ArrayRef<int64_t>{length}))
    return node.error("must have a signal [b, n, 1 or 2], a step of at least 1, and frames of 1 to 2048 cells and the "
                      "length of the window, if there is one");
  int64_t frames = (shapeOf(x)[1] - length) / step->front() + 1;
  if (frames > kMostWindow)
    return node.error("must have at most " + Twine(kMostWindow) + " frames, got: " + Twine(frames));
  auto places = RankedTensorType::get({frames, length}, emit.getBuilder().getI64Type());
  Complex signal = partsOf(emit, x);
  auto framed = [&](const Tensor &part) {
    Tensor cells = gather(emit, part, emit.affine(places, {0, {step->front(), 1}}), 1);
    return window ? emit.mul(cells, window) : cells;
  };
  Complex cells{framed(signal.real), signal.imaginary ? framed(signal.imaginary) : nullptr};
  if (!cells.real)
    return failure();
  bool half = node.integer("onesided", 1) != 0;
  return node.result(0, joined(emit, transformed(emit, cells, length, half ? length / 2 + 1 : length, false)));
}

/// The number in operand i, which must be known.
static FailureOr<double> numberOf(OpBinder &node, unsigned i) {
  std::optional<double> cell = knownSplat(node.input(i));
  if (!cell || cellsOf(shapeOf(node.input(i))) != 1)
    return node.error("operand " + Twine(i) + " must be a number known at compile time");
  return *cell;
}

static FailureOr<Type> drawnType(OpBinder &node) {
  auto number = static_cast<int32_t>(node.integer("output_datatype", 1));
  Type type = elementType(node.emit().getBuilder().getContext(), number);
  if (!type)
    return node.error("cannot make " + elementTypeName(number));
  return type;
}

/// A window sum of a[k] * cos(2 pi k i / n) with alternating signs, over n cells or, if symmetric, n - 1.
template <int Kind> static LogicalResult windowRule(OpBinder &node) {
  // Hann, Hamming and Blackman, as the operators define them.
  static constexpr double kTerms[][3] = {{0.5, 0.5, 0}, {25.0 / 46, 1 - 25.0 / 46, 0}, {0.42, 0.5, 0.08}};
  Emitter &emit = node.emit();
  FailureOr<double> size = numberOf(node, 0);
  FailureOr<Type> type = drawnType(node);
  if (failed(size) || failed(type))
    return failure();
  if (!(*size >= 1 && *size <= kMostWindow))
    return node.error("the size must be between 1 and " + Twine(kMostWindow));
  auto count = static_cast<int64_t>(*size);
  HostTensor cells({count}, emit.getBuilder().getF32Type());
  double steps = node.integer("periodic", 1) ? *size : *size - 1;
  const double *term = kTerms[Kind];
  for (int64_t i = 0; i < count; ++i) {
    double angle = steps > 0 ? 2 * M_PI * double(i) / steps : 0;
    cells.floats[i] = term[0] - term[1] * std::cos(angle) + term[2] * std::cos(2 * angle);
  }
  cells.round();
  return node.result(0, emit.cast(emit.constant(std::move(cells)), *type));
}

/// Triangles [frequency, filter] that are evenly spaced on the mel scale.
static LogicalResult melRule(OpBinder &node) {
  Emitter &emit = node.emit();
  double numbers[5];
  for (unsigned i = 0; i < 5; ++i) {
    FailureOr<double> number = numberOf(node, i);
    if (failed(number))
      return failure();
    numbers[i] = *number;
  }
  FailureOr<Type> type = drawnType(node);
  if (failed(type))
    return failure();
  auto [filters, length, rate, low, high] = numbers;
  if (!(filters >= 1 && length >= 1 && filters * length <= double(kMostWaves)) || !(rate > 0))
    return node.error("must have at least one filter of one frequency, and at most " + Twine(kMostWaves) + " together");
  auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  auto rows = static_cast<int64_t>(length / 2) + 1, columns = static_cast<int64_t>(filters);
  // Bins of the edges, lowest first; each filter rises from one edge to the next and falls to the one behind.
  double first = mel(low), step = (mel(high) - first) / (filters + 2);
  SmallVector<int64_t> edges;
  for (int64_t i = 0; i < columns + 2; ++i) {
    double hertz = 700 * (std::pow(10, (double(i) * step + first) / 2595) - 1);
    edges.push_back(static_cast<int64_t>(std::floor((length + 1) * hertz / rate)));
  }
  HostTensor cells({rows, columns}, emit.getBuilder().getF32Type());
  for (int64_t i = 0; i < columns; ++i) {
    int64_t lower = edges[i], center = edges[i + 1], upper = edges[i + 2];
    auto put = [&](int64_t row, double cell) {
      if (row >= 0 && row < rows)
        cells.floats[row * columns + i] = cell;
    };
    if (center == lower)
      put(center, 1);
    for (int64_t row = lower; row <= center && center > lower; ++row)
      put(row, double(row - lower) / double(center - lower));
    for (int64_t row = center; row < upper; ++row)
      put(row, double(upper - row) / double(upper - center));
  }
  cells.round();
  return node.result(0, emit.cast(emit.constant(std::move(cells)), *type));
}

void dtcc::onnx::addSignalRules(RuleTable &table) {
  table.on("DFT", 17, {1, 3}, ofFloats<dftRule>);
  table.on("STFT", 17, {2, 4}, ofFloats<stftRule>);
  table.on("HannWindow", 17, {1, 1}, windowRule<0>);
  table.on("HammingWindow", 17, {1, 1}, windowRule<1>);
  table.on("BlackmanWindow", 17, {1, 1}, windowRule<2>);
  table.on("MelWeightMatrix", 17, {5, 5}, melRule, /*numbers=*/1 << 3 | 1 << 4);
}
