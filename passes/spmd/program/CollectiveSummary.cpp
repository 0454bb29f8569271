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

/// Bytes that a rank of a group of `members` exchanges: the larger side.
static int64_t bytesOf(const Communication &exchange, int64_t members) {
  if (exchange.info().traffic != Traffic::ToPicked)
    return std::max(exchange.bytesIn, exchange.bytesOut);
  // At most: each row of this rank to as many others as it has picks.
  return std::min(exchange.bytesIn, exchange.bytesOut) * std::min(exchange.picks, members - 1);
}

std::vector<CollectiveRow> summarizeCollectives(ProgramOp program) {
  std::vector<CollectiveRow> rows;
  FailureOr<Mesh> mesh =
      program.getBody().front().empty() ? FailureOr<Mesh>(failure()) : findMesh(&program.getBody().front().front());
  if (failed(mesh))
    return rows;
  auto add = [&](PhaseOp phase, const Communication &exchange) {
    int64_t times = exchange.once ? 1 : phase.getRepeat();
    Axes axes = toAxes(exchange.axes);
    CollectiveRow row{phase.getSymName().str(), std::string(exchange.info().mnemonic), axes, mesh->product(axes), 0, 0};
    auto at = llvm::find_if(rows, [&](const CollectiveRow &other) {
      return other.phase == row.phase && other.kind == row.kind && other.axes == row.axes;
    });
    if (at == rows.end())
      at = rows.insert(rows.end(), row);
    at->count += times;
    at->bytes += times * bytesOf(exchange, row.group);
  };
  for (auto phase : program.getBody().getOps<PhaseOp>()) {
    if (isOfEvaluation(phase.getSymName()))
      continue; // no part of a step
    for (auto op : phase.getBody().getOps<CommunicationOpInterface>())
      for (const Communication &exchange : op.getCommunications())
        if (exchange.collective)
          add(phase, exchange);
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
