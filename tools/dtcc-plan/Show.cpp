//===- Show.cpp - A plan or a program, for people
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/Show.h"
#include "tools/dtcc-plan/TextTable.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace dtcc;

static llvm::Error showProgram(llvm::StringRef path, llvm::StringRef bytes, llvm::raw_ostream &stream) {
  llvm::Expected<ProgramFile> program = ProgramFile::read(path, bytes);
  if (!program)
    return program.takeError();
  const dtcc_image_header &header = program->header();
  llvm::StringRef text = program->string(header.plan), weights = program->string(header.weights);
  // A program made of exec text says {}: it never had a plan.
  bool planned = !text.empty() && text != "{}";
  plan::Plan plan;
  if (planned) {
    llvm::Expected<plan::Plan> parsed = plan::parsePlan(text, (path + ": the plan in the program").str());
    if (!parsed)
      return parsed.takeError();
    plan = std::move(*parsed);
  }
  printHeading(stream, ("Program " + program->string(header.model) + " for " + program->string(header.cpu)).str());
  if (planned) {
    printMesh(plan, stream);
  } else {
    std::string mesh;
    for (const dtcc_axis &axis : program->axes())
      mesh += (mesh.empty() ? "" : " x ") + program->string(axis.name).str() + "=" + std::to_string(axis.size);
    printLine(stream, "mesh", mesh);
    printLine(stream, "plan", "none: the program was compiled from text of a lower level");
  }
  printLine(stream, "batch", llvm::Twine(header.training.batch) + " examples a step");
  if (!weights.empty())
    printLine(stream, "weights", weights);
  printProgram(*program, stream);
  if (planned)
    printOps(plan, stream);
  return llvm::Error::success();
}

llvm::Error dtcc::show(llvm::StringRef path, llvm::raw_ostream &stream) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError(buffer.getError(), path + ": cannot read: " + buffer.getError().message());
  llvm::StringRef bytes = (*buffer)->getBuffer();
  if (bytes.starts_with("\x7f"
                        "ELF"))
    return showProgram(path, bytes, stream);
  llvm::StringRef start = bytes.ltrim();
  if (!start.starts_with("{"))
    return llvm::createStringError(path + ": neither a plan (JSON) nor a program of dtcc");
  llvm::Expected<plan::Plan> plan = plan::parsePlan(bytes, path);
  if (!plan)
    return plan.takeError();
  printHeading(stream, "Plan");
  printMesh(*plan, stream);
  printOps(*plan, stream);
  printPlannedStates(*plan, stream);
  return llvm::Error::success();
}
