//===- OptimizerNode.cpp - Optimizers of ai.onnx.preview.training
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names and defaults of the attributes are those of the operators' definitions.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/training/OptimizerNode.h"
#include "frontends/onnx/training/GraphIndex.h"
#include "mlir/IR/Diagnostics.h"
#include <cmath>
#include <string>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::onnx;
using ::onnx::NodeProto;

FailureOr<OptimizerNode> OptimizerNode::read(const NodeProto &node, Location loc) {
  OptimizerNode made;
  made.node = &node;
  StringRef op = node.op_type();
  if (op != "Adam" && op != "Adagrad" && op != "Momentum")
    return emitError(loc) << "no optimizer of " << kTrainingDomain << " that dtcc knows: it has Adam, Adagrad and "
                          << "Momentum; --optimizer=KIND:lr=... trains the file's loss by another one";
  made.slotCount = op == "Adam" ? 2 : 1;
  int lists = 2 + made.slotCount;
  if (node.input_size() < 2 + lists || (node.input_size() - 2) % lists != 0)
    return emitError(loc) << "must have R, T and " << lists << " operands a parameter, got: " << node.input_size()
                          << " operands";
  made.size = (node.input_size() - 2) / lists;
  if (node.output_size() > made.size * (1 + made.slotCount))
    return emitError(loc) << "must have at most " << made.size * (1 + made.slotCount)
                          << " results, got: " << node.output_size();
  for (const std::string &input : node.input())
    if (input.empty())
      return emitError(loc) << "must name each of its operands";
  made.regularization = realAttribute(node, "norm_coefficient", 0);
  if (op == "Momentum") {
    for (StringRef name : {"alpha", "beta", "mode", "norm_coefficient"})
      if (!findAttribute(node, name))
        return emitError(loc) << "must have the attribute '" << name << "'";
    made.alpha = realAttribute(node, "alpha", 0), made.beta = realAttribute(node, "beta", 0);
    StringRef mode = findAttribute(node, "mode")->s();
    if (mode != "standard" && mode != "nesterov")
      return emitError(loc) << "mode must be standard or nesterov, got: '" << mode << "'";
    made.nesterov = mode == "nesterov";
    // Without momentum there is no slot that beta could act on.
    if (made.alpha == 0 && made.beta != 1)
      return emitError(loc) << "beta must be 1 where alpha is 0, got: " << made.beta;
  } else {
    made.epsilon = realAttribute(node, "epsilon", 1e-6f);
    made.rateDecay = realAttribute(node, "decay_factor", 0);
  }
  if (op == "Adam") {
    made.alpha = realAttribute(node, "alpha", 0.9f), made.beta = realAttribute(node, "beta", 0.999f);
    made.postDecay = realAttribute(node, "norm_coefficient_post", 0);
    for (auto [name, value] : {std::pair("alpha", made.alpha), std::pair("beta", made.beta)})
      if (!(value >= 0 && value < 1))
        return emitError(loc) << name << " must be at least 0 and less than 1, got: " << value;
  }
  for (double value : {made.alpha, made.beta, made.epsilon, made.postDecay, made.rateDecay, made.regularization})
    if (!std::isfinite(value))
      return emitError(loc) << "must have finite attributes, got: " << value;
  return made;
}

bool OptimizerNode::needsCount() const {
  StringRef op = node->op_type();
  return op == "Adam" || (op == "Momentum" && beta != 1) || rateDecay != 0;
}

Attribute OptimizerNode::attribute(MLIRContext *context, double rate, int64_t first, double decay) const {
  StringRef op = node->op_type();
  // Step 1 has the count `first`.
  if (op == "Adam")
    return graph::AdamAttr::get(context, rate, alpha, beta, epsilon, decay, /*decoupled=*/false, /*raw_eps=*/true,
                                /*decay_last=*/false, postDecay, /*start=*/first - 1);
  // The first step has the count 0.
  if (op == "Momentum")
    return graph::SgdAttr::get(context, rate, alpha, 1 - beta, decay, nesterov, /*start=*/first);
  return graph::AdagradAttr::get(context, rate, rateDecay, epsilon, decay, /*start=*/first);
}
