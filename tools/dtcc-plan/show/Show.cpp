//===- Show.cpp - A plan or a program, for people
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/show/Show.h"
#include "tools/dtcc-plan/pages/ReportFiles.h"
#include "tools/dtcc-plan/show/ShowPage.h"
#include "tools/dtcc-plan/tables/TextTable.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace dtcc;

static llvm::Error readProgram(llvm::StringRef bytes, PlanOrProgram &file) {
  llvm::Expected<ProgramFile> program = ProgramFile::read(file.path, bytes);
  if (!program)
    return program.takeError();
  llvm::StringRef text = program->string(program->header().plan);
  // A program made of exec text says {}: it never had a plan.
  if (!text.empty() && text != "{}") {
    llvm::Expected<plan::Plan> parsed = plan::parsePlan(text, file.path + ": the plan in the program");
    if (!parsed)
      return parsed.takeError();
    file.plan = std::move(*parsed);
  }
  file.program = std::move(*program);
  return llvm::Error::success();
}

llvm::Expected<PlanOrProgram> PlanOrProgram::read(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError(buffer.getError(), path + ": cannot read: " + buffer.getError().message());
  llvm::StringRef bytes = (*buffer)->getBuffer();
  PlanOrProgram file;
  file.path = path.str();
  if (bytes.starts_with("\x7f"
                        "ELF")) {
    if (llvm::Error error = readProgram(bytes, file))
      return std::move(error);
    return file;
  }
  if (!bytes.ltrim().starts_with("{"))
    return llvm::createStringError(path + ": neither a plan (JSON) nor a program of dtcc");
  llvm::Expected<plan::Plan> plan = plan::parsePlan(bytes, path);
  if (!plan)
    return plan.takeError();
  file.plan = std::move(*plan);
  return file;
}

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
    printLine(stream, "weights", weights);
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
