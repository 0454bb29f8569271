//===- CollectiveSummary.cpp - What a step communicates, by count and bytes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "passes/spmd/program/CollectiveSummary.h"
#include "passes/spmd/Passes.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace dtcc::spmd {
#define GEN_PASS_DEF_SPMDPRINTCOLLECTIVES
#include "passes/spmd/Passes.h.inc"

static int64_t bytesOf(Type type) {
  auto shaped = cast<ShapedType>(type);
  return shaped.getNumElements() * ((shaped.getElementTypeBitWidth() + 7) / 8);
}

std::vector<CollectiveRow> summarizeCollectives(ProgramOp program) {
  std::vector<CollectiveRow> rows;
  FailureOr<Mesh> mesh =
      program.getBody().front().empty() ? FailureOr<Mesh>(failure()) : findMesh(&program.getBody().front().front());
  if (failed(mesh))
    return rows;
  auto add = [&](PhaseOp phase, StringRef kind, ArrayAttr names, int64_t bytes, bool once = false) {
    int64_t times = once ? 1 : phase.getRepeat();
    CollectiveRow row{phase.getSymName().str(), kind.str(), toAxes(names), mesh->product(toAxes(names)), 0, 0};
    auto at = llvm::find_if(rows, [&](const CollectiveRow &other) {
      return other.phase == row.phase && other.kind == row.kind && other.axes == row.axes;
    });
    if (at == rows.end())
      at = rows.insert(rows.end(), row);
    at->count += times;
    at->bytes += times * bytes;
  };
  for (auto phase : program.getBody().getOps<PhaseOp>())
    for (Operation &op : phase.getBody().front()) {
      if (auto gather = dyn_cast<GatherBucketOp>(op)) {
        auto bucket = SymbolTable::lookupNearestSymbolFrom<BucketOp>(program, gather.getBucketAttr());
        int64_t width = (bucket.getElementType().getIntOrFloatBitWidth() + 7) / 8;
        add(phase, "all_gather", gather.getAxes(), bucket.getLength() * width);
      } else if (auto gather = dyn_cast<GatherUnitOp>(op)) {
        add(phase, "all_gather", gather.getAxes(), bytesOf(gather.getY().getType()));
      } else if (auto reduce = dyn_cast<ReduceBucketOp>(op)) {
        auto bucket = SymbolTable::lookupNearestSymbolFrom<BucketOp>(program, reduce.getBucketAttr());
        int64_t bytes = bucket.getLength() * ((bucket.getElementType().getIntOrFloatBitWidth() + 7) / 8) /
                        mesh->product(toAxes(bucket.getFlat()));
        if (!reduce.getScatter().empty())
          add(phase, "reduce_scatter", reduce.getScatter(), bytes, reduce.getSlot().has_value());
        if (!reduce.getSum().empty())
          add(phase, "all_reduce", reduce.getSum(), bytes / mesh->product(toAxes(reduce.getScatter())),
              reduce.getSlot().has_value());
      } else if (isa<DispatchRowsOp, CombineRowsOp>(op)) {
        // At most: each row to as many others as it has picks.
        bool out = isa<DispatchRowsOp>(op);
        int64_t members = mesh->product(toAxes(op.getAttrOfType<ArrayAttr>("axes")));
        int64_t picks = cast<ShapedType>(op.getOperand(1).getType()).getShape().back();
        int64_t own = bytesOf(out ? op.getOperand(0).getType() : op.getResult(0).getType());
        add(phase, op.getName().stripDialect(), op.getAttrOfType<ArrayAttr>("axes"),
            own * std::min(picks, members - 1));
      } else if (isa<AllReduceOp, AllGatherOp, ReduceScatterOp, AllToAllOp, ShiftOp>(op)) {
        int64_t bytes = std::max(bytesOf(op.getOperand(0).getType()), bytesOf(op.getResult(0).getType()));
        add(phase, op.getName().stripDialect(), op.getAttrOfType<ArrayAttr>("axes"), bytes);
      }
    }
  return rows;
}

std::string printCollectives(ArrayRef<CollectiveRow> rows) {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (const CollectiveRow &row : rows) {
    out << row.phase << " " << row.kind << " over ";
    llvm::interleave(row.axes, out, ",");
    out << " (" << row.group << " ranks): " << row.count << " x, " << row.bytes << " bytes\n";
  }
  return text;
}

namespace {
struct PrintCollectives : impl::SpmdPrintCollectivesBase<PrintCollectives> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<ProgramOp>())
      llvm::outs() << printCollectives(summarizeCollectives(program));
    markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace dtcc::spmd
