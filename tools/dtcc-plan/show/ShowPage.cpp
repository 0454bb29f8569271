//===- ShowPage.cpp - A plan or a program as a page
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/show/ShowPage.h"
#include "tools/dtcc-plan/pages/HtmlPage.h"
#include "tools/dtcc-plan/pages/PlanPictures.h"
#include "tools/dtcc-plan/tables/TextTable.h"
#include "llvm/Support/Path.h"

using namespace dtcc;

static constexpr double kUnit = 1e-3;

static cost::TimelineWork workOf(plan::Work work) {
  switch (work) {
  case plan::Work::Forward:
    return cost::TimelineWork::Forward;
  case plan::Work::InputGradient:
    return cost::TimelineWork::InputGradient;
  case plan::Work::WeightGradient:
    return cost::TimelineWork::WeightGradient;
  case plan::Work::Backward:
    return cost::TimelineWork::Backward;
  }
  return cost::TimelineWork::Forward;
}

cost::StepTimeline dtcc::timelineOf(const plan::Plan &plan) {
  plan::Schedule schedule;
  if (plan.pipeline) {
    llvm::Expected<plan::Schedule> made = plan.schedule();
    if (made)
      schedule = std::move(*made);
    else // plans are checked when they are read
      llvm::consumeError(made.takeError());
  } else {
    schedule.ranks.resize(1);
    for (int64_t microbatch = 0; microbatch < plan.mesh.slots(); ++microbatch)
      for (plan::Work work : {plan::Work::Forward, plan::Work::Backward})
        schedule.ranks[0].push_back({work, 0, microbatch});
  }
  plan::Timeline drawn = plan::timelineOf(schedule);
  cost::StepTimeline timeline;
  timeline.ranks = int64_t(schedule.ranks.size());
  timeline.seconds = double(drawn.end) * kUnit;
  for (int64_t rank = 0; rank < timeline.ranks; ++rank)
    for (size_t i = 0; i < schedule.ranks[rank].size(); ++i) {
      const plan::Action &action = schedule.ranks[rank][i];
      double begin = double(drawn.begins[rank][i]) * kUnit;
      timeline.events.push_back({rank, cost::TimelineStream::Compute, workOf(action.work), action.stage,
                                 action.microbatch, -1, begin,
                                 begin + double(plan::Timeline::length(action.work)) * kUnit});
    }
  return timeline;
}

static Svg drawArenas(const ProgramFile &program) {
  auto styleOf = [](llvm::StringRef name) -> const char * {
    return name == "activations" ? "activation"
           : name == "state"     ? "parameter"
           : name == "workspace" ? "work"
                                 : "input";
  };
  std::vector<Bar> bars;
  for (const dtcc_stage &stage : program.stages()) {
    bars.push_back({program.stages().size() > 1 ? program.string(stage.name).str() : "a rank", {}});
    for (const dtcc_arena &arena : ProgramFile::rowsOf(stage.arenas, program.arenas())) {
      if (program.isOnHost(arena))
        continue;
      std::string name = program.string(arena.name).str();
      bars.back().pieces.push_back({styleOf(name), name, double(arena.bytes)});
    }
  }
  return drawBars(bars, "planned memory of a rank by stage and arena", {"memory of a rank", kByteUnits, formatBytes});
}

static Svg drawCollectives(const ProgramFile &program) {
  std::vector<Bar> bars;
  for (const CollectiveRow &row : collectivesOf(program)) {
    const dtcc_axes &axes = program.communicators()[row.communicator].axes;
    bool isMessage = row.name == "send" || row.name == "receive";
    bars.push_back({row.name + " " + program.names(axes),
                    {{isMessage ? "message" : "collective", isMessage ? "messages between stages" : "collectives",
                      double(row.bytes)}}});
    for (const auto &[number, stage] : llvm::enumerate(program.stages()))
      if (program.stages().size() > 1 && row.phase - stage.phases.first < stage.phases.count)
        bars.back().label += ", stage " + std::to_string(number);
  }
  return drawBars(bars, "bytes of collectives of a step on a rank", {"sent in a step", kByteUnits, formatBytes});
}

void dtcc::writeShowPage(const PlanOrProgram &file, const cost::StepTimeline &timeline, llvm::StringRef text,
                         llvm::raw_ostream &stream) {
  HtmlPage page((file.program ? "Program " : "Plan ") + llvm::sys::path::filename(file.path).str(), stream);
  if (file.plan) {
    plan::Parallelism shape = plan::shapeOf(plan::parallelismOf(*file.plan));
    page.paragraph(shape.str());
    page.picture("The mesh", drawMesh(shape, shape.ranks()));
    page.picture(file.plan->pipeline ? "The pipeline" : "A step",
                 drawTimeline(timeline, shape.ranks() / timeline.ranks),
                 "F, I and W are drawn as 1 ms and B as 2: an order, no forecast.");
  }
  if (file.program) {
    page.picture("Planned memory of a rank", drawArenas(*file.program));
    if (!collectivesOf(*file.program).empty())
      page.picture("Collectives of a step, on a rank", drawCollectives(*file.program));
  }
  page.heading("In words");
  page.lines(text);
}
