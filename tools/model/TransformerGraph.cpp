//===- TransformerGraph.cpp - A transformer of given sizes as a graph
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/model/TransformerGraph.h"
#include "dialects/graph/Build.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <cmath>
#include <tuple>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::graph;

namespace {

constexpr double kNormEps = 1e-5, kRotaryBase = 10000;
constexpr int64_t kIgnoredLabel = -100;
/// Columns of a head that turn with the position, where keys come from latent vectors (DeepSeek-V2 2024, section 2.1).
constexpr int64_t kLatentRotary = 64;

/// The sizes of a transformer as whole numbers.
struct Sizes {
  explicit Sizes(const cost::Transformer &model)
      : layers(int64_t(model.layers)), hidden(int64_t(model.hidden)), kvHeads(int64_t(model.kvHeads)),
        groups(int64_t(model.heads / model.kvHeads)), columns(int64_t(model.headSize())), ffn(int64_t(model.ffn)),
        words(int64_t(model.vocabulary)), positions(int64_t(model.sequence)) {}

  int64_t layers, hidden, kvHeads;
  int64_t groups;  /* heads of queries that share one of keys and values */
  int64_t columns; /* of a head */
  int64_t ffn, words, positions;
};

class TransformerBuilder {
public:
  TransformerBuilder(OpBuilder &builder, ModuleOp module, const cost::Transformer &model, int64_t batch)
      : b(builder, module.getLoc()), module(module), model(model), sizes(model), batch(batch) {}

  void build();

private:
  using Shape = ArrayRef<int64_t>;
  RankedTensorType floats(Shape shape) const { return RankedTensorType::get(shape, b.builder.getF32Type()); }
  RankedTensorType integers(Shape shape) const { return RankedTensorType::get(shape, b.builder.getI64Type()); }
  static Shape shapeOf(Value value) { return cast<ShapedType>(value.getType()).getShape(); }

  /// A parameter that is read here. Vectors are scales or biases.
  Value parameter(const Twine &name, Shape shape, InitKind kind = InitKind::normal);
  Value contract(StringRef spec, Value x, Value weight, Shape shape);
  /// x plus a bias of the trailing dimensions.
  Value addBias(const Twine &name, Value x, int64_t dimensions);

  /// The numbers of positions.
  Value count();
  Value embed(Value tokens);
  int64_t turningColumns() const { return model.latentRank > 0 ? kLatentRotary : sizes.columns; }
  /// Cosines and sines of the angles of rotary positions, which all layers read.
  void makeRotaryTables();
  /// Turns the pairs of x, [.., 2, columns / 2], by the angles of its positions.
  Value rotate(Value x);
  Value norm(const Twine &name, Value x);
  /// A projection of rows to heads, [batch, positions, heads.., columns]. What `turns` by its position has its columns
  /// as pairs, [.., 2, columns / 2].
  Value project(const Twine &name, Value x, Shape heads, bool turns);
  /// Queries, keys and values of heads.
  struct Heads {
    Value q, k, v;
  };
  Heads projectHeads(const Twine &name, Value x, Shape queryHeads);
  /// Heads whose keys and values come from a vector of latentRank, and whose queries may come from one of queryRank.
  /// All heads share the columns of keys that turn.
  Heads projectLatent(const Twine &name, Value x);
  Value joinColumns(Value still, Value turning);
  Value attend(const Twine &name, Value x);
  Value feedForward(const Twine &name, Value x, int64_t columns);
  /// The experts that a router selects, with the weights that it gives them.
  Value experts(const Twine &name, Value x);
  Value layer(int64_t number, Value x);

  Build b;
  ModuleOp module;
  const cost::Transformer &model;
  const Sizes sizes;
  int64_t batch;
  Value table, cosines, sines;
};

Value TransformerBuilder::parameter(const Twine &name, Shape shape, InitKind kind) {
  std::string symbol = name.str();
  MLIRContext *context = b.builder.getContext();
  auto init =
      InitAttr::get(context, kind, kind == InitKind::constant ? 1.0 : 0.0, kind == InitKind::normal ? 0.02 : 0.0);
  OpBuilder states(module.getBodyRegion());
  if (Operation *function = module.lookupSymbol("loss"))
    states.setInsertionPoint(function);
  StateOp::create(states, b.loc, symbol, floats(shape), StateRole::parameter, /*trainable=*/true, /*decay=*/true,
                  symbol, shape, ElementsAttr(), init, ArrayAttr(), FloatAttr(), FloatAttr());
  return ReadOp::create(b.builder, b.loc, floats(shape), FlatSymbolRefAttr::get(context, symbol));
}

Value TransformerBuilder::contract(StringRef spec, Value x, Value weight, Shape shape) {
  return ContractOp::create(b.builder, b.loc, floats(shape), spec, x, weight);
}

Value TransformerBuilder::addBias(const Twine &name, Value x, int64_t dimensions) {
  Shape shape = shapeOf(x);
  Value bias = parameter(name, shape.take_back(size_t(dimensions)), InitKind::zero);
  SmallVector<int64_t> trailing =
      llvm::to_vector(llvm::seq<int64_t>(int64_t(shape.size()) - dimensions, int64_t(shape.size())));
  return b.add(x, b.broadcast(bias, x.getType(), trailing));
}

Value TransformerBuilder::count() {
  return IotaOp::create(b.builder, b.loc, integers({sizes.positions}), /*dim=*/0, /*start=*/0, /*step=*/1, ArrayAttr());
}

Value TransformerBuilder::embed(Value tokens) {
  table = parameter("embedding", {sizes.words, sizes.hidden});
  Type rows = floats({batch, sizes.positions, sizes.hidden});
  Value x = EmbeddingOp::create(b.builder, b.loc, rows, table, tokens, /*padding_idx=*/-1, ArrayAttr());
  if (model.gated)
    return x;
  Value places = parameter("positions", {sizes.positions, sizes.hidden});
  Value numbers = count();
  Value learned = EmbeddingOp::create(b.builder, b.loc, floats({sizes.positions, sizes.hidden}), places, numbers,
                                      /*padding_idx=*/-1, ArrayAttr());
  return b.add(x, b.broadcast(learned, rows, {1, 2}));
}

void TransformerBuilder::makeRotaryTables() {
  const int64_t pairs = turningColumns() / 2;
  SmallVector<float> rates;
  for (int64_t i = 0; i < pairs; ++i)
    rates.push_back(float(std::pow(kRotaryBase, -double(i) / double(pairs))));
  Type angles = floats({sizes.positions, pairs});
  Value numbers = count();
  Value frequencies = ConstantOp::create(b.builder, b.loc, floats({pairs}),
                                         DenseElementsAttr::get(floats({pairs}), ArrayRef<float>(rates)));
  Value turns =
      b.mul(b.broadcast(b.cast(numbers, b.builder.getF32Type()), angles, {0}), b.broadcast(frequencies, angles, {1}));
  cosines = CosOp::create(b.builder, b.loc, angles, turns);
  sines = SinOp::create(b.builder, b.loc, angles, turns);
}

Value TransformerBuilder::rotate(Value x) {
  if (!cosines)
    makeRotaryTables();
  Shape shape = shapeOf(x);
  const int64_t last = int64_t(shape.size()) - 1;
  Value turned = RotaryOp::create(b.builder, b.loc, x.getType(), x, cosines, sines, /*pair=*/last - 1,
                                  ArrayRef<int64_t>{1, last}, /*inverse=*/false);
  SmallVector<int64_t> whole(shape.drop_back(2));
  whole.push_back(turningColumns());
  return b.reshape(turned, whole);
}

Value TransformerBuilder::norm(const Twine &name, Value x) {
  Type statistics = floats(shapeOf(x).drop_back());
  Value scale = parameter(name + ".weight", {shapeOf(x).back()}, InitKind::constant);
  auto eps = b.builder.getF64FloatAttr(kNormEps);
  auto dims = b.builder.getDenseI64ArrayAttr({2});
  if (model.gated)
    return RmsNormOp::create(b.builder, b.loc, x.getType(), statistics, x, scale, dims, eps).getY();
  Value bias = parameter(name + ".bias", {shapeOf(x).back()}, InitKind::zero);
  return LayerNormOp::create(b.builder, b.loc, x.getType(), statistics, statistics, x, scale, bias, dims, eps).getY();
}

Value TransformerBuilder::project(const Twine &name, Value x, Shape heads, bool turns) {
  SmallVector<int64_t> rows(heads);
  if (turns)
    rows.append({2, turningColumns() / 2});
  else
    rows.push_back(sizes.columns);
  SmallVector<int64_t> weight(rows), result{batch, sizes.positions};
  weight.push_back(shapeOf(x).back());
  result.append(rows);
  const std::string letters = std::string("defg").substr(0, rows.size());
  return contract("abc," + letters + "c->ab" + letters, x, parameter(name + ".weight", weight), result);
}

TransformerBuilder::Heads TransformerBuilder::projectHeads(const Twine &name, Value x, Shape queryHeads) {
  if (model.gated || sizes.groups > 1) {
    const bool turns = model.gated && sizes.columns % 2 == 0;
    Heads heads{project(name + ".q", x, queryHeads, turns), project(name + ".k", x, {sizes.kvHeads}, turns),
                project(name + ".v", x, {sizes.kvHeads}, /*turns=*/false)};
    return turns ? Heads{rotate(heads.q), rotate(heads.k), heads.v} : heads;
  }
  Value weight = parameter(name + ".qkv.weight", {sizes.hidden, 3, sizes.kvHeads, sizes.columns});
  Value all =
      addBias(name + ".qkv.bias",
              contract("abc,cdef->abdef", x, weight, {batch, sizes.positions, 3, sizes.kvHeads, sizes.columns}), 3);
  Type one = floats({batch, sizes.positions, sizes.kvHeads, sizes.columns});
  auto parts = UnstackOp::create(b.builder, b.loc, TypeRange{one, one, one}, all, /*dim=*/2);
  return {parts.getResult(0), parts.getResult(1), parts.getResult(2)};
}

Value TransformerBuilder::joinColumns(Value still, Value turning) {
  SmallVector<int64_t> shape(shapeOf(still));
  shape.back() += shapeOf(turning).back();
  return ConcatOp::create(b.builder, b.loc, floats(shape), ValueRange{still, turning}, int64_t(shape.size()) - 1);
}

TransformerBuilder::Heads TransformerBuilder::projectLatent(const Twine &name, Value x) {
  auto narrow = [&](const Twine &part, int64_t rank) {
    Value y = contract("abc,dc->abd", x, parameter(name + part + "_down.weight", {rank, sizes.hidden}),
                       {batch, sizes.positions, rank});
    return norm(name + part + "_norm", y);
  };
  Value queries = model.queryRank > 0 ? narrow(".q", int64_t(model.queryRank)) : x;
  Value latent = narrow(".kv", int64_t(model.latentRank));
  const SmallVector<int64_t> heads{sizes.kvHeads};
  Value q = joinColumns(project(name + ".q", queries, heads, /*turns=*/false),
                        rotate(project(name + ".q_turning", queries, heads, /*turns=*/true)));
  Value shared = rotate(project(name + ".k_turning", x, {}, /*turns=*/true));
  Value turning = b.broadcast(shared, floats({batch, sizes.positions, sizes.kvHeads, kLatentRotary}), {0, 1, 3});
  Value k = joinColumns(project(name + ".k", latent, heads, /*turns=*/false), turning);
  return {q, k, project(name + ".v", latent, heads, /*turns=*/false)};
}

Value TransformerBuilder::attend(const Twine &name, Value x) {
  SmallVector<int64_t> queryHeads{sizes.kvHeads};
  if (sizes.groups > 1)
    queryHeads.push_back(sizes.groups);
  auto [q, k, v] = model.latentRank > 0 ? projectLatent(name, x) : projectHeads(name, x, queryHeads);
  SmallVector<int64_t> sums{batch};
  sums.append(queryHeads);
  sums.push_back(sizes.positions);
  SmallVector<int64_t> outputs(shapeOf(q));
  outputs.back() = sizes.columns;
  auto mask = MaskAttr::get(b.builder.getContext(), /*causal=*/true, 0, 0, false, false);
  auto attention =
      AttentionOp::create(b.builder, b.loc, floats(outputs), floats(sums), q, k, v, Value(), ValueRange(), mask,
                          b.builder.getF64FloatAttr(1 / std::sqrt(double(shapeOf(q).back()))),
                          b.builder.getF64FloatAttr(0), EmptyRowAttr::get(b.builder.getContext(), EmptyRow::uniform));
  Value out = attention.getOut();
  SmallVector<int64_t> rows(queryHeads);
  rows.push_back(sizes.columns);
  const std::string letters = std::string("cde").substr(0, rows.size());
  if (model.gated) {
    rows.insert(rows.begin(), sizes.hidden);
    return contract("ab" + letters + ",f" + letters + "->abf", out, parameter(name + ".o.weight", rows),
                    {batch, sizes.positions, sizes.hidden});
  }
  rows.push_back(sizes.hidden);
  return addBias(name + ".o.bias",
                 contract("ab" + letters + "," + letters + "f->abf", out, parameter(name + ".o.weight", rows),
                          {batch, sizes.positions, sizes.hidden}),
                 1);
}

Value TransformerBuilder::feedForward(const Twine &name, Value x, int64_t columns) {
  const SmallVector<int64_t> wide{batch, sizes.positions, columns}, rows{batch, sizes.positions, sizes.hidden};
  if (model.gated) {
    Value gate = contract("abc,dc->abd", x, parameter(name + ".gate.weight", {columns, sizes.hidden}), wide);
    gate = SiluOp::create(b.builder, b.loc, gate.getType(), gate);
    Value up = contract("abc,dc->abd", x, parameter(name + ".up.weight", {columns, sizes.hidden}), wide);
    Value hidden = b.mul(gate, up);
    return contract("abc,dc->abd", hidden, parameter(name + ".down.weight", {sizes.hidden, columns}), rows);
  }
  Value in = addBias(name + ".up.bias",
                     contract("abc,cd->abd", x, parameter(name + ".up.weight", {sizes.hidden, columns}), wide), 1);
  Value hidden = GeluOp::create(b.builder, b.loc, in.getType(), in, GeluForm::tanh);
  return addBias(name + ".down.bias",
                 contract("abc,cd->abd", hidden, parameter(name + ".down.weight", {columns, sizes.hidden}), rows), 1);
}

Value TransformerBuilder::experts(const Twine &name, Value x) {
  const int64_t count = int64_t(model.experts), picks = int64_t(model.chosen), columns = int64_t(model.expertFfn);
  Value scores = contract("abc,dc->abd", x, parameter(name + ".router.weight", {count, sizes.hidden}),
                          {batch, sizes.positions, count});
  Value shares = SoftmaxOp::create(b.builder, b.loc, scores.getType(), scores, b.builder.getDenseI64ArrayAttr({2}),
                                   /*log=*/UnitAttr());
  const SmallVector<int64_t> picked{batch, sizes.positions, picks};
  auto best = TopKOp::create(b.builder, b.loc, floats(picked), integers(picked), shares);
  Value weights = b.div(best.getValues(), b.broadcast(b.sum(best.getValues(), {2}), floats(picked), {0, 1}));
  Value in = parameter(name + ".experts.in", {count, 2, columns, sizes.hidden});
  Value out = parameter(name + ".experts.out", {count, sizes.hidden, columns});
  return ExpertsOp::create(b.builder, b.loc, x.getType(), floats({batch, sizes.positions, picks, 2, columns}), x,
                           best.getIndices(), weights, in, out, ArrayAttr())
      .getY();
}

Value TransformerBuilder::layer(int64_t number, Value x) {
  const std::string name = "layers." + std::to_string(number);
  x = b.add(x, attend(name + ".attention", norm(name + ".attention_norm", x)));
  Value rows = norm(name + ".mlp_norm", x);
  if (!model.isExpertLayer(number))
    return b.add(x, feedForward(name + ".mlp", rows, sizes.ffn));
  Value y = experts(name + ".mlp", rows);
  if (model.sharedFfn > 0)
    y = b.add(y, feedForward(name + ".mlp.shared", rows, int64_t(model.sharedFfn)));
  return b.add(x, y);
}

void TransformerBuilder::build() {
  Type tokens = integers({batch, sizes.positions}), scalar = floats({});
  b.builder.setInsertionPointToEnd(module.getBody());
  auto function =
      func::FuncOp::create(b.builder, b.loc, "loss", b.builder.getFunctionType({tokens, tokens}, {scalar, scalar}));
  for (auto [number, name, role, absent] :
       {std::tuple(0u, "input_ids", "tokens", int64_t(0)), {1u, "labels", "labels", kIgnoredLabel}}) {
    function.setArgAttr(number, "graph.name", b.builder.getStringAttr(name));
    function.setArgAttr(number, "graph.role", b.builder.getStringAttr(role));
    function.setArgAttr(number, "graph.bounds", b.builder.getDenseI64ArrayAttr({0, sizes.words, absent}));
  }
  b.builder.setInsertionPointToStart(function.addEntryBlock());
  Value x = embed(function.getArgument(0));
  for (int64_t number = 0; number < sizes.layers; ++number)
    x = layer(number, x);
  x = norm("norm", x);
  Value head = model.tied ? table : parameter("head", {sizes.words, sizes.hidden});
  Value logits = contract("abc,dc->abd", x, head, {batch, sizes.positions, sizes.words});
  Value labels =
      ShiftOp::create(b.builder, b.loc, tokens, function.getArgument(1), /*dim=*/1, /*amount=*/1, kIgnoredLabel);
  auto loss = CrossEntropyOp::create(b.builder, b.loc, scalar, scalar, floats({batch, sizes.positions}), logits, labels,
                                     b.builder.getI64IntegerAttr(kIgnoredLabel));
  func::ReturnOp::create(b.builder, b.loc, ValueRange{loss.getSum(), loss.getCount()});
}

} // namespace

llvm::Expected<OwningOpRef<ModuleOp>> dtcc::buildTransformer(MLIRContext &context, const cost::Transformer &sizes,
                                                             int64_t batch, StringRef name) {
  if (sizes.latentRank > 0 && !(sizes.gated && sizes.heads == sizes.kvHeads))
    return llvm::createStringError("attention by latent vectors (latent-rank) must be of a gated model with as many "
                                   "kv-heads as heads; --software=nemo prices others by their sizes");
  if (std::fmod(sizes.heads, sizes.kvHeads) != 0)
    return llvm::createStringError(
        "heads must be a multiple of kv-heads, got: heads=" + llvm::Twine(int64_t(sizes.heads)) +
        ", kv-heads=" + llvm::Twine(int64_t(sizes.kvHeads)));
  if (sizes.experts > 0 && !sizes.gated)
    return llvm::createStringError("experts must be gated (gated=1): no graph is built of others; --software=nemo "
                                   "prices them by their sizes");
  OpBuilder builder(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(NameLoc::get(builder.getStringAttr(name)));
  TransformerBuilder(builder, *module, sizes, batch).build();
  return std::move(module);
}
