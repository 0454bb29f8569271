//===- GivenPlacement.cpp - The placement of a plan that is given whole
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/step/GivenPlacement.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Origin.h"
#include "dialects/interfaces/OpInterfaces.h"

using namespace mlir;

namespace dtcc::spmd {

static constexpr char kTensorAxis[] = "tp";

static Axes ofModel(const Axes &axes, const Mesh &mesh) {
  const MeshAxis *axis = mesh.find(kTensorAxis);
  return axis && axis->size > 1 && contains(axes, kTensorAxis) ? Axes{kTensorAxis} : Axes();
}

static void print(llvm::raw_ostream &out, const Axes &axes) {
  out << '{';
  llvm::interleave(axes, out, ",");
  out << '}';
}

/// Axes of each dimension of a state, as the first forward op that reads it needs them.
static std::vector<Axes> asReadFirst(graph::ReadOp read, const llvm::DenseMap<int64_t, const plan::OpPlan *> &entries) {
  std::vector<Axes> dims(cast<ShapedType>(read.getType()).getRank());
  // Uses are listed from the last one.
  for (OpOperand &use : read.getY().getUses()) {
    auto user = dyn_cast<FactorOpInterface>(use.getOwner());
    if (!user || graph::getPhase(user) != graph::Phase::Forward)
      continue;
    const plan::OpPlan *entry = entries.lookup(graph::getOrigin(user).value_or(-1));
    FactorMap map = user.getFactorMap();
    for (auto [dim, factor] : llvm::enumerate(map.operands[use.getOperandNumber()])) {
      auto axes = entry ? entry->factors.find(factor) : decltype(entry->factors.end())();
      dims[dim] = entry && factor != kNoFactor && axes != entry->factors.end() ? axes->second : Axes();
    }
  }
  return dims;
}

/// Do all attentions have their heads split over positions' axes, or none?
static std::optional<bool> areHeadsExchanged(func::FuncOp step, const plan::Plan &plan) {
  std::optional<bool> all;
  for (auto attention : step.getOps<graph::AttentionOp>()) {
    const plan::OpPlan *entry = plan.findOp(graph::getOrigin(attention).value_or(-1));
    bool exchanges = entry && llvm::any_of(entry->factors, [&](const auto &factor) {
                       return llvm::any_of(factor.second,
                                           [&](const std::string &axis) { return contains(plan.sequenceAxes, axis); });
                     });
    if (plan.sequenceAxes.empty() || (all && *all != exchanges))
      return std::nullopt;
    all = exchanges;
  }
  return all;
}

std::optional<GivenPlacement> GivenPlacement::of(func::FuncOp step, const plan::Plan &plan) {
  for (const MeshAxis &axis : plan.mesh.axes)
    if (!axis.time && axis.size > 1 && !plan::isSearchedAxis(axis.name))
      return std::nullopt;
  GivenPlacement given;
  if (plan.pipeline)
    given.cuts = plan.pipeline->cuts;
  for (const plan::OpPlan &op : plan.ops) {
    plan::OpPlan entry{op.origin, op.op, {}, {}, {}, {}};
    if (op.partial)
      entry.partial = ofModel(*op.partial, plan.mesh);
    llvm::raw_string_ostream text(given.opTexts[op.origin]);
    for (const auto &[factor, axes] : op.factors) {
      if (Axes own = ofModel(axes, plan.mesh); !own.empty()) {
        text << ' ' << factor;
        print(text, own);
        entry.factors[factor] = std::move(own);
      }
    }
    if (entry.partial) {
      text << " partial";
      print(text, *entry.partial);
    }
    if ((entry.onHost = op.onHost))
      text << " on the host";
    given.ring |= op.ring;
    if (op.dispatch)
      given.dispatches = *op.dispatch;
    if (op.capacity)
      given.capacity = op.capacity;
    given.ops.push_back(std::move(entry));
  }
  given.exchangesHeads = areHeadsExchanged(step, plan);
  llvm::DenseMap<int64_t, const plan::OpPlan *> entries;
  for (const plan::OpPlan &op : given.ops)
    entries[op.origin] = &op;
  for (auto read : step.getOps<graph::ReadOp>()) {
    auto [known, isNew] = given.stateTexts.try_emplace(read.getState());
    if (!isNew)
      continue;
    std::vector<Axes> dims;
    if (const plan::StatePlan *state = plan.findState(read.getState()); state && state->layout)
      for (const Axes &axes : *state->layout)
        dims.push_back(ofModel(axes, plan.mesh));
    else
      dims = asReadFirst(read, entries);
    if (int64_t(dims.size()) != cast<ShapedType>(read.getType()).getRank())
      return std::nullopt; // of another model
    llvm::raw_string_ostream text(known->second);
    for (const Axes &axes : dims)
      print(text, axes);
    given.states.push_back({read.getState().str(), std::move(dims), std::nullopt});
  }
  return given;
}

plan::SequenceExchange GivenPlacement::exchange() const {
  if (ring)
    return plan::SequenceExchange::Ring;
  if (!exchangesHeads)
    return plan::SequenceExchange::Cheaper;
  return *exchangesHeads ? plan::SequenceExchange::AllToAll : plan::SequenceExchange::Gather;
}

std::string GivenPlacement::signatureOf(Operation *op) const {
  if (auto read = dyn_cast<graph::ReadOp>(op))
    return stateTexts.lookup(read.getState());
  return opTexts.lookup(graph::getOrigin(op).value_or(-1));
}

} // namespace dtcc::spmd
