//===- MaskDocuments.cpp - Attention within documents
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The samples and the positions of the tokens are followed through the factors of all ops. Attention over these
// positions gets segments. Every other op must treat each position by itself, up to the loss.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/Shapes.h"
#include "passes/graph/DocumentPositions.h"
#include "passes/graph/NamedFunctions.h"
#include "passes/graph/Passes.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dtcc::graph {
#define GEN_PASS_DEF_GRAPHMASKDOCUMENTS
#include "passes/graph/Passes.h.inc"

namespace {

/// Dimensions of a value that count samples and the positions of the tokens; -1: none.
struct TokenDims {
  int64_t sample = -1, position = -1;
};

class DocumentMasker {
public:
  explicit DocumentMasker(func::FuncOp function) : function(function) {}
  LogicalResult run();

private:
  LogicalResult findTokens();
  void findWhatAttentionReads();
  LogicalResult visit(Operation &op);
  /// Fails if the op computes a position from others.
  LogicalResult checkPositions(Operation &op, const FactorMap &map, unsigned operand);
  LogicalResult mask(AttentionOp op);
  /// Looks up the operands that depend on the position and on no input.
  LogicalResult lookUp(Operation &op, const FactorMap &map, int64_t ofSamples, int64_t ofPositions);
  LogicalResult lookUpTables(RotaryOp op, int64_t sample, int64_t position);
  Value addInput(StringRef name, StringRef role);

  func::FuncOp function;
  BlockArgument tokens;
  Value documents, positions;
  DocumentPositions tables{
      [this] { return positions ? positions : positions = addInput("document_positions", "positions"); }};
  llvm::DenseMap<Value, TokenDims> dims;
  llvm::DenseSet<Operation *> beforeAttention;
  llvm::DenseSet<Value> dynamic; /* depend on an input */
};

} // namespace

Value DocumentMasker::addInput(StringRef name, StringRef role) {
  Builder builder(function.getContext());
  auto type = withShape(RankedTensorType::get({}, builder.getI64Type()), shapeOf(tokens));
  unsigned number = function.getNumArguments();
  auto attributes = builder.getDictionaryAttr(
      {builder.getNamedAttr("graph.name", builder.getStringAttr(name)),
       builder.getNamedAttr("graph.role", builder.getStringAttr(role)),
       builder.getNamedAttr("graph.bounds", builder.getDenseI64ArrayAttr({0, shapeOf(tokens)[1], 0}))});
  (void)function.insertArgument(number, type, attributes, function.getLoc());
  return function.getArgument(number);
}

LogicalResult DocumentMasker::findTokens() {
  SmallVector<StringRef> names;
  for (BlockArgument argument : function.getArguments()) {
    dynamic.insert(argument);
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "graph.name");
    if (name && (name.getValue() == "documents" || name.getValue() == "document_positions"))
      return function.emitError("--mask-documents adds an input '") << name.getValue() << "', and the model has one";
    auto role = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "graph.role");
    // The model's own positions restart at documents.
    if (role && role.getValue() == "positions")
      positions = argument;
    if (!role || role.getValue() != "tokens")
      continue;
    tokens = argument;
    names.push_back(name ? name.getValue() : "?");
  }
  if (names.size() != 1)
    return function.emitError("--mask-documents needs a model that reads one input of tokens, got: ")
           << (names.empty() ? "none" : llvm::join(names, ", "));
  if (positions && positions.getType() != tokens.getType())
    return function.emitError("--mask-documents needs a position for each token, got positions of ")
           << positions.getType() << " for tokens of " << tokens.getType();
  if (rankOf(tokens) != 2)
    return function.emitError("--mask-documents needs tokens of 2 dimensions, samples and positions, got: ")
           << rankOf(tokens);
  dims[tokens] = {0, 1};
  return success();
}

void DocumentMasker::findWhatAttentionReads() {
  for (Operation &op : llvm::reverse(function.front()))
    if (isa<AttentionOp>(op) ||
        llvm::any_of(op.getUsers(), [&](Operation *user) { return beforeAttention.contains(user); }))
      beforeAttention.insert(&op);
}

LogicalResult DocumentMasker::checkPositions(Operation &op, const FactorMap &map, unsigned operand) {
  int64_t factor = map.operands[operand][dims.lookup(op.getOperand(operand)).position];
  FactorKind kind = factor == kNoFactor ? FactorKind::Replicate : map.factors[factor].kind;
  if (kind == FactorKind::Parallel || kind == FactorKind::Index)
    return success();
  // After the last attention the model may shift logits against their labels and sum losses.
  if (!beforeAttention.contains(&op) && isa<SliceOp, PadOp, ShiftOp, ReshapeOp, ReduceOp, CrossEntropyOp>(op))
    return success();
  return op.emitError("--mask-documents keeps attention within documents, and this operation mixes positions in "
                      "another way");
}

LogicalResult DocumentMasker::mask(AttentionOp op) {
  for (Value value : {op.getQ(), op.getK(), op.getV()})
    if (TokenDims found = dims.lookup(value); found.sample != 0 || found.position != 1)
      return op.emitError("--mask-documents needs attention whose queries and keys are the positions of the tokens");
  if (op.getBias())
    return op.emitError("--mask-documents cannot mask attention with a bias on its scores in this version");
  MaskAttr old = op.getMask();
  if (old.getSegment())
    return op.emitError("--mask-documents cannot mask attention that the model itself keeps within segments");
  if (!documents)
    documents = addInput("documents", "documents");
  op.getMaskOperandsMutable().append({documents, documents});
  op.setMaskAttr(MaskAttr::get(op.getContext(), old.getCausal(), old.getOffset(), old.getWindowLeft(), old.getKey(),
                               /*segment=*/true));
  return success();
}

LogicalResult DocumentMasker::lookUpTables(RotaryOp op, int64_t sample, int64_t position) {
  Dims old(op.getTableDims());
  auto *from = llvm::find(old, position);
  if (from == old.end())
    return success();
  bool hasSamples = llvm::is_contained(old, sample);
  Dims now = hasSamples ? old : concat({sample}, old), order = range(0, static_cast<int64_t>(now.size()));
  llvm::sort(order, [&](int64_t a, int64_t b) { return now[a] < now[b]; });
  for (OpOperand *table : {&op.getCosMutable(), &op.getSinMutable()}) {
    Value value = table->get();
    if (dynamic.contains(value)) // computed from the model's own positions
      return success();
    value = hasSamples ? tables.spread(value, llvm::find(old, sample) - old.begin(), from - old.begin())
                       : tables.lookUp(value, from - old.begin());
    if (!value)
      return failure();
    OpBuilder builder(op);
    table->set(Build(builder, op.getLoc()).transpose(value, order));
  }
  op.setTableDims(at(now, order));
  return success();
}

LogicalResult DocumentMasker::lookUp(Operation &op, const FactorMap &map, int64_t ofSamples, int64_t ofPositions) {
  for (OpOperand &operand : op.getOpOperands()) {
    ArrayRef<int64_t> factors = map.operands[operand.getOperandNumber()];
    const auto *position = llvm::find(factors, ofPositions), *sample = llvm::find(factors, ofSamples);
    if (dynamic.contains(operand.get()) || position == factors.end())
      continue;
    if (!isa<ElementwiseOpInterface>(op) || sample == factors.end())
      return op.emitError("--mask-documents cannot restart the positions that this operation reads");
    Value value = tables.spread(operand.get(), sample - factors.begin(), position - factors.begin());
    if (!value)
      return failure();
    operand.set(value);
  }
  return success();
}

LogicalResult DocumentMasker::visit(Operation &op) {
  if (llvm::any_of(op.getOperands(), [&](Value value) { return dynamic.contains(value); }))
    dynamic.insert(op.result_begin(), op.result_end());
  auto factored = dyn_cast<FactorOpInterface>(op);
  if (!factored)
    return success();
  FactorMap map = factored.getFactorMap();
  int64_t samples = kNoFactor, ofPositions = kNoFactor;
  for (auto [i, value] : llvm::enumerate(op.getOperands())) {
    TokenDims known = dims.lookup(value);
    if (known.sample >= 0)
      samples = map.operands[i][known.sample];
    if (known.position < 0)
      continue;
    ofPositions = map.operands[i][known.position];
    if (!isa<AttentionOp>(op) && failed(checkPositions(op, map, i)))
      return failure();
  }
  for (auto [result, factors] : llvm::zip_equal(op.getResults(), map.results)) {
    TokenDims found;
    for (auto [dim, factor] : llvm::enumerate(factors)) {
      if (factor != kNoFactor && factor == samples)
        found.sample = static_cast<int64_t>(dim);
      if (factor != kNoFactor && factor == ofPositions)
        found.position = static_cast<int64_t>(dim);
    }
    if (found.sample >= 0 || found.position >= 0)
      dims[result] = found;
  }
  if (ofPositions == kNoFactor)
    return success();
  if (auto attention = dyn_cast<AttentionOp>(op)) {
    // Results have the positions of the queries.
    TokenDims q = dims.lookup(attention.getQ());
    dims[attention.getOut()] = q;
    return mask(attention);
  }
  if (auto rotary = dyn_cast<RotaryOp>(op)) {
    TokenDims x = dims.lookup(rotary.getX());
    return lookUpTables(rotary, x.sample, x.position);
  }
  return lookUp(op, map, samples, ofPositions);
}

LogicalResult DocumentMasker::run() {
  if (failed(findTokens()))
    return failure();
  findWhatAttentionReads();
  for (Operation &op : llvm::make_early_inc_range(function.front().without_terminator()))
    if (failed(visit(op)))
      return failure();
  if (!documents)
    return function.emitError("--mask-documents needs attention, and none was recognised in this model");
  return success();
}

namespace {
class MaskDocumentsPass : public impl::GraphMaskDocumentsBase<MaskDocumentsPass> {
  void runOnOperation() override {
    func::FuncOp loss = findLoss(getOperation());
    if (!loss || failed(DocumentMasker(loss).run()))
      signalPassFailure();
  }
};
} // namespace

} // namespace dtcc::graph
