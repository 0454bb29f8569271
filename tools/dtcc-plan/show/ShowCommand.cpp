//===- ShowCommand.cpp - dtcc-plan show
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/show/ShowCommand.h"
#include "runtime/abi/OwnWeights.h"
#include "tools/dtcc-plan/pages/ReportFiles.h"
#include "tools/dtcc-plan/show/ShowPage.h"
#include "tools/dtcc-plan/tables/TextTable.h"

using namespace dtcc;

static void showProgram(const PlanOrProgram &file, llvm::raw_ostream &stream) {
  const ProgramFile &program = *file.program;
  const dtcc_image_header &header = program.header();
  printHeading(stream, ("Program " + program.string(header.model) + " for " + program.processor()).str());
  if (file.plan) {
    printMesh(*file.plan, stream);
  } else {
    std::string mesh;
    for (const dtcc_axis &axis : program.axes())
      mesh += (mesh.empty() ? "" : " x ") + program.string(axis.name).str() + "=" + std::to_string(axis.size);
    printLine(stream, "mesh", mesh);
    printLine(stream, "plan", "none: the program was compiled from text of a lower level");
  }
  printLine(stream, "batch", llvm::Twine(header.training.batch) + " samples a step");
  if (llvm::StringRef weights = program.string(header.weights); !weights.empty())
    printLine(stream, "weights", weights == llvm::StringRef(kOwnWeights) ? "inside the program" : weights);
  printProgram(program, stream);
  if (file.plan)
    printOps(*file.plan, stream);
}

static void print(const PlanOrProgram &file, llvm::raw_ostream &stream) {
  if (file.program)
    return showProgram(file, stream);
  printHeading(stream, "Plan");
  printMesh(*file.plan, stream);
  printOps(*file.plan, stream);
  printPlannedStates(*file.plan, stream);
}

llvm::Error dtcc::show(const Arguments &arguments, llvm::raw_ostream &stream) {
  ReportFiles files(arguments.value("html"), arguments.value("trace"));
  if (llvm::Error error = files.open(arguments.inputs()))
    return error;
  llvm::Expected<PlanOrProgram> file = PlanOrProgram::read(arguments.inputs()[0]);
  if (!file)
    return file.takeError();
  if (files.any()) {
    if (!file->plan && arguments.has("trace"))
      return llvm::createStringError(file->path + ": the program has no plan, and so no schedule to trace");
    std::string text;
    llvm::raw_string_ostream words(text);
    print(*file, words);
    cost::StepTimeline timeline = file->plan ? timelineOf(*file->plan) : cost::StepTimeline();
    if (llvm::Error error = files.write([&](llvm::raw_ostream &page) { writeShowPage(*file, timeline, text, page); },
                                        timeline, file->path))
      return error;
  }
  arguments.has("json") ? showJson(*file, stream) : print(*file, stream);
  return llvm::Error::success();
}
