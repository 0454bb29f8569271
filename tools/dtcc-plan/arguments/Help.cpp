//===- Help.cpp - Help texts of dtcc-plan
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/arguments/Help.h"

using llvm::StringRef;

const char *const dtcc::kHelp = R"(dtcc-plan COMMAND ...
Plans how a model's training runs on a cluster, and shows and compares plans.

  search MODEL|--transformer=NAME --cluster=..   the best plans, the bound, and why the others lost
  show PLAN.json|PROGRAM                         mesh and placement; of a program also memory, states, collectives
  explain [PLAN.json] MODEL|--transformer=NAME --cluster=..
                                                 why this plan: each kind of parallelism, fewer devices, advice
  memory MODEL|--transformer=NAME --cluster=..   memory of a device under each ZeRO stage, and the fewest devices
  compare A B [--transformer=NAME --cluster=..]  plans, programs or shapes side by side
  cost [PLAN.json|PROGRAM] MODEL|--transformer=NAME --cluster=..
                                                 a step and its parts, memory, days and dollars
  choose MODEL|--transformer=NAME --clusters=A,B --tokens=15T
                                                 the cluster and size for a deadline or a budget
  validate RUNS.csv                              forecasts of measured runs, and their errors
  calibrate -o cluster.yaml                      measure this machine, or correct a description by measured runs

  dtcc-plan COMMAND --help                       the options of a command
  dtcc-plan --version                            the version

MODEL: .onnx or .mlir, with the options of dtcc (--bind=batch=8,seq=128). NAME: llama3-8b, gpt3-175b, ..,
layers=32,hidden=4096,heads=32,.. or a config.json of Hugging Face. --cluster: cpu:4, 8xh100 or a file.
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
Searches for plans and prints them, the best first, with the parts of their times, the
memory of a device, a lower bound on the time of any plan, and why the runners-up lost.

  --mesh=dp=2,tp=2  --zero=1  --microbatches=8  a part of the plan; the rest is searched
  --offload=none|optimizer|activations|all      to host memory, which a cluster file gives
  --top=10                                      number of plans to print
  --precision=bf16                              type in which layers compute
  --software=NeMo                               framework whose defaults apply (with --transformer)
  --write=megatron|nemo|torchtitan|deepspeed    the best plan as options of a framework
  -o plan.json                                  writes the best plan, for dtcc --plan=plan.json
  --html=report.html                            one page with pictures, without external files
  --trace=step.json                             the forecast of a step, for Perfetto
  --json                                        for scripts
)"},
    {"show", R"(dtcc-plan show PLAN.json|PROGRAM
Mesh, placement and schedule of a plan; of a compiled program also memory, states,
work and collectives of a step.

  --html=plan.html     one page with pictures, without external files
  --trace=step.json    the schedule, for Perfetto
  --json               for scripts
)"},
    {"explain", R"(dtcc-plan explain [PLAN.json] MODEL --cluster=cpu:4 --bind=batch=8,seq=128
dtcc-plan explain [PLAN.json] --transformer=llama3-8b --cluster=8x8xh100 --batch=128
Why this plan: the runners-up, the best of each kind of parallelism, the same batch on
fewer devices, what recomputation saves and costs, accumulation, learning rate, cost.
PLAN.json is priced on the same devices and compared with the best.

  --mesh, --zero, --microbatches, ..  a part of the plan, as for dtcc; the rest is searched
  --tokens=15e12 --price=3.5          tokens of the whole run; dollars per device and hour
  --base-batch=256 --base-lr=6e-4     a batch, and a learning rate known to be good for it
  --top=6                             number of plans to print
  --html=report.html --trace=step.json  one page with pictures; a step for Perfetto
  --json                              for scripts
)"},
    {"compare", R"(dtcc-plan compare A B
dtcc-plan compare A B --transformer=llama3-8b --cluster=8xh100 --batch=64
Two plans (.json) or programs side by side: mesh, schedule, memory and collectives, with
differences and ratios. With a model and a cluster also the time of a step and the memory
of a device; A and B may then be shapes: "dp=2,tp=4 zero=1 microbatches=8".

  --model=MODEL.onnx --bind=..    instead of --transformer
  --json                          for scripts
)"},
    {"memory", R"(dtcc-plan memory MODEL --cluster=cpu:4 --bind=batch=8,seq=128
dtcc-plan memory --transformer=llama3-8b --cluster=8xh100 [--batch=64]
Memory of a device (parameters, gradients, optimizer, activations, ..) under each ZeRO
stage and each kind of recomputation, whether it fits, and the fewest devices that fit.

  --mesh=tp=8        the axes; the other devices are data-parallel
  --zero=1           this stage alone
  --microbatches=N   micro-batches of a step; else one sample a device at a time
  --recompute=full   this kind alone (with a model file)
  --offload=all      optimizer state (optimizer), activations, or both (all) in host memory
  --json             for scripts
)"},
    {"cost", R"(dtcc-plan cost [PLAN.json|PROGRAM] --transformer=llama3-8b --cluster=8xh100 --tokens=15e12
dtcc-plan cost [PLAN.json] MODEL --cluster=8xh100 --bind=batch=64,seq=4096 --tokens=15e12
dtcc-plan cost PROGRAM --tokens=1e9 --price=0.1
Time of a step and its parts, memory of a device, days and dollars. A program without a
model is priced by its commands, on the machine that it was compiled for.

  --mesh=tp=2,pp=4  --zero=1  --recompute=none|selective|full  --schedule=interleaved:4
                                  the plan, if no file gives it; for MODEL the rest is searched
  --batch=512 --micro-batch=1     samples of a step, and of a micro-batch (with --transformer)
  --precision=bf16                f32, bf16, fp16, fp8, fp4
  --tokens=15e12 --price=3.5      tokens of the whole run; dollars per device and hour
  --step-seconds=X                the measured time of a step (with a program)
  --json                          for scripts
)"},
    {"choose", R"(dtcc-plan choose --transformer=llama3-8b --batch=512 --tokens=1T --deadline=30d \
                 --clusters=128x8xh100@2.5,256x8xa100-80@1.3
dtcc-plan choose MODEL --bind=batch=512,seq=4096 --tokens=1T --budget=500K --clusters=..
Searches each cluster, whole and with a half, a quarter, .. of its nodes as long as the
model fits, and prints time, device-hours and dollars of the run. All train the same batch.

  --clusters=NxMxKIND@2.5,..  what there is, and dollars a device and hour; files count whole
  --tokens=15T                tokens of the whole run; samples where a model reads no tokens
  --deadline=30d              picks the cheapest that is done in 90m, 12h, 30d, ..
  --budget=2M                 picks the fastest that costs no more dollars
  --goodput=0.9               share of the time that trains, beside failures and evaluation
  --mesh, --zero, ..          a part of the plan, as for search
  --json                      for scripts
)"},
    {"validate", R"(dtcc-plan validate RUNS.csv [-o out.csv]
Forecasts measured runs, and prints the errors of each source of runs.

  -o out.csv       the rows with their forecasts
  --calibrate=N    correct two scales by the first N runs of each source
  --fit            fit the constants again, and score each source by a fit without it
                   (with --calibrate also with two scales)
  --json           for scripts
)"},
    {"calibrate", R"(dtcc-plan calibrate -o cluster.yaml
Measures this machine by a program that trains on it, and writes a cluster file.

  --ranks=N                           at least 2; default: the number of cores
  --size=2048                         rows and columns of the measured products
  --runs=RUNS.csv --cluster=8xh100    correct a description by measured runs instead
)"}};

StringRef dtcc::helpOf(StringRef command) {
  for (const HelpRow &row : kHelpRows)
    if (row.command == command)
      return row.text;
  return kHelp;
}
