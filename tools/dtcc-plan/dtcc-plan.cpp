//===- dtcc-plan.cpp - The main function of dtcc-plan
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/console/ErrorStream.h"
#include "compiler/console/OutputFiles.h"
#include "compiler/console/Version.h"
#include "compiler/options/Options.h"
#include "tools/dtcc-plan/Choose.h"
#include "tools/dtcc-plan/Compare.h"
#include "tools/dtcc-plan/Cost.h"
#include "tools/dtcc-plan/Explain.h"
#include "tools/dtcc-plan/Memory.h"
#include "tools/dtcc-plan/Search.h"
#include "tools/dtcc-plan/arguments/Arguments.h"
#include "tools/dtcc-plan/arguments/Help.h"
#include "tools/dtcc-plan/measured/Calibrate.h"
#include "tools/dtcc-plan/measured/Validate.h"
#include "tools/dtcc-plan/queries/PlanQuery.h"
#include "tools/dtcc-plan/queries/SearchTransformer.h"
#include "tools/dtcc-plan/show/ShowCommand.h"
#include "tools/model/DeepStack.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"

using namespace dtcc;
using llvm::StringRef;

static int usage(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "dtcc-plan") << message << "; see dtcc-plan --help\n";
  return kWrongUsage;
}

static int report(llvm::Error error) { return tell(std::move(error)) ? kDone : kBadInput; }

static int runShow(llvm::ArrayRef<const char *> arguments) {
  llvm::Expected<Arguments> parsed = Arguments::parse("show", arguments, {"html", "trace"}, {"json"});
  if (!parsed)
    return usage(llvm::toString(parsed.takeError()));
  if (parsed->inputs().size() != 1)
    return usage("show must have one plan or program, got: " + llvm::Twine(parsed->inputs().size()));
  return report(show(*parsed, llvm::outs()));
}

static int runSearchTransformer(llvm::ArrayRef<const char *> arguments) {
  std::vector<StringRef> values = sizesOrFileValues();
  values.push_back("o");
  llvm::Expected<Arguments> parsed = Arguments::parse("search", arguments, values, searchTransformerFlags());
  if (!parsed)
    return usage(llvm::toString(parsed.takeError()));
  if (isOwnSoftware(*parsed))
    return report(searchGraphOfSizes(*parsed, llvm::outs()));
  if (llvm::Error error = refuseFileValues(*parsed, searchTransformerValues()))
    return report(std::move(error));
  if (parsed->has("o"))
    return usage("-o writes a plan of a model file, and --transformer has none; --json prints the plans");
  return report(searchTransformer(*parsed, llvm::outs()));
}

static int runSearch(llvm::ArrayRef<const char *> arguments) {
  if (llvm::any_of(arguments, [](StringRef each) { return each.ltrim('-').starts_with("transformer"); }))
    return runSearchTransformer(arguments);
  // As if the plan alone was asked for: then no output is named unless the user names one.
  std::vector<const char *> rest = {"dtcc"};
  if (llvm::none_of(arguments, [](StringRef each) { return each.ltrim('-').split('=').first == "emit"; }))
    rest.push_back("--emit=plan");
  SearchOutput output;
  std::string top, framework, tokens, price;
  for (size_t i = 0; i < arguments.size(); ++i) {
    StringRef argument = arguments[i], value = argument;
    if (argument == "--json") {
      output.json = true;
      continue;
    }
    if (argument.starts_with("--json="))
      return usage("--json takes no value");
    if (llvm::Error error = refuseSizeValue(argument.ltrim('-').split('=').first))
      return report(std::move(error));
    // --html=FILE or --html FILE, ..: options that dtcc does not have.
    std::string *given = value.consume_front("--html")     ? &output.html
                         : value.consume_front("--trace")  ? &output.trace
                         : value.consume_front("--top")    ? &top
                         : value.consume_front("--write")  ? &framework
                         : value.consume_front("--tokens") ? &tokens
                         : value.consume_front("--price")  ? &price
                                                           : nullptr;
    if (given && (value.empty() || value.consume_front("="))) {
      const bool isBehind = !argument.contains('=');
      const std::string before = *given;
      *given = !isBehind ? value.str() : ++i < arguments.size() ? arguments[i] : "";
      if (given->empty())
        return usage(argument.split('=').first + " must have a value");
      if (!before.empty())
        return usage(argument.split('=').first + " must be given once, got: " + before + " and " + *given);
      continue;
    }
    StringRef before = StringRef(rest.back()).ltrim('-'), now = argument.ltrim('-');
    if (now == "o=-" || (before == "o" && argument == "-"))
      return usage("search prints all plans, -o must name a file; dtcc --emit=plan prints the best");
    rest.push_back(argument.data());
  }
  if (!top.empty() && (StringRef(top).getAsInteger(10, output.top) || output.top < 1))
    return usage("--top must be a whole number of at least 1, got: " + top);
  for (auto [name, text] : {std::pair("tokens", &tokens), {"price", &price}})
    if (!text->empty())
      output.run = output.run.with(name, *text);
  if (!framework.empty()) {
    llvm::Expected<const Framework *> found = findFramework(framework);
    if (!found)
      return report(found.takeError());
    output.framework = *found;
  }
  Options options;
  if (failed(parseOptions(int(rest.size()), rest.data(), options)))
    return kWrongUsage;
  if (options.emit != "plan")
    return usage("search emits plans alone, got: --emit=" + options.emit);
  if (!options.plan.empty())
    return usage("search makes a plan, got one: --plan=" + options.plan);
  return succeeded(searchAndPrint(options, output, llvm::outs())) ? kDone : kBadInput;
}

static int runValidate(llvm::ArrayRef<const char *> arguments) {
  llvm::Expected<Arguments> parsed = Arguments::parse("validate", arguments, {"o", "calibrate"}, {"json", "fit"});
  if (!parsed)
    return usage(llvm::toString(parsed.takeError()));
  llvm::Expected<int64_t> calibrate = parsed->count("calibrate", 0);
  if (!calibrate)
    return usage(llvm::toString(calibrate.takeError()));
  if (parsed->inputs().empty())
    return usage("validate must have tables of runs or a folder of them");
  if (parsed->has("fit") && parsed->has("json"))
    return usage("--fit does not go with --json");
  if (parsed->value("o") == "-")
    return usage("validate prints the errors, -o must name a file");
  ValidateOptions options{parsed->inputs(), parsed->value("o").str(), size_t(*calibrate), parsed->has("json"),
                          parsed->has("fit")};
  return succeeded(validate(options, llvm::outs())) ? kDone : kBadInput;
}

/// A command with options of its own, a table of their names and one function.
template <std::vector<StringRef> (*values)(), llvm::Error (*run)(const Arguments &, llvm::raw_ostream &)>
static int runCommand(StringRef name, llvm::ArrayRef<const char *> arguments) {
  llvm::Expected<Arguments> parsed = Arguments::parse(name, arguments, values(), {"json"});
  if (!parsed)
    return usage(llvm::toString(parsed.takeError()));
  return report(run(*parsed, llvm::outs()));
}

static int runMemory(llvm::ArrayRef<const char *> arguments) {
  return runCommand<memoryValues, printMemory>("memory", arguments);
}
static int runExplain(llvm::ArrayRef<const char *> arguments) {
  return runCommand<explainValues, printExplanation>("explain", arguments);
}
static int runCost(llvm::ArrayRef<const char *> arguments) {
  return runCommand<costValues, printCost>("cost", arguments);
}
static int runChoose(llvm::ArrayRef<const char *> arguments) {
  return runCommand<chooseValues, printChoice>("choose", arguments);
}
static int runCompare(llvm::ArrayRef<const char *> arguments) {
  return runCommand<compareValues, printComparison>("compare", arguments);
}

static int runCalibrate(llvm::ArrayRef<const char *> arguments) {
  llvm::Expected<Arguments> parsed =
      Arguments::parse("calibrate", arguments, {"o", "runs", "cluster", "ranks", "size"}, {});
  if (!parsed)
    return usage(llvm::toString(parsed.takeError()));
  llvm::Expected<int64_t> ranks = parsed->count("ranks", 0), size = parsed->count("size", 2048);
  if (!ranks || !size)
    return usage(llvm::toString(llvm::joinErrors(ranks.takeError(), size.takeError())));
  if (!parsed->inputs().empty())
    return usage("calibrate takes options alone, got: " + parsed->inputs()[0]);
  if (!parsed->has("o") || parsed->value("o") == "-")
    return usage("calibrate must have a file to write: -o cluster.yaml");
  if (parsed->has("runs") != parsed->has("cluster"))
    return usage("--runs and --cluster go together: runs, and the machines they ran on");
  if (*ranks == 1 || *ranks > 4096 || *size < 64 || *size > 16384)
    return usage("--ranks must be 2 to 4096 and --size 64 to 16384, got: --ranks=" + llvm::Twine(*ranks) +
                 " --size=" + llvm::Twine(*size));
  CalibrateOptions options{parsed->value("o").str(), parsed->value("runs").str(), parsed->value("cluster").str(),
                           *ranks, *size};
  return succeeded(calibrate(options, llvm::outs())) ? kDone : kBadInput;
}

namespace {
struct Command {
  StringRef name;
  int (*run)(llvm::ArrayRef<const char *> arguments);
};
} // namespace
static constexpr Command kCommands[] = {
    {"show", runShow},       {"search", runSearch},     {"explain", runExplain},
    {"compare", runCompare}, {"memory", runMemory},     {"cost", runCost},
    {"choose", runChoose},   {"validate", runValidate}, {"calibrate", runCalibrate}};

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  endOnInterrupt(kInterrupted);
  setToolName("dtcc-plan");
  prepareForCrashes(llvm::ArrayRef<const char *>(argv, argc));
  std::string names;
  for (const Command &known : kCommands)
    names += (names.empty() ? "" : &known == std::end(kCommands) - 1 ? " or " : ", ") + known.name.str();
  if (argc < 2)
    return usage("a command must be given: " + names);
  StringRef command = argv[1];
  llvm::ArrayRef<const char *> arguments(argv + 2, argv + argc);
  if (command == "--help" || command == "-h" || command == "-help") {
    llvm::outs() << kHelp;
    return kDone;
  }
  if (command == "--help-table") {
    llvm::outs() << helpTable();
    return kDone;
  }
  if (command == "--version") {
    printVersion(llvm::outs(), "dtcc-plan");
    return kDone;
  }
  for (const Command &known : kCommands)
    if (command == known.name) {
      if (llvm::any_of(arguments, [](StringRef each) { return each == "--help" || each == "-h"; })) {
        llvm::outs() << helpOf(command);
        return kDone;
      }
      return onDeepStack([&] { return known.run(arguments); });
    }
  for (const Command &known : kCommands)
    if (command.edit_distance(known.name) <= 2)
      return usage("unknown command " + command + "; did you mean " + known.name + "?");
  return usage("a command must be " + names + ", got: " + command);
}
