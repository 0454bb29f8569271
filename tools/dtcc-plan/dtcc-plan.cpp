//===- dtcc-plan.cpp - Decide and look, without compiling
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Options.h"
#include "compiler/OutputFiles.h"
#include "tools/dtcc-plan/Search.h"
#include "tools/dtcc-plan/Show.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"

using namespace dtcc;
using llvm::StringRef;

static constexpr StringRef kCommands[] = {"show", "search"};
/// Of the command-line contract, and of later versions.
static constexpr StringRef kLaterCommands[] = {"explain", "compare", "cost", "memory", "validate", "calibrate"};

static constexpr const char *kHelp = R"(dtcc-plan COMMAND ...
Decides where a model's training runs, and shows what was decided.

  dtcc-plan show PLAN.json     mesh and placement of a plan
  dtcc-plan show PROGRAM       mesh, memory of a rank, states, work, collectives and
                               placement of a compiled program
  dtcc-plan search MODEL --cluster=cpu:N [options of dtcc]
                               prices every plan for N ranks and prints them, best first
      --json                   as JSON
      -o plan.json             writes the best plan, for dtcc --plan=plan.json
      --mesh, --zero, --microbatches, ... give a part of the plan; the rest is searched

Options of dtcc: dtcc --help. Exit status: 0 done, 1 bad input, 2 wrong usage.
)";

static int usage(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "dtcc-plan") << message << "; see dtcc-plan --help\n";
  return kWrongUsage;
}

static int runShow(llvm::ArrayRef<const char *> arguments) {
  for (StringRef argument : arguments)
    if (argument.starts_with("-"))
      return usage("show has no options, got: " + argument);
  if (arguments.size() != 1)
    return usage("show must have one plan or program, got: " + llvm::Twine(arguments.size()));
  llvm::Error error = show(arguments[0], llvm::outs());
  if (!error)
    return kDone;
  llvm::WithColor::error(llvm::errs(), "dtcc-plan") << llvm::toString(std::move(error)) << '\n';
  return kBadInput;
}

static int runSearch(llvm::ArrayRef<const char *> arguments) {
  // As if the plan alone was asked for: then no output is named unless the user names one.
  std::vector<const char *> rest = {"dtcc", "--emit=plan"};
  bool json = false;
  for (StringRef argument : arguments) {
    if (argument == "--json") {
      json = true;
      continue;
    }
    StringRef before = StringRef(rest.back()).ltrim('-'), now = argument.ltrim('-');
    if (now == "o=-" || (before == "o" && argument == "-"))
      return usage("search prints all plans, -o must name a file; dtcc --emit=plan prints the best");
    rest.push_back(argument.data());
  }
  Options options;
  if (failed(parseOptions(int(rest.size()), rest.data(), options)))
    return kWrongUsage;
  if (options.help) {
    llvm::outs() << kHelp;
    return kDone;
  }
  if (options.emit != "plan")
    return usage("search emits plans alone, got: --emit=" + options.emit);
  if (!options.plan.empty())
    return usage("search makes a plan, got one: --plan=" + options.plan);
  return succeeded(searchAndPrint(options, json, llvm::outs())) ? kDone : kBadInput;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  endOnInterrupt(kInterrupted);
  if (argc < 2)
    return usage("a command must be given: show or search");
  StringRef command = argv[1];
  llvm::ArrayRef<const char *> arguments(argv + 2, argv + argc);
  if (command == "--help" || command == "-h" || command == "-help") {
    llvm::outs() << kHelp;
    return kDone;
  }
  if (command == "show")
    return runShow(arguments);
  if (command == "search")
    return runSearch(arguments);
  if (llvm::is_contained(kLaterCommands, command))
    return usage(command + " is not in this version");
  for (StringRef known : kCommands)
    if (command.edit_distance(known) <= 2)
      return usage("unknown command " + command + "; did you mean " + known + "?");
  return usage("a command must be show or search, got: " + command);
}
