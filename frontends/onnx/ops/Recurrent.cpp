//===- ops/Recurrent.cpp - RNN, GRU and LSTM
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inputs are projected at once. The steps of a longer layer are then one graph.recurrence for each
// direction, those of a short layer are written out. The gates of a layer are a dimension of their
// own, so that hidden units of steps that are written out may be split over ranks.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Importer.h"
#include "frontends/onnx/Rules.h"
#include "frontends/onnx/emit/Dimensions.h"
#include "frontends/onnx/emit/Products.h"

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;

/// Steps of a layer that are written out, both directions: some twenty ops each, with their gradients.
static constexpr int64_t kMostSteps = 1024;
/// Layers of fewer steps are written out: their units may be split over ranks, and kernels join their functions.
static constexpr int64_t kLeastSteps = 17;

namespace {
/// Functions that `activations` may name.
using CellFunction = Tensor (*)(Emitter &, const Tensor &);

/// One direction of a layer. Weights are [gate, unit, from], biases [gate, unit] or null.
struct Layer {
  Emitter &emit;
  /// The gates that one product gives, after each other: Cell::products.
  SmallVector<Tensor> recurrent;
  Tensor recurrentBias;
  SmallVector<CellFunction> functions;
  bool linearBeforeReset = false;

  /// x [batch, from] times the weights of one part of the gates: [batch, gate, unit].
  Tensor product(const Tensor &x, size_t part) { return contract(emit, "bk,ghk->bgh", x, recurrent[part]); }
  Tensor gate(const Tensor &gates, int64_t number);
};

/// h, and c of an LSTM (else null), [batch, unit]; null: zeros.
struct Memory {
  Tensor h, c;
};

/// One kind of cell: what a step makes of the projected inputs [batch, gate, unit] and the memory.
struct Cell {
  int64_t gates;
  /// Numbers of gates for which the hidden state is multiplied at once.
  SmallVector<int64_t> products;
  SmallVector<StringRef> functions;
  /// The cell of graph.recurrence with these functions; nothing if there is none. `resetAfter`: linear_before_reset.
  std::optional<RecurrentCell> (*kind)(ArrayRef<StringRef> functions, bool resetAfter);
  Memory (*step)(Layer &layer, const Tensor &projected, const Memory &memory);
};
} // namespace

static Tensor sliceOf(Emitter &emit, const Tensor &x, int64_t dim, int64_t first, int64_t count) {
  SmallVector<int64_t> offsets(rankOf(x), 0), sizes(shapeOf(x)), steps(rankOf(x), 1);
  offsets[dim] = first;
  sizes[dim] = count;
  return emit.slice(x, offsets, sizes, steps);
}

static Tensor cellAt(Emitter &emit, const Tensor &x, int64_t dim, int64_t i) {
  return squeeze(emit, sliceOf(emit, x, dim, i, 1), dim);
}

Tensor Layer::gate(const Tensor &gates, int64_t number) { return cellAt(emit, gates, 1, number); }

/// x + y, where either may be null for zeros.
static Tensor sum(Emitter &emit, const Tensor &x, const Tensor &y) { return !x ? y : !y ? x : emit.add(x, y); }

static Memory rnnStep(Layer &layer, const Tensor &projected, const Memory &memory) {
  Tensor gates = memory.h ? layer.emit.add(projected, layer.product(memory.h, 0)) : projected;
  return {layer.functions[0](layer.emit, layer.gate(gates, 0)), nullptr};
}

/// Gates input, output, forget, cell.
static Memory lstmStep(Layer &layer, const Tensor &projected, const Memory &memory) {
  Emitter &emit = layer.emit;
  Tensor gates = memory.h ? emit.add(projected, layer.product(memory.h, 0)) : projected;
  auto of = [&](int64_t number, int64_t function) {
    return layer.functions[function](emit, layer.gate(gates, number));
  };
  Tensor c = emit.mul(of(0, 0), of(3, 1));
  if (memory.c)
    c = emit.add(emit.mul(of(2, 0), memory.c), c);
  return {emit.mul(of(1, 0), layer.functions[2](emit, c)), c};
}

/// Gates update, reset, hidden.
static Memory gruStep(Layer &layer, const Tensor &projected, const Memory &memory) {
  Emitter &emit = layer.emit;
  Tensor gates = memory.h ? emit.add(sliceOf(emit, projected, 1, 0, 2), layer.product(memory.h, 0)) : projected;
  Tensor update = layer.functions[0](emit, layer.gate(gates, 0)),
         reset = layer.functions[0](emit, layer.gate(gates, 1));
  // The hidden gate reads the state as far as it is not reset. The reset comes before the product, or after it.
  Tensor bias = layer.recurrentBias ? cellAt(emit, layer.recurrentBias, 0, 2) : nullptr, remembered = bias;
  if (memory.h) {
    Tensor read = layer.linearBeforeReset ? memory.h : emit.mul(reset, memory.h);
    remembered = sum(emit, layer.gate(layer.product(read, 1), 0), bias);
  }
  if (remembered && layer.linearBeforeReset)
    remembered = emit.mul(reset, remembered);
  Tensor hidden = layer.functions[1](emit, sum(emit, layer.gate(projected, 2), remembered));
  Tensor fresh = emit.mul(emit.sub(emit.scalar(1, elementOf(update)), update), hidden);
  return {memory.h ? emit.add(fresh, emit.mul(update, memory.h)) : fresh, nullptr};
}

static std::optional<RecurrentCell> rnnKind(ArrayRef<StringRef> functions, bool) {
  if (functions[0] == "Sigmoid")
    return std::nullopt;
  return functions[0] == "Tanh" ? RecurrentCell::Tanh : RecurrentCell::Relu;
}
static std::optional<RecurrentCell> gruKind(ArrayRef<StringRef> functions, bool resetAfter) {
  if (functions != ArrayRef<StringRef>{"Sigmoid", "Tanh"})
    return std::nullopt;
  return resetAfter ? RecurrentCell::GruResetAfter : RecurrentCell::Gru;
}
static std::optional<RecurrentCell> lstmKind(ArrayRef<StringRef> functions, bool) {
  if (functions != ArrayRef<StringRef>{"Sigmoid", "Tanh", "Tanh"})
    return std::nullopt;
  return RecurrentCell::Lstm;
}

static CellFunction functionNamed(StringRef name) {
  if (name == "Sigmoid")
    return [](Emitter &emit, const Tensor &x) { return emit.unary<graph::LogisticOp>(x); };
  if (name == "Tanh")
    return [](Emitter &emit, const Tensor &x) { return emit.unary<graph::TanhOp>(x); };
  if (name == "Relu")
    return [](Emitter &emit, const Tensor &x) { return emit.unary<graph::ReluOp>(x); };
  return nullptr;
}

namespace {
/// A recurrent node's operands and attributes, checked.
struct Sequence {
  /// x [seq, batch, from], weights [direction, gates * unit, from], biases [direction, 2 * gates * unit] or null.
  Tensor x, weights, recurrent, biases;
  /// Initial states [direction, batch, unit]; null stands for zeros.
  Memory start;
  int64_t length, directions, units;
  bool batchFirst, reverse;
  bool resetAfter;
  /// Activation functions of all directions, one direction after the other, and their names.
  SmallVector<CellFunction> functions;
  SmallVector<StringRef> names;
  /// The cell of each direction if its steps are one op; empty where they are written out.
  SmallVector<RecurrentCell> kinds;
};
} // namespace

/// Operand i of the start [direction, batch, unit]; zeros, which exporters write for none, are null.
static FailureOr<Tensor> startOf(OpBinder &node, unsigned i, const Sequence &s) {
  if (!node.has(i))
    return Tensor();
  SmallVector<int64_t> shape{s.directions, shapeOf(s.x)[1], s.units};
  if (s.batchFirst)
    std::swap(shape[0], shape[1]);
  Tensor start = node.input(i);
  if (shapeOf(start) != ArrayRef(shape))
    return node.error(
        "what a layer starts with must be [direction, batch, unit], or, by layout, [batch, direction, unit]");
  if (knownSplat(start) == 0.0)
    return Tensor();
  return s.batchFirst ? node.emit().transpose(start, {1, 0, 2}) : start;
}

/// Decides whether the steps are one op or written out.
static LogicalResult chooseForm(OpBinder &node, const Cell &cell, Sequence &s) {
  if (s.length < kLeastSteps)
    return success();
  const size_t functions = cell.functions.size();
  for (int64_t direction = 0; elementOf(s.x).isF32() && direction < s.directions; ++direction)
    if (auto kind = cell.kind(ArrayRef(s.names).slice(direction * functions, functions), s.resetAfter))
      s.kinds.push_back(*kind);
  if (int64_t(s.kinds.size()) == s.directions)
    return success();
  s.kinds.clear();
  if (s.length > kMostSteps / s.directions)
    return node.error(
        "a sequence of 1 to " + Twine(kMostSteps / s.directions) +
        " steps can be written out, as layers of other types than f32 or of unusual activations are, got: " +
        Twine(s.length));
  return success();
}

static FailureOr<Sequence> sequenceOf(OpBinder &node, const Cell &cell) {
  Emitter &emit = node.emit();
  Sequence s;
  s.x = node.input(0), s.weights = node.input(1), s.recurrent = node.input(2), s.biases = node.input(3);
  std::string direction = node.text("direction", "forward");
  s.directions = direction == "bidirectional" ? 2 : 1;
  s.reverse = direction == "reverse";
  if (rankOf(s.x) != 3 || rankOf(s.weights) != 3 || rankOf(s.recurrent) != 3 || !isFloat(s.x))
    return node.error("must have floats [seq, batch, from], and weights of three dimensions");
  s.batchFirst = node.integer("layout", 0) != 0;
  if (s.batchFirst)
    s.x = emit.transpose(s.x, {1, 0, 2});
  s.length = shapeOf(s.x)[0];
  s.units = shapeOf(s.recurrent)[2];
  int64_t rows = cell.gates * s.units;
  if (shapeOf(s.weights) != ArrayRef<int64_t>{s.directions, rows, shapeOf(s.x)[2]} ||
      shapeOf(s.recurrent) != ArrayRef<int64_t>{s.directions, rows, s.units} ||
      (s.biases && shapeOf(s.biases) != ArrayRef<int64_t>{s.directions, 2 * rows}))
    return node.error("weights and biases must be of " + Twine(cell.gates) + " gates of " + Twine(s.units) +
                      " units, in " + Twine(s.directions) + " directions");
  if (s.length < 1)
    return node.error("must have at least 1 step, got: " + Twine(s.length));
  if (node.has(4)) {
    std::optional<double> lengths = knownSplat(node.input(4));
    if (!lengths || *lengths != static_cast<double>(s.length))
      return node.error("sequence_lens must be known, and of the whole sequence");
  }
  if (node.has(7) || node.hasAttribute("clip") || node.integer("input_forget", 0) != 0)
    return node.error("peepholes, clip and input_forget are not supported");
  FailureOr<Tensor> h = startOf(node, 5, s);
  if (failed(h))
    return failure();
  FailureOr<Tensor> c = cell.gates == 4 ? startOf(node, 6, s) : Tensor();
  if (failed(c))
    return failure();
  s.start = {*h, *c};
  const ::onnx::AttributeProto *named = node.attribute("activations");
  for (int64_t i = 0, count = s.directions * cell.functions.size(); i < count; ++i) {
    StringRef name = cell.functions[i % cell.functions.size()];
    if (named)
      name = i < named->strings_size() ? StringRef(named->strings(i)) : StringRef();
    s.functions.push_back(functionNamed(name));
    s.names.push_back(name);
    if (!s.functions.back())
      return node.error("activations must be Sigmoid, Tanh or Relu, " + Twine(count) + " of them, got: '" + name + "'");
  }
  s.resetAfter = node.integer("linear_before_reset", 0) != 0;
  if (failed(chooseForm(node, cell, s)))
    return failure();
  return s;
}

/// All steps of one direction as one op. `bias` [gate, unit] of the recurrent products or null.
static Memory runAtOnce(Emitter &emit, RecurrentCell cell, const Tensor &projected, const Tensor &weight,
                        const Tensor &bias, const Memory &start, bool backwards, SmallVectorImpl<Tensor> &results) {
  if (!projected || !weight)
    return {};
  ArrayRef<int64_t> shape = shapeOf(projected);
  const int64_t steps = shape[0], samples = shape[1], units = shape[3];
  auto typed = [&](ArrayRef<int64_t> sizes) { return typeLike(projected, sizes); };
  auto orZeros = [&](const Tensor &x, ArrayRef<int64_t> sizes) { return x ? x : emit.splat(typed(sizes), 0); };
  const bool hasC = cell == RecurrentCell::Lstm;
  Tensor other = hasC ? orZeros(start.c, {samples, units}) : nullptr;
  if (cell == RecurrentCell::GruResetAfter)
    other = bias ? cellAt(emit, bias, 0, 2) : emit.splat(typed({units}), 0);
  Type states = typed({steps, samples, units}), saved = typed({steps, samples, infoOf(cell).saved, units});
  Value inputs = emit.value(projected), weights = emit.value(weight);
  Value first = emit.value(orZeros(start.h, {samples, units})), last = other ? emit.value(other) : Value();
  auto op = graph::RecurrenceOp::create(emit.getBuilder(), emit.getLoc(), states, hasC ? states : Type(), saved, cell,
                                        inputs, weights, first, last, backwards, /*product_type=*/nullptr);
  Tensor h = emit.fromValue(op.getH()), c = hasC ? emit.fromValue(op.getC()) : nullptr;
  const int64_t end = backwards ? 0 : steps - 1;
  results.assign({h ? unsqueeze(emit, h, 1) : nullptr});
  return {h ? cellAt(emit, h, 0, end) : nullptr, c ? cellAt(emit, c, 0, end) : nullptr};
}

/// All steps of one direction: h after each, or of all steps together, [.., 1, batch, unit] in the order of the
/// sequence, and the last memory.
static Memory runDirection(OpBinder &node, const Cell &cell, const Sequence &s, int64_t direction,
                           SmallVectorImpl<Tensor> &results) {
  Emitter &emit = node.emit();
  auto gates = [&](const Tensor &x, int64_t first) {
    SmallVector<int64_t> shape{cell.gates, s.units};
    llvm::append_range(shape, shapeOf(x).drop_front(2));
    Tensor own = cellAt(emit, x, 0, direction);
    return emit.reshape(sliceOf(emit, own, 0, first, cell.gates * s.units), shape);
  };
  Layer layer{emit, {}, nullptr, {}};
  Tensor projected = contract(emit, "sbi,ghi->sbgh", s.x, gates(s.weights, 0));
  if (s.biases) {
    Tensor bias = gates(s.biases, 0);
    layer.recurrentBias = gates(s.biases, cell.gates * s.units);
    // The step adds the bias of a GRU's hidden gate if the reset applies to it.
    if (cell.step == gruStep && (s.resetAfter || s.kinds.empty())) {
      Tensor zero = emit.splat(typeLike(bias, {1, s.units}), 0);
      bias = emit.add(bias, emit.concat({sliceOf(emit, layer.recurrentBias, 0, 0, 2), zero}, 0));
    } else {
      bias = emit.add(bias, layer.recurrentBias);
    }
    projected = emit.add(projected, bias);
  }
  Memory memory{s.start.h ? cellAt(emit, s.start.h, 0, direction) : nullptr,
                s.start.c ? cellAt(emit, s.start.c, 0, direction) : nullptr};
  bool backwards = s.reverse || direction == 1;
  if (!s.kinds.empty())
    return runAtOnce(emit, s.kinds[direction], projected, gates(s.recurrent, 0), layer.recurrentBias, memory, backwards,
                     results);
  int64_t first = 0;
  for (int64_t count : cell.products) {
    layer.recurrent.push_back(sliceOf(emit, gates(s.recurrent, 0), 0, first, count));
    first += count;
  }
  size_t functions = cell.functions.size();
  layer.functions.assign(s.functions.begin() + direction * functions,
                         s.functions.begin() + (direction + 1) * functions);
  layer.linearBeforeReset = s.resetAfter;
  results.resize(s.length);
  for (int64_t i = 0; i < s.length; ++i) {
    int64_t place = backwards ? s.length - 1 - i : i;
    memory = cell.step(layer, cellAt(emit, projected, 0, place), memory);
    if (!memory.h)
      break;
    results[place] = unsqueeze(emit, unsqueeze(emit, memory.h, 0), 0);
  }
  return memory;
}

static LogicalResult recurrentRule(OpBinder &node, const Cell &cell) {
  Emitter &emit = node.emit();
  FailureOr<Sequence> s = sequenceOf(node, cell);
  if (failed(s))
    return failure();
  SmallVector<Tensor> whole, lastH, lastC;
  for (int64_t direction = 0; direction < s->directions; ++direction) {
    SmallVector<Tensor> results;
    Memory last = runDirection(node, cell, *s, direction, results);
    if (!last.h)
      return failure();
    whole.push_back(emit.concat(results, 0));
    lastH.push_back(unsqueeze(emit, last.h, 0));
    if (last.c)
      lastC.push_back(unsqueeze(emit, last.c, 0));
  }
  // [seq, direction, batch, unit] and [direction, batch, unit].
  Tensor y = emit.concat(whole, 1), h = emit.concat(lastH, 0), c = lastC.empty() ? nullptr : emit.concat(lastC, 0);
  if (s->batchFirst) {
    y = emit.transpose(y, {2, 0, 1, 3});
    h = emit.transpose(h, {1, 0, 2});
    c = c ? emit.transpose(c, {1, 0, 2}) : nullptr;
  }
  const Tensor outputs[] = {y, h, c};
  for (auto [i, value] : llvm::enumerate(outputs))
    if (node.wants(i) && failed(node.result(i, value)))
      return failure();
  return success();
}

void dtcc::onnx::addRecurrentRules(RuleTable &table) {
  table.on("RNN", 7, {3, 6}, [](OpBinder &node) { return recurrentRule(node, {1, {1}, {"Tanh"}, rnnKind, rnnStep}); });
  table.on("GRU", 7, {3, 6},
           [](OpBinder &node) { return recurrentRule(node, {3, {2, 1}, {"Sigmoid", "Tanh"}, gruKind, gruStep}); });
  table.on("LSTM", 7, {3, 8}, [](OpBinder &node) {
    return recurrentRule(node, {4, {4}, {"Sigmoid", "Tanh", "Tanh"}, lstmKind, lstmStep});
  });
}
