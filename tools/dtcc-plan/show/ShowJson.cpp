//===- ShowJson.cpp - A plan or a program for scripts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/show/Show.h"
#include "llvm/Support/JSON.h"

using namespace dtcc;

static void writeStages(const ProgramFile &program, llvm::json::OStream &out) {
  for (const dtcc_stage &stage : program.stages())
    out.object([&] {
      out.attribute("name", program.string(stage.name));
      out.attribute("bytes", int64_t(arenaBytes(program, stage)));
      if (uint64_t bytes = arenaBytes(program, stage, /*onHost=*/true))
        out.attribute("host_bytes", int64_t(bytes));
      out.attributeObject("arenas", [&] {
        for (const dtcc_arena &arena : ProgramFile::rowsOf(stage.arenas, program.arenas()))
          out.attribute(program.string(arena.name), int64_t(arena.bytes));
      });
    });
}

static void writePhases(const ProgramFile &program, llvm::json::OStream &out) {
  std::vector<uint64_t> runs = countRuns(program);
  for (size_t i = 0; i < runs.size(); ++i) {
    const dtcc_phase &phase = program.phases()[i];
    double flops = 0;
    for (const dtcc_command &command : program.commands().slice(phase.first_command, phase.command_count))
      flops += command.flops;
    out.object([&] {
      out.attribute("name", program.string(phase.name));
      out.attribute("runs", int64_t(runs[i]));
      out.attribute("commands", int64_t(phase.command_count));
      out.attribute("flops", flops);
    });
  }
}

static void writeCollectives(const ProgramFile &program, llvm::json::OStream &out) {
  for (const CollectiveRow &row : collectivesOf(program))
    out.object([&] {
      const dtcc_axes &axes = program.communicators()[row.communicator].axes;
      out.attribute("phase", program.string(program.phases()[row.phase].name));
      out.attribute("collective", row.name);
      out.attribute("axes", program.names(axes));
      out.attribute("ranks", program.extent(axes));
      out.attribute("times", int64_t(row.count));
      out.attribute("bytes", int64_t(row.bytes));
    });
}

/// Part of all ranks' time in which they wait for each other, if passes took 1 and 2.
static double waitsOf(const plan::Plan &plan) {
  llvm::Expected<plan::Schedule> schedule = plan.schedule();
  if (!schedule) { // plans are checked when they are read
    llvm::consumeError(schedule.takeError());
    return 0;
  }
  return plan::timelineOf(*schedule).bubble(*schedule);
}

/// Writes the processor: "cpu", or "gpu" with the code that drivers load.
static void writeProcessor(const ProgramFile &program, llvm::json::OStream &out) {
  if (program.gpuModules().empty()) {
    out.attribute("cpu", program.string(program.header().cpu));
    return;
  }
  out.attributeObject("gpu", [&] {
    out.attribute("kernels", int64_t(program.gpuKernels().size()));
    out.attribute("tf32", program.header().tf32 != 0);
    out.attributeArray("code", [&] {
      for (const dtcc_gpu_module &module : program.gpuModules())
        out.object([&] {
          out.attribute("architecture", "sm_" + std::to_string(module.architecture));
          out.attribute("kind", module.kind == DTCC_GPU_PTX ? "ptx" : "cubin");
          out.attribute("bytes", int64_t(module.bytes));
        });
    });
  });
}

void dtcc::showJson(const PlanOrProgram &file, llvm::raw_ostream &stream) {
  llvm::json::OStream out(stream, 2);
  out.object([&] {
    out.attribute("file", file.path);
    if (file.plan) {
      out.attribute("ranks", file.plan->mesh.ranks());
      out.attribute("microbatches", file.plan->mesh.slots());
      if (file.plan->pipeline)
        out.attribute("waiting", waitsOf(*file.plan));
      out.attributeBegin("plan");
      out.rawValue(file.plan->toJson(0));
      out.attributeEnd();
    }
    if (!file.program)
      return;
    const ProgramFile &program = *file.program;
    out.attributeObject("program", [&] {
      out.attribute("model", program.string(program.header().model));
      writeProcessor(program, out);
      out.attribute("batch", program.header().training.batch);
      out.attributeObject("mesh", [&] {
        for (const dtcc_axis &axis : program.axes())
          out.attribute(program.string(axis.name), axis.size);
      });
      out.attributeArray("stages", [&] { writeStages(program, out); });
      out.attributeArray("phases", [&] { writePhases(program, out); });
      out.attributeArray("collectives", [&] { writeCollectives(program, out); });
    });
  });
  stream << '\n';
}
