//===- PhaseRun.cpp - One entry of the step of a stage
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "dialects/interfaces/PhaseRun.h"
#include "mlir/IR/Builders.h"
#include <string>

using namespace mlir;

namespace dtcc {

FailureOr<SmallVector<PhaseRun>> parsePhaseRuns(AsmParser &parser) {
  SmallVector<PhaseRun> runs;
  auto parseRun = [&]() -> ParseResult {
    std::string phase;
    int64_t slot;
    if (parser.parseKeywordOrString(&phase) || parser.parseInteger(slot))
      return failure();
    runs.push_back({parser.getBuilder().getStringAttr(phase), slot});
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseRun))
    return failure();
  return runs;
}

void printPhaseRuns(AsmPrinter &printer, ArrayRef<PhaseRun> runs) {
  printer << '[';
  llvm::interleaveComma(runs, printer, [&](const PhaseRun &run) {
    printer.printKeywordOrString(run.phase);
    printer << ' ' << run.slot;
  });
  printer << ']';
}

LogicalResult verifyPhaseRuns(Operation *program, ArrayRef<PhaseRun> runs,
                              ArrayRef<std::pair<StringRef, int64_t>> phases) {
  for (const PhaseRun &run : runs) {
    auto phase = llvm::find_if(phases, [&](const auto &entry) { return entry.first == run.phase.getValue(); });
    if (phase == phases.end())
      return program->emitOpError("action must name a phase of the program, got: ") << run.str();
    if (run.slot < 0 || run.slot >= phase->second)
      return program->emitOpError("slot of an action must be from 0 to ")
             << phase->second - 1 << ", got: " << run.str();
  }
  return success();
}

} // namespace dtcc
