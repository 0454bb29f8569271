//===- Show.h - A plan or a program, for people
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCC_PLAN_SHOW_SHOW_H
#define DTCC_TOOLS_DTCC_PLAN_SHOW_SHOW_H

#include "planner/plan/Plan.h"
#include "tools/program/ProgramFile.h"
#include "llvm/ADT/MapVector.h"

namespace dtcc {

/// Rows that are equal in `Key`, in order of first appearance.
template <typename Key, typename Row> using Groups = llvm::MapVector<Key, Row, std::map<Key, unsigned>>;

/// A plan (JSON), or a program (ELF) with the plan in it, if it has one.
struct PlanOrProgram {
  std::string path;
  std::optional<plan::Plan> plan;
  std::optional<ProgramFile> program;

  /// The content of the file says which it is. FILE:RANKS names a world of a program that has several.
  static llvm::Expected<PlanOrProgram> read(llvm::StringRef path);
};

/// The plan as its file has it, and the tables of the program, as one JSON object.
void showJson(const PlanOrProgram &file, llvm::raw_ostream &stream);

/// Mesh, batch, ZeRO stage.
void printMesh(const plan::Plan &plan, llvm::raw_ostream &stream);
/// Placements of forward ops, equal ones in one row.
void printOps(const plan::Plan &plan, llvm::raw_ostream &stream);
/// States that the plan itself lays out.
void printPlannedStates(const plan::Plan &plan, llvm::raw_ostream &stream);

/// Prints the tables of a program: memory of a rank, states, work and collectives of a step.
void printProgram(const ProgramFile &program, llvm::raw_ostream &stream);

/// Equal collectives, sends and receives of a phase: how often a step runs them, and the bytes of the larger side.
struct CollectiveRow {
  uint32_t phase = 0;
  std::string name;
  uint32_t communicator = 0;
  uint64_t count = 0, bytes = 0;
};
std::vector<CollectiveRow> collectivesOf(const ProgramFile &program);
/// Number of runs of each phase in a step, over all stages.
std::vector<uint64_t> countRuns(const ProgramFile &program);

} // namespace dtcc

#endif // DTCC_TOOLS_DTCC_PLAN_SHOW_SHOW_H
