//===- Help.cpp - Help texts of dtcc-plan
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/arguments/Help.h"
#include "runtime/abi/console/OptionRow.h"

using namespace dtcc;
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
/// The start of a command's help, and its options. Commands that take a model have those of dtcc, too.
struct CommandHelp {
  StringRef command, text;
  std::vector<OptionRow> options;
};

OptionRow option(StringRef name, StringRef value, StringRef help, StringRef initial, StringRef example,
                 StringRef choices = "") {
  return {"Options", name.str(), value.str(), choices.str(), help.str(), initial.str(), example.str()};
}
OptionRow word(StringRef name, StringRef choices, StringRef help, StringRef initial, StringRef example) {
  return option(name, choices, help, initial, example, choices);
}
OptionRow json() { return option("json", "", "print JSON, for scripts", "", ""); }
OptionRow page() {
  return option("html", "FILE.html", "write one page with pictures, without external files", "", "plan.html");
}
OptionRow trace(StringRef what) { return option("trace", "FILE.json", what, "", "step.json"); }
OptionRow tokens() { return option("tokens", "N", "tokens of the whole run", "", "15T"); }
OptionRow headroom() { return option("headroom", "5GiB", "memory of a device that plans leave free", "none", "5GiB"); }
OptionRow price() { return option("price", "X", "dollars per device and hour", "the cluster's", "3.5"); }
OptionRow top(StringRef initial) { return option("top", "N", "number of plans to print", initial, "3"); }
OptionRow mesh(StringRef help) { return option("mesh", "dp=2,tp=2,..", help, "", "dp=2,tp=2"); }
OptionRow zero(StringRef help) { return option("zero", "N", help, "", "1"); }
OptionRow bySizes() {
  return option("transformer", "NAME", "a model by its name, its sizes or its config.json", "", "llama3-8b");
}
OptionRow cluster() { return option("cluster", "cpu:4|8xh100|FILE", "the machines", "", "8xh100"); }
OptionRow bind() {
  return option("bind", "batch=8,seq=128", "values of MODEL's symbolic dimensions", "", "batch=8,seq=128");
}
OptionRow batch() { return option("batch", "N", "samples of a step (with --transformer)", "", "512"); }
OptionRow recompute(StringRef help) { return word("recompute", "none|selective|full", help, "", "selective"); }
OptionRow schedule() { return option("schedule", "NAME", "schedule of a pipeline", "", "interleaved:4"); }
OptionRow microBatch() { return option("micro-batch", "N", "samples of a micro-batch (with --transformer)", "", "1"); }
OptionRow offload() {
  return word("offload", "none|optimizer|activations|all", "to host memory, which a cluster file gives", "",
              "optimizer");
}
OptionRow gradients() {
  return word("gradients", "f32|bf16", "type of gradients, kept and reduced", "f32, or less", "bf16");
}
} // namespace

static const std::vector<CommandHelp> &commandHelps() {
  static const std::vector<CommandHelp> helps{
      {"search",
       R"(dtcc-plan search MODEL|--transformer=NAME --cluster=cpu:N|8xh100 [options of dtcc]
The best plans, with parts of their times, memory, a bound, and why the runners-up lost.
Plans are searched by estimates. Up to four of the best are compiled, and the one whose
program is forecast to be the fastest stands first; no program is written.
)",
       {bySizes(),
        cluster(),
        bind(),
        batch(),
        mesh("a part of the plan; the rest is searched"),
        zero("ZeRO stage, 0 to 3"),
        option("microbatches", "N", "micro-batches of a step", "", "8"),
        microBatch(),
        schedule(),
        recompute("what is computed again"),
        offload(),
        gradients(),
        tokens(),
        price(),
        top("10"),
        option("precision", "NAME", "type in which layers compute", "bf16; of a file as dtcc", "fp8"),
        option("software", "NAME", "whose programs are priced (with --transformer)", "dtcc", "NeMo"),
        word("write", "megatron|nemo|torchtitan|deepspeed", "print the best plan as options of a framework", "",
             "megatron"),
        option("o", "FILE.json", "write the best plan, for dtcc --plan=FILE.json", "", "plan.json"),
        page(),
        trace("write a step as the search simulates it, for Perfetto"),
        headroom(),
        json()}},
      {"show",
       R"(dtcc-plan show PLAN.json|PROGRAM
Mesh, placement and schedule of a plan; of a compiled program also memory, states,
work and collectives of a step.
)",
       {page(), trace("write the schedule, for Perfetto"), json()}},
      {"explain",
       R"(dtcc-plan explain [PLAN.json] MODEL --cluster=cpu:4 --bind=batch=8,seq=128
dtcc-plan explain [PLAN.json] --transformer=llama3-8b --cluster=8x8xh100 --batch=128
Why this plan: the runners-up, the best of each kind of parallelism, the same batch on
fewer devices, what recomputation saves and costs, accumulation, learning rate, cost.
PLAN.json is priced on the same devices and compared with the best.
)",
       {bySizes(), cluster(), bind(), batch(), mesh("a part of the plan, as for dtcc; the rest is searched"),
        zero("ZeRO stage, 0 to 3"), option("microbatches", "N", "micro-batches of a step", "", "8"), tokens(), price(),
        option("base-batch", "N", "a batch for which a good learning rate is known", "", "256"),
        option("base-lr", "X", "that learning rate", "", "6e-4"), top("6"), page(), trace("write a step, for Perfetto"),
        headroom(), json()}},
      {"compare",
       R"(dtcc-plan compare A B
dtcc-plan compare A B --transformer=llama3-8b --cluster=8xh100 --batch=64
Two plans (.json) or programs side by side: mesh, schedule, memory and collectives, with
differences and ratios. With a model and a cluster also the time of a step and the memory
of a device; A and B may then be shapes: "dp=2,tp=4 zero=1 microbatches=8".
)",
       {bySizes(), option("model", "MODEL.onnx", "a model file, instead of --transformer", "", "model.onnx"), cluster(),
        bind(), batch(), headroom(), json()}},
      {"memory",
       R"(dtcc-plan memory MODEL --cluster=cpu:4 --bind=batch=8,seq=128
dtcc-plan memory --transformer=llama3-8b --cluster=8xh100 [--batch=64]
Memory of a device (parameters, gradients, optimizer, activations, ..) under each ZeRO
stage and each kind of recomputation, whether it fits, and the fewest devices that fit.
)",
       {bySizes(), cluster(), bind(), batch(), mesh("the axes; the other devices are data-parallel"),
        zero("this stage alone"),
        option("microbatches", "N", "micro-batches of a step", "one sample a device at a time", "8"),
        recompute("this kind alone (with a model file)"), offload(), gradients(), headroom(), json()}},
      {"cost",
       R"(dtcc-plan cost [PLAN.json|PROGRAM] --transformer=llama3-8b --cluster=8xh100 --tokens=15e12
dtcc-plan cost [PLAN.json] MODEL --cluster=8xh100 --bind=batch=64,seq=4096 --tokens=15e12
dtcc-plan cost PROGRAM --tokens=1e9 --price=0.1
Time of a step and its parts, memory of a device, days and dollars. A program without a
model is priced by its commands, on the machine that it was compiled for.
)",
       {bySizes(), cluster(), bind(), mesh("the plan, if no file gives it; for MODEL the rest is searched"),
        zero("ZeRO stage, 0 to 3"), recompute("what is computed again"), gradients(), schedule(), batch(), microBatch(),
        word("precision", "f32|bf16|fp16|fp8|fp4", "type in which layers compute", "bf16; of a model file as dtcc",
             "fp8"),
        tokens(), price(), option("step-seconds", "X", "the measured time of a step (with a program)", "", "0.8"),
        headroom(), json()}},
      {"choose",
       R"(dtcc-plan choose --transformer=llama3-8b --batch=512 --tokens=1T --deadline=30d \
                 --clusters=128x8xh100@2.5,256x8xa100-80@1.3
dtcc-plan choose MODEL --bind=batch=512,seq=4096 --tokens=1T --budget=500K --clusters=..
Searches each cluster, whole and with a half, a quarter, .. of its nodes as long as the
model fits, and prints time, device-hours and dollars of the run. All train the same batch.
)",
       {option("clusters", "A@2.5,B@1.3", "what there is, and dollars a device and hour; files count whole", "",
               "128x8xh100@2.5,256x8xa100-80@1.3"),
        tokens(), option("deadline", "90m|12h|30d", "name the cheapest that is done in time", "", "30d"),
        option("budget", "DOLLARS", "name the fastest that costs no more", "", "2M"),
        option("goodput", "X", "share of the time that trains, beside failures and evaluation", "1", "0.9"), bySizes(),
        bind(), batch(), mesh("a part of the plan; the rest is searched"), zero("ZeRO stage, 0 to 3"), headroom(),
        json()}},
      {"validate",
       R"(dtcc-plan validate RUNS.csv [-o out.csv]
Forecasts measured runs, and prints the errors of each source of runs.
)",
       {option("o", "FILE.csv", "write the rows with their forecasts", "", "out.csv"),
        option("calibrate", "N", "correct two scales by the first N runs of each source", "", "3"),
        option("fit", "",
               "fit the constants again, and score each source by a fit without it (with --calibrate also "
               "with two scales)",
               "", ""),
        json()}},
      {"calibrate",
       R"(dtcc-plan calibrate -o cluster.yaml
Measures this machine by a program that trains on it, and writes a cluster file.
)",
       {option("o", "FILE.yaml", "the cluster file to write", "", "cluster.yaml"),
        option("ranks", "N", "ranks of the program, at least 2", "the number of cores", "4"),
        option("size", "N", "rows and columns of the measured products", "2048", "4096"),
        option("runs", "RUNS.csv", "correct a description by measured runs instead", "", "runs.csv"),
        option("cluster", "8xh100|FILE", "the machines of --runs", "", "8xh100")}}};
  return helps;
}

std::string dtcc::helpOf(StringRef command) {
  for (const CommandHelp &help : commandHelps())
    if (help.command == command)
      return help.text.str() + optionHelp(help.options);
  return kHelp;
}

std::string dtcc::helpTable() {
  std::vector<OptionRow> rows;
  for (const CommandHelp &help : commandHelps())
    for (OptionRow row : help.options) {
      row.group = help.command.str();
      rows.push_back(row);
    }
  return optionTable(rows);
}
