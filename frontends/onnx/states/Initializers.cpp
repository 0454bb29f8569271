//===- Initializers.cpp - Initializers as states and constants
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/states/Initializers.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

/// All elements have the same bytes.
static bool isUniform(const StoredTensor &stored) {
  size_t width = stored.width();
  return stored.bytes.size() <= width ||
         std::memcmp(stored.bytes.data(), stored.bytes.data() + width, stored.bytes.size() - width) == 0;
}

bool dtcc::onnx::storesMatrices(const SourceFile &source) {
  return llvm::any_of(source.model.proto().graph().initializer(), [&](const TensorProto &tensor) {
    std::optional<int64_t> cells = checkedSize(SmallVector<int64_t>(tensor.dims().begin(), tensor.dims().end()));
    return tensor.dims_size() > 1 && cells != 1 &&
           isa_and_nonnull<FloatType>(source.model.elementType(tensor.data_type()));
  });
}

Tensor Initializers::makeState(const StoredTensor &stored, StringRef name) {
  return states.make(stored, name, stored.hasData && !source.options.randomInit);
}

void Initializers::note(const Twine &text) { emitRemark(emitter.getLoc(), text); }

std::string dtcc::onnx::firstOf(ArrayRef<std::string> names) {
  constexpr size_t kNamed = 4;
  return "'" + llvm::join(names.take_front(kNamed), "', '") + "'" + (names.size() > kNamed ? ", .." : "");
}

void Initializers::printNotes() {
  if (size_t count = unmergedNames.size())
    emitRemark(source.model.loc()) << "the exporter merged parameters with equal numbers into " << count
                                   << (count == 1 ? " initializer, " : " initializers, ") << firstOf(unmergedNames)
                                   << ": each is a parameter again, under its name in the module or after its node";
  if (size_t count = restoredBiases.size())
    emitRemark(source.model.loc()) << "the exporter dropped " << count << (count == 1 ? " bias" : " biases")
                                   << " of zeros, which " << (count == 1 ? "is" : "are")
                                   << " restored: " << firstOf(restoredBiases);
}

bool Initializers::isFilledWeight(const Tensor &cell, ArrayRef<int64_t> shape) const {
  // Vectors may be stored: such a file fills what would make it large.
  return !source.manifest.exists() && isFloat(cell) && !shape.empty() && !storesMatrices(source);
}

Tensor Initializers::makeFilled(StringRef name, const Tensor &cell, ArrayRef<int64_t> shape) {
  StoredTensor stored;
  stored.name = name.str();
  stored.type = typeLike(cell, shape);
  stored.stored = stored.type.getElementType();
  Tensor read = makeState(stored, name);
  ++filled;
  states.find(read)->op.setInitAttr(
      graph::InitAttr::get(read->type.getContext(), graph::InitKind::constant, knownSplat(cell).value_or(0), 0.0));
  return read;
}

/// An integer buffer that steps change. A state is a float, which holds integers up to 2^24 exactly.
Tensor Initializers::makeCounter(const StoredTensor &stored, StringRef name) {
  HostTensor integers = stored.toHost();
  StoredTensor floats;
  floats.name = name.str();
  floats.type = RankedTensorType::get(stored.type.getShape(), Float32Type::get(stored.type.getContext()));
  floats.stored = floats.type.getElementType();
  auto bytes = std::make_shared<std::vector<char>>(integers.ints.size() * sizeof(float));
  for (auto [i, cell] : llvm::enumerate(integers.ints)) {
    float value = static_cast<float>(cell);
    if (static_cast<int64_t>(value) != cell)
      return emitter.error("buffer '" + name + "' must hold integers below 2^24, got: " + Twine(cell));
    std::memcpy(bytes->data() + i * sizeof(float), &value, sizeof(float));
  }
  floats.bytes = *bytes;
  floats.owner = bytes;
  floats.hasData = true;
  return emitter.cast(makeState(floats, name), stored.type.getElementType());
}

/// Equal cells, `b` transposed if asked. Both are matrices of `width`-byte elements.
static bool sameCells(const StoredTensor &a, const StoredTensor &b, bool transposed) {
  size_t width = a.width();
  if (!transposed)
    return std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) == 0;
  int64_t rows = a.type.getDimSize(0), columns = a.type.getDimSize(1);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      if (std::memcmp(a.bytes.data() + (i * columns + j) * width, b.bytes.data() + (j * rows + i) * width, width) != 0)
        return false;
  return true;
}

/// The state that `stored` repeats, as it stands or transposed, or null.
Tensor Initializers::findTied(const StoredTensor &stored) {
  auto view = [&](State &state, bool transposed) {
    state.ties.push_back({stored.name, transposed});
    return transposed ? emitter.transpose(state.read, {1, 0}) : state.read;
  };
  bool matrix = stored.type.getRank() == 2;
  auto turned = [&](const State &state) {
    return matrix && state.stored.type.getDimSize(0) == stored.type.getDimSize(1) &&
           state.stored.type.getDimSize(1) == stored.type.getDimSize(0) && state.stored.type.getRank() == 2;
  };
  for (const auto &[a, b] : source.options.ties)
    for (const auto &[one, other] : {std::pair(a, b), std::pair(b, a)})
      if (State *state = other == stored.name ? states.find(one) : nullptr) {
        if (state->stored.type == stored.type)
          return view(*state, false);
        if (turned(*state))
          return view(*state, true);
        return emitter.error("tied initializers '" + one + "' and '" + other +
                             "' must have one shape, or transposed ones");
      }
  if (!matrix || !stored.hasData || source.manifest.exists() || source.form || isUniform(stored))
    return nullptr;
  for (State &state : states.all()) {
    if (!state.stored.hasData || state.stored.bytes.size() != stored.bytes.size() ||
        state.stored.stored != stored.stored)
      continue;
    bool same = state.stored.type == stored.type && sameCells(stored, state.stored, false);
    bool transposed = !same && turned(state) && sameCells(stored, state.stored, true);
    if (!same && !transposed)
      continue;
    // Copies of a layer start with equal numbers, and are parameters of their own.
    const auto &[mine, isLookedUp] = inModule[stored.name];
    const auto &[other, otherIsLookedUp] = inModule[state.name];
    if (!mine.empty() && !other.empty() && mine != other && !isLookedUp && !otherIsLookedUp)
      continue;
    note("initializer '" + stored.name + "' holds the " + (transposed ? "transposed " : "") + "numbers of '" +
         state.name + "': the two train as one parameter (tied)");
    return view(state, transposed);
  }
  return nullptr;
}

/// Buffers whose data the file leaves out, by their usual names.
Tensor Initializers::withoutData(const StoredTensor &stored) {
  StringRef name = stored.name;
  ArrayRef<int64_t> shape = stored.type.getShape();
  Type element = stored.type.getElementType();
  if (isa<FloatType>(element) && shape.size() == 1 && name.ends_with("inv_freq")) {
    note("buffer '" + name + "' has no data; rotary frequencies of base 10000 are assumed");
    HostTensor cells(shape, element);
    for (int64_t i = 0; i < shape[0]; ++i)
      cells.floats[i] = std::pow(10000.0, -double(i) / double(shape[0]));
    cells.round();
    return emitter.constant(std::move(cells));
  }
  if (element.isInteger(64) && !shape.empty()) {
    Affine cells{0, SmallVector<int64_t>(shape.size(), 0)};
    bool positions = name.ends_with("position_ids");
    if (positions)
      cells.steps.back() = 1;
    note("buffer '" + name + "' has no data; " + (positions ? "0, 1, 2, ..." : "zeros") + " are assumed");
    return emitter.affine(stored.type, cells);
  }
  return emitter.error("initializer '" + name + "' has no data, and its kind of value cannot be guessed");
}

Tensor Initializers::read(const TensorProto &tensor, StringRef name) {
  FailureOr<StoredTensor> stored = source.model.decode(tensor, emitter.getLoc());
  if (failed(stored))
    return nullptr;
  stored->name = name.str();
  // Nothing of a tensor without elements trains, and no op holds it. What is computed of it is known.
  if (cellsOf(stored->type.getShape()) == 0)
    return emitter.constant(HostTensor(stored->type.getShape(), stored->type.getElementType()));
  bool floats = isa<FloatType>(stored->type.getElementType());
  if (source.manifest.isUpdated(name) && stored->hasData && !isa<FloatType>(stored->type.getElementType()))
    return makeCounter(*stored, name);
  bool named = source.manifest.find(name) || source.manifest.isUpdated(name) || source.signature.isParameter(name) ||
               llvm::is_contained(source.options.trainable, name) ||
               (source.form && source.form->trained.contains(name));
  if (floats && !(name.ends_with("inv_freq") && !stored->hasData) && (stored->type.getRank() > 0 || named)) {
    // A loop reads its own initializers once a step.
    Tensor &inner = innerStates[&tensor];
    if (!inner && !(inner = findTied(*stored)))
      inner = makeState(*stored, name);
    return inner;
  }
  if (!stored->hasData)
    return withoutData(*stored);
  Tensor cells = emitter.constant(stored->toHost());
  cells->unsignedBits = unsignedBits(tensor.data_type());
  return cells;
}

Tensor Initializers::readConstant(const TensorProto &tensor, StringRef name) {
  FailureOr<StoredTensor> stored = source.model.decode(tensor, emitter.getLoc());
  if (failed(stored))
    return nullptr;
  if (!stored->hasData)
    return emitter.error("a constant must have its data in the file");
  // Some exporters write weights as constants: whether these train is decided at the end.
  bool isMatrix = stored->type.getRank() >= 2 && cellsOf(stored->type.getShape()) > 64;
  if (isa<FloatType>(stored->type.getElementType()) &&
      (isMatrix || llvm::is_contained(source.options.trainable, name))) {
    stored->name = name.str();
    Tensor &inner = innerStates[&tensor];
    if (!inner) {
      inner = makeState(*stored, name);
      states.find(inner)->isConstant = true;
    }
    return inner;
  }
  Tensor cells = emitter.constant(stored->toHost());
  cells->unsignedBits = unsignedBits(tensor.data_type());
  return cells;
}

bool Initializers::tellApart(const TensorProto &tensor, ArrayRef<std::pair<const NodeProto *, int>> places) {
  llvm::MapVector<StringRef, const NodeProto *> names; // each with its first use
  auto &[first, isLookedUp] = inModule[tensor.name()];
  for (auto [node, i] : places) {
    isLookedUp |= node->op_type() == "Gather";
    StringRef name = source.signature.parameterOf(*node, unsigned(i), size_t(tensor.dims_size()));
    if (name.empty())
      return false;
    names.try_emplace(name, node);
  }
  if (!names.empty())
    first = names.contains(tensor.name()) ? tensor.name() : names.front().first.str();
  // A table of rows and a product that read one initializer are tied: their numbers are not equal by chance.
  if (names.size() < 2 || isLookedUp)
    return true;
  bool isMoved = !names.contains(tensor.name());
  for (auto [name, node] : names)
    toldApart[tensor.name()][name] = name == first ? tensor.name()
                                     : isMoved     ? tensor.name() + "@" + node->output(0)
                                                   : name.str();
  unmergedNames.push_back(tensor.name());
  return true;
}

LogicalResult Initializers::findMerged(TakesVector takesVector) {
  if (source.manifest.exists() || source.form)
    return success();
  llvm::StringMap<SmallVector<std::pair<const NodeProto *, int>>> uses;
  for (const NodeProto &node : source.model.proto().graph().node())
    for (int i = 0; i < node.input_size(); ++i)
      uses[node.input(i)].push_back({&node, i});
  for (const TensorProto &tensor : source.model.proto().graph().initializer()) {
    const auto &places = uses[tensor.name()];
    bool floats = tensor.data_type() == TensorProto::FLOAT || tensor.data_type() == TensorProto::FLOAT16 ||
                  tensor.data_type() == TensorProto::BFLOAT16;
    if (floats && tensor.dims_size() > 0 && tellApart(tensor, places))
      continue;
    if (!floats || tensor.dims_size() != 1 || places.size() < 2 || tensor.dims(0) < 2 ||
        !llvm::all_of(places, [&](auto place) { return takesVector(*place.first, unsigned(place.second)); }))
      continue;
    // Without the bytes, or with trained ones, sharing is what the file says.
    FailureOr<StoredTensor> stored = source.model.decode(tensor, source.model.loc());
    if (failed(stored))
      return failure();
    if (!stored->hasData || !isUniform(*stored))
      continue;
    merged[tensor.name()] = {places[0].first->output(0), places[0].second};
    unmergedNames.push_back(tensor.name());
  }
  return success();
}

std::optional<Tensor> Initializers::unmerged(const NodeProto &node, unsigned i) {
  StringRef name = node.input(i);
  std::string own;
  if (auto apart = toldApart.find(name); apart != toldApart.end()) {
    size_t rank = 0;
    for (const TensorProto &tensor : source.model.proto().graph().initializer())
      if (tensor.name() == name)
        rank = size_t(tensor.dims_size());
    own = apart->second.lookup(source.signature.parameterOf(node, i, rank));
    if (own == name)
      return std::nullopt;
  } else {
    auto entry = merged.find(name);
    if (entry == merged.end() || entry->second == std::pair(node.output(0), i))
      return std::nullopt;
    own = (name + "@" + node.output(0)).str();
    // One node may hold the same zeros as bias and as running mean.
    if (node.op_type() == "BatchNormalization" && i >= 3)
      own += i == 3 ? ".running_mean" : ".running_var";
  }
  if (State *state = states.find(own))
    return state->read;
  for (const TensorProto &tensor : source.model.proto().graph().initializer())
    if (tensor.name() == name) {
      FailureOr<StoredTensor> stored = source.model.decode(tensor, emitter.getLoc());
      if (failed(stored))
        return Tensor();
      stored->name = own;
      return makeState(*stored, own);
    }
  return std::nullopt;
}

Tensor Initializers::droppedBias(const NodeProto &node, int64_t size, bool guess) {
  StringRef weight = node.input(1);
  bool told = madeByRule(node, kRemoveBiasRule);
  State *product = states.find(weight);
  if (source.manifest.exists() || !product ||
      (!told && (!guess || (merged.empty() && toldApart.empty()) || !weight.ends_with(".weight"))))
    return nullptr;
  // Layers whose weights the exporter merged have biases of their own.
  StringRef inTrace = source.signature.parameterOf(node, 1, 2), owner = inTrace.empty() ? weight : inTrace;
  owner.consume_back(".weight");
  std::string name = (owner + ".bias").str();
  if (State *state = states.find(name))
    return state->read;
  restoredBiases.push_back(name);
  StoredTensor zeros;
  zeros.name = name;
  zeros.type = RankedTensorType::get({size}, product->stored.type.getElementType());
  zeros.stored = zeros.type.getElementType();
  auto bytes = std::make_shared<std::vector<char>>(size * zeros.width(), 0);
  zeros.bytes = *bytes;
  zeros.owner = bytes;
  zeros.hasData = true;
  return makeState(zeros, name);
}
