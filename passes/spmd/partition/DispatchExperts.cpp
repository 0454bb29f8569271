//===- DispatchExperts.cpp - Tokens to the ranks that they picked
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Around an expert layer whose experts are shared out, projection has put a gather of the
// tokens of the group and a scatter of partial sums. No layout can say which of these rows
// are wanted where: that is data. Here these two are replaced by ops that read the picks.
// Ranks without a pick compute zeros of a row, as before, so nothing else changes.
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/partition/DispatchExperts.h"
#include "dialects/graph/Graph.h"
#include "dialects/interfaces/OpTable.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "passes/spmd/Passes.h"
#include "passes/spmd/layout/ApplyPlan.h"
#include "passes/spmd/layout/AssignStages.h"
#include "passes/spmd/layout/PlanAttribute.h"
#include "planner/plan/ExpertRoom.h"

using namespace mlir;

namespace dtcc::spmd {
#define GEN_PASS_DEF_SPMDDISPATCHEXPERTS
#include "passes/spmd/Passes.h.inc"
#include "llvm/ADT/StringExtras.h"

Operation *asRowExchange(Operation *op) {
  auto exchange = dyn_cast_or_null<CommunicationOpInterface>(op);
  return exchange && exchange.getCommunications().front().info().traffic == Traffic::ToPicked ? op : nullptr;
}

/// Whether an exchange of rows dispatches them, and does not combine them.
static bool gathersRows(Operation *op) {
  return op && cast<CommunicationOpInterface>(op).getCommunications().front().info().out == Extent::Whole;
}

Value emitRows(OpBuilder &builder, Operation *op, Value x, Value ids, Type local) {
  if (auto room = op->getAttrOfType<IntegerAttr>(kRoomAttr); room && gathersRows(op)) {
    auto type = cast<ShapedType>(local);
    local = RankedTensorType::get({room.getInt(), type.getShape().back()}, type.getElementType());
  }
  // The op's properties say what it exchanges. Its discardable attributes describe the op on whole tensors, and go.
  Operation *made = Operation::create(op->getLoc(), op->getName(), local, {x, ids}, builder.getDictionaryAttr({}),
                                      op->getPropertiesStorage(), BlockRange(), 0);
  return builder.insert(made)->getResult(0);
}

namespace {

/// Operands and results of an expert layer's op that hold one row per token.
struct LayerOp {
  Operation *op;
  SmallVector<OpOperand *> rows;
  SmallVector<Value> results;
  Value ids;
  /// A state's layout, experts first.
  Type experts;
};

LayerOp ofExperts(graph::ExpertsOp op) {
  return {op, {&op.getXMutable()}, {op.getY()}, op.getIds(), op.getWIn().getType()};
}
LayerOp ofGrad(graph::ExpertsGradOp op) {
  return {op, {&op.getDyMutable()}, {op.getDx()}, op.getIds(), op.getWIn().getType()};
}
LayerOp ofWeightGrad(graph::ExpertsWeightGradOp op) {
  return {op, {&op.getDyMutable(), &op.getXMutable()}, {}, op.getIds(), op.getDwIn().getType()};
}

/// Nothing: the op is none of a layer of experts.
std::optional<LayerOp> asLayerOp(Operation *op) {
  static const auto table = OpTable<LayerOp>().on(ofExperts).on(ofGrad).on(ofWeightGrad);
  return table(op);
}

class Dispatcher {
public:
  Dispatcher(ModuleOp module, const Mesh &mesh) : mesh(mesh), builder(module.getContext()) {}

  LogicalResult run(func::FuncOp step) {
    SmallVector<LayerOp> layers;
    for (Operation &op : step.getBody().front())
      if (std::optional<LayerOp> layer = asLayerOp(&op))
        layers.push_back(*layer);
    for (LayerOp &layer : layers) {
      if (!layer.op->hasAttr(kDispatchAttr))
        continue;
      for (OpOperand *rows : layer.rows)
        if (failed(dispatch(layer, *rows)))
          return failure();
      for (Value result : layer.results)
        combine(layer, result);
      if (layer.op->hasAttr(kCapacityAttr) && failed(bound(layer)))
        return failure();
    }
    for (Operation &op : step.getBody().front()) {
      op.removeAttr(kDispatchAttr);
      op.removeAttr(kCapacityAttr);
    }
    for (ReshardOp reshard : llvm::make_early_inc_range(step.getOps<ReshardOp>()))
      if (reshard.use_empty())
        reshard.erase();
    return success();
  }

private:
  /// The rows of a layer with a bound lie packed in a rank's program: all of them must come and go by these ops.
  LogicalResult bound(const LayerOp &layer) {
    double capacity = layer.op->getAttrOfType<FloatAttr>(kCapacityAttr).getValueAsDouble();
    SmallVector<Operation *> exchanges;
    for (OpOperand *rows : layer.rows)
      exchanges.push_back(asRowExchange(rows->get().getDefiningOp()));
    for (Value result : layer.results)
      for (Operation *user : result.getUsers())
        exchanges.push_back(asRowExchange(user));
    if (exchanges.empty() || llvm::is_contained(exchanges, nullptr))
      return layer.op->emitError("has rows that are not sent between ranks, so --moe-capacity cannot bound them: leave "
                                 "that option out, or split the tokens over ep");
    auto axes = exchanges[0]->getAttrOfType<ArrayAttr>("axes");
    auto experts = exchanges[0]->getAttrOfType<IntegerAttr>("experts");
    RankedTensorType ids = localType(cast<TensorType>(layer.ids.getType()), mesh);
    if (!ids)
      return layer.op->emitError("layout must divide by the mesh, got: ") << layer.ids.getType();
    int64_t room = plan::roomForRows(capacity, ids.getNumElements(), ids.getShape().back(), mesh.product(toAxes(axes)),
                                     experts.getInt());
    for (Operation *exchange : exchanges)
      exchange->setAttr(kRoomAttr, builder.getI64IntegerAttr(room));
    return success();
  }

  static Layout layoutOf(Value value) { return cast<TensorType>(value.getType()).getLayout(); }

  /// The axes that `split` has beside those of `whole`; nothing if there is more between them.
  static std::optional<Axes> axesBetween(const Axes &split, const Axes &whole) {
    if (split.size() <= whole.size() || !std::equal(whole.begin(), whole.end(), split.begin()))
      return std::nullopt;
    return Axes(split.begin() + whole.size(), split.end());
  }

  /// Experts of a member of the group over `axes`, which must be the outermost that share them out.
  std::optional<int64_t> expertsOver(const LayerOp &layer, const Axes &axes) const {
    auto type = cast<TensorType>(layer.experts);
    Layout layout = type.getLayout();
    const Axes &split = layout.dims[0];
    if (split.size() < axes.size() || !std::equal(axes.begin(), axes.end(), split.begin()))
      return std::nullopt;
    return (layout.padded.empty() ? type.getShape()[0] : layout.padded[0]) / mesh.product(axes);
  }

  template <typename Op>
  Value create(const LayerOp &layer, Operation *before, Value x, const Layout &to, const Axes &axes, int64_t experts) {
    builder.setInsertionPoint(before);
    Value made = Op::create(builder, layer.op->getLoc(), cast<TensorType>(x.getType()).withLayout(to), x, layer.ids,
                            fromAxes(builder.getContext(), axes), experts, /*room=*/IntegerAttr());
    if (std::optional<int64_t> stage = getStage(layer.op))
      setStage(made.getDefiningOp(), *stage);
    return made;
  }

  /// `x` in `type`, by a reshard if need be.
  Value brought(const LayerOp &layer, Operation *before, Value x, Type type) {
    if (x.getType() == type)
      return x;
    builder.setInsertionPoint(before);
    Value made = ReshardOp::create(builder, layer.op->getLoc(), cast<TensorType>(type), x);
    if (std::optional<int64_t> stage = getStage(layer.op))
      setStage(made.getDefiningOp(), *stage);
    return made;
  }

  /// Reshards a value to a type, or returns the reshard that other ops already read.
  Value nearest(const LayerOp &layer, Value x, Type type) {
    for (Operation *user : x.getUsers())
      if (auto known = dyn_cast<ReshardOp>(user);
          known && known.getType() == type && known->isBeforeInBlock(layer.op) && getStage(known) == getStage(layer.op))
        return known.getY();
    return brought(layer, layer.op, x, type);
  }

  LogicalResult dispatch(const LayerOp &layer, OpOperand &rows) {
    auto reshard = rows.get().getDefiningOp<ReshardOp>();
    if (!reshard)
      return success(); // a shard meets all experts
    Layout from = layoutOf(reshard.getX()), to = layoutOf(reshard.getY());
    if (from.dims[0] == to.dims[0])
      return success();
    std::optional<Axes> axes = axesBetween(from.dims[0], to.dims[0]);
    std::optional<int64_t> experts = axes ? expertsOver(layer, *axes) : std::nullopt;
    if (!experts)
      return layer.op->emitError("cannot be sent tokens by their picks: they are split over {")
             << llvm::join(from.dims[0], ",") << "} and wanted over {" << llvm::join(to.dims[0], ",")
             << "}; gather them (--moe-dispatch=gather)";
    Value &made = dispatched[{reshard.getX(), layer.ids}];
    if (!made) {
      // Rows that lie split by positions, or are sums yet, are made whole among the ranks of the model first: each of
      // these needs them, and what is sent is then the rows alone that were picked.
      Layout near = to;
      near.dims[0] = from.dims[0];
      Type type = cast<TensorType>(reshard.getX().getType()).withLayout(near);
      made = create<DispatchRowsOp>(layer, layer.op, nearest(layer, reshard.getX(), type), to, *axes, *experts);
    }
    rows.set(brought(layer, layer.op, made, reshard.getType()));
    return success();
  }

  void combine(const LayerOp &layer, Value result) {
    for (Operation *user : llvm::make_early_inc_range(result.getUsers())) {
      auto reshard = dyn_cast<ReshardOp>(user);
      if (!reshard)
        continue;
      Layout from = layoutOf(result), to = layoutOf(reshard.getY());
      std::optional<Axes> axes = axesBetween(to.dims[0], from.dims[0]);
      std::optional<int64_t> experts = axes ? expertsOver(layer, *axes) : std::nullopt;
      bool isSum = from.reduction == Reduction::Sum && experts &&
                   llvm::all_of(*axes, [&](const std::string &axis) { return contains(from.partial, axis); });
      if (!isSum)
        continue;
      from.dims[0] = to.dims[0];
      std::erase_if(from.partial, [&](const std::string &axis) { return contains(*axes, axis); });
      Value made = create<CombineRowsOp>(layer, reshard, result, from, *axes, *experts);
      reshard.getY().replaceAllUsesWith(brought(layer, reshard, made, reshard.getType()));
      reshard.erase();
    }
  }

  const Mesh &mesh;
  OpBuilder builder;
  /// Dispatched rows, by the rows and the picks that they went by.
  llvm::DenseMap<std::pair<Value, Value>, Value> dispatched;
};

struct DispatchExperts : impl::SpmdDispatchExpertsBase<DispatchExperts> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto found = findDistributedStep(module);
    if (failed(found))
      return signalPassFailure();
    Mesh mesh = toMesh(found->second);
    if (failed(Dispatcher(module, mesh).run(found->first)))
      return signalPassFailure();
    size_t dispatched = 0, combined = 0;
    found->first.walk([&](DispatchRowsOp) { ++dispatched; });
    found->first.walk([&](CombineRowsOp) { ++combined; });
    if (dispatched + combined > 0)
      remark::passed(module.getLoc(), remark::RemarkOpts::name("dispatched").category(getArgument()))
          << remark::metric("Dispatches", dispatched) << remark::metric("Combines", combined);
  }
};
} // namespace
} // namespace dtcc::spmd
