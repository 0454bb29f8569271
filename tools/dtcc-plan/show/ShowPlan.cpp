//===- ShowPlan.cpp - A plan for people
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/show/Alike.h"
#include "tools/dtcc-plan/show/Show.h"
#include "tools/dtcc-plan/tables/TextTable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace dtcc;

static std::string join(const plan::Axes &axes) { return llvm::join(axes, ","); }

/// The stages, where they begin, and the schedule as a chart.
static void printPipeline(const plan::Plan &plan, llvm::raw_ostream &stream) {
  const plan::PipelinePlan &pipeline = *plan.pipeline;
  llvm::Expected<plan::Schedule> schedule = plan.schedule();
  if (!schedule) { // plans are checked when they are read
    llvm::consumeError(schedule.takeError());
    return;
  }
  std::string cuts;
  for (int64_t cut : pipeline.cuts)
    cuts += (cuts.empty() ? "" : ", ") + std::to_string(cut);
  printLine(stream, "stages",
            llvm::Twine(pipeline.stages()) + " over " + pipeline.axis + ", begun before origins " + cuts);
  if (!pipeline.devices.empty())
    printLine(stream, "devices", llvm::join(pipeline.devices, ", "));
  double bubble = plan::timelineOf(*schedule).bubble(*schedule);
  std::string held;
  for (size_t rank = 0; rank < schedule->ranks.size(); ++rank)
    held += (rank ? ", " : "") + std::to_string(schedule->peakInFlight(int64_t(rank)));
  printLine(stream, "schedule",
            (pipeline.schedule.empty() ? std::string("of a file") : pipeline.schedule) + ", waiting " +
                llvm::formatv("{0:f1} %", 100 * bubble).str() + ", in flight " + held);
  llvm::SmallVector<llvm::StringRef> lines;
  std::string chart = plan::scheduleChart(*schedule);
  llvm::StringRef(chart).rtrim().split(lines, '\n');
  for (llvm::StringRef line : lines)
    stream << "  " << line << '\n';
}

void dtcc::printMesh(const plan::Plan &plan, llvm::raw_ostream &stream) {
  std::string mesh;
  for (const spmd::MeshAxis &axis : plan.mesh.axes)
    if (!axis.time && axis.size > 1)
      mesh += (mesh.empty() ? "" : " x ") + axis.name + "=" + std::to_string(axis.size);
  int64_t ranks = plan.mesh.ranks();
  printLine(stream, "mesh", mesh + (mesh.empty() ? "" : ", ") + llvm::Twine(ranks) + (ranks == 1 ? " rank" : " ranks"));
  printLine(stream, "micro-batches", llvm::Twine(plan.mesh.slots()));
  if (plan.pipeline)
    printPipeline(plan, stream);
  plan::Axes batch = plan.withoutUnitAxes(plan.batchAxes), flat = plan.withoutUnitAxes(plan.flatAxes);
  printLine(stream, "batch over", batch.empty() ? "nothing: every rank has all samples" : join(batch));
  if (plan::Axes positions = plan.withoutUnitAxes(plan.sequenceAxes); !positions.empty())
    printLine(stream, "positions over",
              join(positions) + (plan.sequenceOrder == plan::SequenceOrder::ZigZag ? ", in zig-zag order" : ""));
  static constexpr const char *shared[] = {"", "the update is", "gradients and the update are",
                                           "parameters, gradients and the update are"};
  if (plan.zero == 0)
    printLine(stream, "ZeRO", "0: every rank updates all of its parameters");
  else
    printLine(stream, "ZeRO",
              llvm::Twine(plan.zero) + ": " +
                  (flat.empty() ? "sharded over nothing" : shared[plan.zero] + (" sharded over " + join(flat))));
  if (plan.gradients != plan::GradientType::F32)
    printLine(stream, "gradients",
              "kept and reduced in " + llvm::Twine(llvm::StringRef(plan::toString(plan.gradients))) +
                  " instead of f32");
  size_t moved = llvm::count_if(plan.ops, [](const plan::OpPlan &op) { return op.onHost; });
  if (plan.offload.any())
    printLine(stream, "offloaded",
              llvm::Twine(plan.offload.optimizer ? "optimizer state" : "") +
                  (plan.offload.optimizer && moved ? " and " : "") +
                  (moved ? "saved activations of " + std::to_string(moved) + " forward ops" : std::string()));
}

/// "factor 1 over tp, partial over cp".
static std::string describe(const plan::Plan &plan, const plan::OpPlan &op) {
  std::vector<std::string> parts;
  for (const auto &[factor, axes] : op.factors)
    if (plan::Axes split = plan.withoutUnitAxes(axes); !split.empty())
      parts.push_back("factor " + std::to_string(factor) + " over " + join(split));
  if (op.partial) {
    plan::Axes partial = plan.withoutUnitAxes(*op.partial);
    parts.push_back(partial.empty() ? "no partial sums" : "partial sums over " + join(partial));
  }
  if (op.capacity)
    parts.push_back(llvm::formatv("room for {0} of the mean rows", *op.capacity).str());
  return llvm::join(parts, ", ");
}

/// "3, 8, 13, ..": the first few numbers.
static std::string listOrigins(llvm::ArrayRef<int64_t> origins) {
  constexpr size_t kShown = 6;
  std::string text;
  for (int64_t origin : origins.take_front(kShown))
    text += (text.empty() ? "" : ", ") + std::to_string(origin);
  return origins.size() > kShown ? text + ", .." : text;
}

void dtcc::printOps(const plan::Plan &plan, llvm::raw_ostream &stream) {
  Groups<std::pair<std::string, std::string>, std::vector<int64_t>> groups;
  for (const plan::OpPlan &op : plan.ops)
    if (std::string split = describe(plan, op); !split.empty())
      groups[{op.op, split}].push_back(op.origin);
  stream << '\n';
  printHeading(stream, "Forward ops that are split by more than the batch");
  if (groups.empty()) {
    stream << "  none\n";
    return;
  }
  TextTable table({">ops", "op", "split", "origins"});
  for (const auto &[key, origins] : groups)
    table.add({formatCount(origins.size()), key.first, key.second, listOrigins(origins)});
  table.print(stream);
}

void dtcc::printPlannedStates(const plan::Plan &plan, llvm::raw_ostream &stream) {
  if (plan.states.empty())
    return;
  stream << '\n';
  printHeading(stream, "States that the plan lays out");
  std::vector<NamedText> list;
  for (const plan::StatePlan &state : plan.states) {
    std::vector<std::string> parts;
    if (state.layout)
      for (size_t i = 0; i < state.layout->size(); ++i)
        if (plan::Axes split = plan.withoutUnitAxes((*state.layout)[i]); !split.empty())
          parts.push_back("dim " + std::to_string(i) + " over " + join(split));
    std::string layout = !state.layout ? "that of its reader" : parts.empty() ? "whole" : llvm::join(parts, ", ");
    if (plan.zero != 0 || state.zero.value_or(0) != 0)
      layout += ", ZeRO " + std::to_string(state.zero.value_or(plan.zero));
    list.push_back({state.name, layout});
  }
  TextTable table({"layers", "layout", "states"});
  for (const AlikeRow &row : groupAlike(list))
    table.add({row.layers, row.text, row.names});
  table.print(stream);
}
