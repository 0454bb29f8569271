//===- Help.cpp - What dtcc-plan --help says
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/arguments/Help.h"

using llvm::StringRef;

const char *const dtcc::kHelp = R"(dtcc-plan COMMAND ...
Decides where a model's training runs, and shows what was decided.

  search MODEL|--transformer=NAME --cluster=..   the best plans, the bound, and why the others lost
  show PLAN.json|PROGRAM                         mesh and placement; of a program also memory, states, collectives
  explain [PLAN.json] MODEL|--transformer=NAME --cluster=..
                                                 why this plan: each kind of parallelism, fewer devices, advice
  memory MODEL|--transformer=NAME --cluster=..   what a device holds under each ZeRO stage, and how few devices do
  compare A B [--transformer=NAME --cluster=..]  plans, programs or shapes side by side
  cost [PLAN.json|PROGRAM] MODEL|--transformer=NAME --cluster=..
                                                 a step and its parts, memory, days and dollars
  validate RUNS.csv                              forecasts measured runs and says how far off it is
  calibrate -o cluster.yaml                      measures this machine, or corrects a description by measured runs

  dtcc-plan COMMAND --help                       its options
  dtcc-plan --version                            the version

MODEL: .onnx or .mlir, with the options of dtcc (--bind=batch=8,seq=128). NAME: llama3-8b, gpt3-175b, ..,
or layers=32,hidden=4096,heads=32,..  --cluster: cpu:4, 8xh100, 2048x8xh100 or a file.
Exit status: 0 done, 1 bad input, 2 wrong usage, 3 interrupted.
)";

namespace {
struct HelpRow {
  StringRef command, text;
};
} // namespace

static constexpr HelpRow kHelpRows[] = {
    {"search", R"(dtcc-plan search MODEL --cluster=cpu:N|8xh100 [options of dtcc]
dtcc-plan search --transformer=llama3-405b --cluster=2048x8xh100 --batch=2048
Prices plans and prints the best first, with the parts of their times, what a device
holds, the bound below which no plan is, and why the runners-up lost.

  --mesh=dp=2,tp=2  --zero=1  --microbatches=8  a part of the plan; the rest is searched
  --offload=none|optimizer|activations|all      to hosts whose memory a cluster file gives
  --top=10                                      how many plans
  --precision=bf16                              what layers compute in
  --software=NeMo                               whose defaults a step has (of --transformer)
  -o plan.json                                  writes the best plan, for dtcc --plan=plan.json
  --html=report.html                            one page with pictures; nothing is fetched
  --trace=step.json                             the forecast of a step, for Perfetto
  --json                                        for scripts
)"},
    {"show", R"(dtcc-plan show PLAN.json|PROGRAM
Mesh, placement and schedule of a plan; of a compiled program also memory, states,
work and collectives of a step.

  --html=plan.html     one page with pictures; nothing is fetched
  --trace=step.json    the schedule, for Perfetto
  --json               for scripts
)"},
    {"explain", R"(dtcc-plan explain [PLAN.json] MODEL --cluster=cpu:4 --bind=batch=8,seq=128
dtcc-plan explain [PLAN.json] --transformer=llama3-8b --cluster=8x8xh100 --batch=128
Why this plan: the runners-up, the best of each kind of parallelism, the same batch on
fewer devices, what recomputation saves and costs, accumulation, learning rate, cost.
PLAN.json is priced on the same devices and compared with the best.

  --mesh, --zero, --microbatches, ..  a part of the plan, as dtcc has it; the rest is searched
  --tokens=15e12 --price=3.5          of the whole run; dollars a device and hour
  --base-batch=256 --base-lr=6e-4     a batch and the rate that is known to be good for it
  --top=6                             how many plans
  --html=report.html --trace=step.json  one page with pictures; a step for Perfetto
  --json                              for scripts
)"},
    {"compare", R"(dtcc-plan compare A B
dtcc-plan compare A B --transformer=llama3-8b --cluster=8xh100 --batch=64
Two plans (.json) or programs side by side: mesh, schedule, memory, collectives, with
differences and ratios. With a model and a cluster, what a step takes and a device holds;
A and B may then be shapes: "dp=2,tp=4 zero=1 microbatches=8".

  --model=MODEL.onnx --bind=..    instead of --transformer
  --json                          for scripts
)"},
    {"memory", R"(dtcc-plan memory MODEL --cluster=cpu:4 --bind=batch=8,seq=128
dtcc-plan memory --transformer=llama3-8b --cluster=8xh100 [--batch=64]
What a device holds (parameters, gradients, optimizer, activations, ..) under each stage
of ZeRO and each kind of recomputation, what fits, and the fewest devices that hold it.

  --mesh=tp=8        the axes; what is left of the devices is data parallelism
  --zero=1           this stage alone
  --microbatches=N   of a step; else an example a device at a time
  --recompute=full   this kind alone (of a model file)
  --offload=all      with the optimizer's state (optimizer), activations or both with the host
  --json             for scripts
)"},
    {"cost", R"(dtcc-plan cost [PLAN.json|PROGRAM] --transformer=llama3-8b --cluster=8xh100 --tokens=15e12
dtcc-plan cost [PLAN.json] MODEL --cluster=8xh100 --bind=batch=64,seq=4096 --tokens=15e12
dtcc-plan cost PROGRAM --tokens=1e9 --price=0.1
Time of a step and its parts, memory of a device, days and dollars. A program alone is
priced by its commands, on the machine that it was compiled for.

  --mesh=tp=2,pp=4  --zero=1  --recompute=none|selective|full  --schedule=interleaved:4
                                  the plan, where no file gives it; of MODEL the rest is searched
  --batch=512 --micro-batch=1     examples of a step, and at once on a rank (of --transformer)
  --precision=bf16                f32, bf16, fp16, fp8, fp4
  --tokens=15e12 --price=3.5      of the whole run; dollars a device and hour
  --step-seconds=X                of a program: what a step was measured to take
  --json                          for scripts
)"},
    {"validate", R"(dtcc-plan validate RUNS.csv [-o out.csv]
Forecasts measured runs and says how far off it is, by source.

  -o out.csv       the rows with what was forecast
  --calibrate=N    with two scales from the first N runs of each source
  --fit            fits the constants again; scores sources by fits without them
                   (and then with two scales, where --calibrate is given)
  --json           for scripts
)"},
    {"calibrate", R"(dtcc-plan calibrate -o cluster.yaml
Measures this machine by a program that trains on it.

  --ranks=N                           from 2 on; else the cores, or 2
  --size=2048                         rows and columns of the products that are measured
  --runs=RUNS.csv --cluster=8xh100    corrects a description by measured runs instead
)"}};

StringRef dtcc::helpOf(StringRef command) {
  for (const HelpRow &row : kHelpRows)
    if (row.command == command)
      return row.text;
  return kHelp;
}
