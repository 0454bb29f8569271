//===- TransformerSizes.cpp - A graph as a stack of equal layers
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/graph/TransformerSizes.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Shapes.h"

using namespace mlir;

namespace dtcc::graph {

/// An activation times a product: the feed-forward part has a gate.
static bool isGated(ModuleOp module) {
  bool gated = false;
  auto look = [&](Value activated) {
    for (Operation *user : activated.getUsers())
      if (auto mul = dyn_cast<MulOp>(user))
        for (Value operand : mul->getOperands())
          gated |= operand != activated && operand.getDefiningOp<ContractOp>();
  };
  module.walk([&](SiluOp op) { look(op->getResult(0)); });
  module.walk([&](GeluOp op) { look(op->getResult(0)); });
  return gated;
}

/// Of all states, the trained elements; of those, how many tables of `words` x `width` there are.
static double countParameters(ModuleOp module, int64_t words, int64_t width, int64_t &tables) {
  double parameters = 0;
  for (auto state : module.getOps<StateOp>())
    if (state.getRole() == StateRole::parameter && state.getTrainable()) {
      ArrayRef<int64_t> shape = state.getSavedShape();
      parameters += double(llvm::product_of(shape));
      tables += shape.size() == 2 && llvm::product_of(shape) == words * width;
    }
  return parameters;
}

FailureOr<TransformerSizes> readTransformer(ModuleOp module) {
  auto refuse = [&](const Twine &why) {
    return module.emitError("the planner prices stacks of equal transformer layers on devices other than this "
                            "machine's, and ")
           << why;
  };
  SmallVector<AttentionOp> layers;
  EmbeddingOp table;
  bool experts = false;
  module.walk([&](Operation *op) {
    if (auto attention = dyn_cast<AttentionOp>(op))
      layers.push_back(attention);
    else if (auto embedding = dyn_cast<EmbeddingOp>(op);
             embedding && (!table || shapeOf(embedding.getTable())[0] > shapeOf(table.getTable())[0]))
      table = embedding;
    experts |= isa<ExpertsOp>(op);
  });
  if (experts)
    return refuse("this model has experts"), failure();
  if (layers.empty() || !table || rankOf(table.getTable()) != 2)
    return refuse("this model has no " + Twine(layers.empty() ? "attention" : "table of words")), failure();

  // q [b, t, heads, (group,) d], k [b, s, heads, d].
  ArrayRef<int64_t> q = shapeOf(layers[0].getQ()), k = shapeOf(layers[0].getK());
  for (AttentionOp each : layers)
    if (shapeOf(each.getQ()) != q || shapeOf(each.getK()) != k)
      return refuse("the attentions of this model differ in size"), failure();
  cost::Transformer model;
  model.layers = double(layers.size());
  model.sequence = double(q[1]);
  model.kvHeads = double(k[2]);
  model.heads = double(llvm::product_of(q.slice(2).drop_back()));
  int64_t words = shapeOf(table.getTable())[0], width = shapeOf(table.getTable())[1], tables = 0;
  model.hidden = double(width);
  model.vocabulary = double(words);
  model.gated = isGated(module);
  double parameters = countParameters(module, words, width, tables);
  model.tied = tables < 2;
  double inner = double(q.back()) * (2 * model.heads + 2 * model.kvHeads);
  double perLayer = (parameters - double(tables) * double(words * width)) / model.layers;
  model.ffn = std::round((perLayer - double(width) * inner) / double(width) / (model.gated ? 3 : 2));
  if (model.ffn < 1 || std::fabs(model.parameters() - parameters) > 0.03 * parameters)
    return refuse("this model's " + Twine(int64_t(parameters)) + " parameters are not those of " +
                  Twine(layers.size()) + " layers of width " + Twine(width)),
           failure();
  return TransformerSizes{model, q[0]};
}

} // namespace dtcc::graph
