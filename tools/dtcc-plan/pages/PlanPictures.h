//===- PlanPictures.h - Plans as pictures
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCC_PLAN_PAGES_PLANPICTURES_H
#define DTCC_TOOLS_DTCC_PLAN_PAGES_PLANPICTURES_H

#include "planner/search/SearchReport.h"
#include "tools/dtcc-plan/pages/Axis.h"
#include <vector>

namespace dtcc {

/// A piece of a stacked bar.
struct BarPiece {
  /// A class of the page's style, which is a meaning: "compute", "gradient", ..
  std::string style, name;
  double value = 0;
};
struct Bar {
  std::string label;
  std::vector<BarPiece> pieces;
};
/// The quantity that the length of a bar stands for, and how a value of it is written.
struct BarScale {
  llvm::StringRef name;
  llvm::ArrayRef<AxisUnit> units;
  std::string (*write)(double);
};
/// Stacked bars between the names of their pieces and an axis; `limit` is marked (0: none).
Svg drawBars(llvm::ArrayRef<Bar> bars, llvm::StringRef what, const BarScale &unit, double limit = 0);

/// Ranks as squares, a row for each stage of the pipeline; copies of the model in turns of two hues, nodes framed.
Svg drawMesh(const plan::Parallelism &shape, int64_t domain);
/// A row for each stage with its blocks; recomputed blocks have another hue.
Svg drawPlacement(const plan::PlanReport &plan);
/// A bar for each stage by what a device of it holds, and where its memory ends.
Svg drawMemory(const plan::PlanReport &plan, double limit);
/// Activations and state of a device of the first, the middle and the last stage in the course of a step.
Svg drawMemoryOverTime(const plan::PlanReport &plan, const cost::StepTimeline &timeline, double limit);
/// A row for each rank of the pipeline: what it computes, and below it what it sends and reduces. A row stands for
/// `each` ranks of the mesh, which do the same.
Svg drawTimeline(const cost::StepTimeline &timeline, int64_t each);
/// A bar for each plan by the parts of its time.
Svg drawParts(llvm::ArrayRef<plan::PlanReport> plans);

} // namespace dtcc

#endif // DTCC_TOOLS_DTCC_PLAN_PAGES_PLANPICTURES_H
