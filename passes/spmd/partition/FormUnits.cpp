//===- FormUnits.cpp - Names the unit of every state
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two orders: what ranks share whole is gathered and reduced by units of the model, in
// the order of the forward pass; other gradients are reduced by buckets, in the order in
// which the backward pass completes them. So are gradients that early updates read.
//
//===----------------------------------------------------------------------===//

#include "dialects/graph/StateUpdate.h"
#include "dialects/interfaces/Bytes.h"
#include "dialects/spmd/Spmd.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "passes/spmd/Passes.h"
#include "passes/spmd/layout/PlanAttribute.h"
#include "passes/spmd/partition/Units.h"
#include "passes/spmd/partition/UpdatePhase.h"
#include "planner/cost/BucketSize.h"
#include "planner/parallelism/StateTable.h"
#include "runtime/abi/OrthogonalizeWorkspace.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace dtcc::spmd {
#define GEN_PASS_DEF_SPMDFORMUNITS
#include "passes/spmd/Passes.h.inc"
#include <tuple>

namespace {

class UnitFormer {
public:
  UnitFormer(ModuleOp module, func::FuncOp step, const Mesh &mesh)
      : module(module), mesh(mesh), early(updatesEarly(module, mesh)) {
    for (auto update : step.getOps<graph::UpdateOp>())
      optimizer = cast<graph::OptimizerAttrInterface>(update.getOptimizer());
    for (Operation &op : step.getBody().front()) {
      positions[&op] = positions.size();
      for (const StateAccess &access : stateAccesses(&op))
        if (access.kind == StateAccessKind::Update)
          gradients.try_emplace(access.state, access.value);
        else if (access.kind == StateAccessKind::Read)
          reads.try_emplace(access.state, &op);
    }
  }

  /// `bytesPerFlop`: of what an optimizer does once more for each bucket.
  void run(double latencyBytes, double bytesPerFlop) {
    // States that stay in f32 beside a narrow compute type (scales of norms) are exchanged in f32, so they have units
    // of their own. Index 1 holds the narrow states.
    std::vector<Entry> blocks[2], buckets[2];
    double total[2] = {};
    for (auto state : module.getOps<graph::StateOp>()) {
      auto layout = state->getAttrOfType<TypeAttr>(kLayoutAttr);
      if (!layout)
        continue;
      auto type = cast<TensorType>(layout.getValue());
      auto local = localType(type, mesh);
      if (!local)
        continue;
      Operation *reader = firstReader(state.getSymName());
      Entry entry{state, {state.getSavedName().str(), "", double(local.getNumElements()) * width(type)}};
      bool narrow = state->hasAttr(kComputeAttr);
      auto zero = state->getAttrOfType<IntegerAttr>(kZeroAttr);
      if (zero && plan::stateRow(zero.getInt()).gradient) {
        llvm::raw_string_ostream(entry.member.signature) << type << (reader ? reader->getName().getStringRef() : "");
        entry.order = reader ? positions.lookup(reader) : 0;
        blocks[narrow].push_back(entry);
      } else if (Value gradient = gradients.lookup(state.getSymName()); gradient && (early || isSummed(gradient))) {
        entry.order = positions.lookup(gradient.getDefiningOp());
        total[narrow] += entry.member.bytes;
        buckets[narrow].push_back(entry);
      }
    }
    for (bool narrow : {true, false})
      name(blocks[narrow], [&](const auto &members) { return unitsByBlock(members, latencyBytes); });
    for (bool narrow : {true, false})
      // One bucket has no order to tell.
      if (double most = cost::bucketBytes(total[narrow], latencyBytes + bytesPerFlop * flopsOfMatrix(buckets[narrow]));
          most < total[narrow])
        name(buckets[narrow], [&](const auto &members) { return unitsBySize(members, most); });
  }

private:
  struct Entry {
    graph::StateOp state;
    UnitMember member;
    size_t order = 0, number = 0;
  };

  /// FLOP in which the optimizer orthogonalizes the mean of the matrices among `entries`; 0 if there are none. Early
  /// updates are asked for to save memory, of which large buckets take some.
  double flopsOfMatrix(ArrayRef<Entry> entries) const {
    double flops = 0, count = 0;
    for (Entry entry : entries)
      if (int64_t steps =
              optimizer && !early ? graph::orthogonalSteps(graph::updateOf(entry.state, optimizer).optimizer) : 0) {
        ArrayRef<int64_t> sizes = entry.state.getSavedShape();
        flops += double(steps) * orthogonalizeFlops(sizes[0], sizes[1]);
        ++count;
      }
    return count > 0 ? flops / count : 0;
  }

  static double width(TensorType type) { return double(getElementBytes(type.getElementType())); }

  Operation *firstReader(StringRef state) const {
    Operation *first = nullptr;
    if (Operation *read = reads.lookup(state))
      for (Operation *user : read->getUsers())
        if (!first || positions.lookup(user) < positions.lookup(first))
          first = user;
    return first;
  }

  /// Whether ranks have to add their parts.
  bool isSummed(Value gradient) const {
    Axes partial = cast<TensorType>(gradient.getType()).getLayout().partial;
    return llvm::any_of(partial, [&](const std::string &axis) { return !mesh.isTime(axis); });
  }

  template <typename Choose> void name(std::vector<Entry> &entries, Choose choose) {
    for (auto [number, entry] : llvm::enumerate(entries))
      entry.number = number;
    llvm::sort(entries, [](const Entry &a, const Entry &b) {
      return std::tie(a.order, a.number) < std::tie(b.order, b.number);
    });
    std::vector<UnitMember> members;
    for (const Entry &entry : entries)
      members.push_back(entry.member);
    std::vector<size_t> numbers = choose(members);
    for (size_t first = 0, next; first < entries.size(); first = next) {
      std::vector<std::string> names;
      for (next = first; next < entries.size() && numbers[next] == numbers[first]; ++next)
        names.push_back(members[next].name);
      std::string stem = unitName(names), unit = stem;
      for (int again = 2; !taken.insert(unit).second; ++again)
        unit = stem + " (" + std::to_string(again) + ")";
      for (size_t i = first; i < next; ++i)
        entries[i].state->setAttr(kUnitAttr, StringAttr::get(module.getContext(), unit));
    }
  }

  ModuleOp module;
  const Mesh &mesh;
  /// Whether a gradient is read, and its memory free, once its unit is complete.
  bool early;
  graph::OptimizerAttrInterface optimizer;
  llvm::StringMap<Value> gradients;
  llvm::DenseMap<Operation *, size_t> positions;
  llvm::StringMap<Operation *> reads;
  llvm::StringSet<> taken;
};

struct FormUnits : impl::SpmdFormUnitsBase<FormUnits> {
  using SpmdFormUnitsBase::SpmdFormUnitsBase;
  void runOnOperation() override {
    auto found = findDistributedStep(getOperation());
    if (failed(found))
      return signalPassFailure();
    Mesh mesh = toMesh(found->second);
    UnitFormer(getOperation(), found->first, mesh).run(latencyBytes, bytesPerFlop);
    if (wantsEarlyUpdates(getOperation()) && !updatesEarly(getOperation(), mesh))
      getOperation().emitRemark("--update=early changes nothing: one micro-batch without a pipeline must complete the "
                                "gradients, got: micro-batches: ")
          << mesh.slots();
    if (getContext().getRemarkEngine())
      tell();
  }

  void tell() {
    llvm::DenseSet<Attribute> units;
    size_t states = 0;
    for (auto state : getOperation().getOps<graph::StateOp>())
      if (Attribute unit = state->getAttr(kUnitAttr)) {
        units.insert(unit);
        ++states;
      }
    remark::passed(getOperation().getLoc(), remark::RemarkOpts::name("units").category(getArgument()))
        << remark::metric("Units", units.size()) << remark::metric("States", states);
  }
};
} // namespace
} // namespace dtcc::spmd
