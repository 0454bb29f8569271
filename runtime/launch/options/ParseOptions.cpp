//===- ParseOptions.cpp - The command line of a program ------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/options/ParseOptions.h"

#include "runtime/core/Error.h"
#include "runtime/launch/arguments/Arguments.h"
#include "runtime/launch/arguments/OptionHelp.h"
#include "runtime/launch/options/CheckOptions.h"
#include "runtime/launch/options/DeclareOptions.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

namespace dtcc::rt {
namespace {

/// The options that the program was compiled with, for what the command line does not say.
Options compiledOptions(const dtcc_training &training) {
  Options options;
  options.rate.base = training.lr;
  options.seed = training.seed;
  return options;
}

/// "unknown option --stepz; did you mean --steps?" for the first unknown option among the arguments.
std::string suggestion(const CLI::App &app, const std::vector<std::string> &arguments) {
  for (std::string word : arguments) {
    word.resize(std::min(word.find('='), word.size()));
    if (word.rfind("--", 0) != 0 || app.get_option_no_throw(word))
      continue;
    std::string best = nearestOption(app, word);
    return "unknown option " + word +
           (best.empty() ? "; what is fixed when a model is compiled is an option of dtcc"
                         : "; did you mean " + best + "?");
  }
  return "";
}

/// The reason why CLI11 refuses a line. Where CLI11's message is not in the style of this project, another replaces it.
std::string describeRefusal(const CLI::ParseError &error, const CLI::App &app, const Arguments &arguments) {
  std::string text = suggestion(app, arguments.words());
  if (!text.empty())
    return text;
  std::vector<std::string> extras = app.remaining();
  return extras.empty() ? error.what() : "every argument must be an option, got: " + extras.front();
}

} // namespace

std::optional<Options> parseOptions(int argc, char **argv, const Image &image, const Worlds &worlds, int &status) {
  CLI::App app("Trains " + std::string(image.string(image.header().model)) + " on " + worlds.text() +
               ". Compiled by dtcc.");
  setHelp(app);
  // --help-table, for tools/options, has the options of all devices.
  const bool isTable = argc == 2 && std::string_view(argv[1]) == "--help-table";
  CommandLine line;
  line.options = compiledOptions(image.training());
  declareOptions(app, line, {.cores = !image.isForGpus() || isTable, .gpus = image.isForGpus() || isTable});
  if (isTable) {
    std::cout << optionTable(optionRows(app));
    return std::nullopt;
  }
  line.options.choices = optionGroups(optionRows(app));
  Arguments arguments(app, argc, argv);
  line.options.record = arguments.configText();
  try {
    app.name(argv[0]);
    app.parse(std::vector<std::string>(arguments.words().rbegin(), arguments.words().rend()));
    checkOptions(app, line, image, worlds);
    return line.options;
  } catch (const CLI::CallForHelp &) {
    std::cout << app.help();
    status = 0;
  } catch (const CLI::CallForVersion &) {
    std::cout << app.version() << "\n";
    status = 0;
  } catch (const CLI::ParseError &error) {
    std::cerr << "error: " << describeRefusal(error, app, arguments) << " (--help lists the options)\n";
    status = static_cast<int>(Status::Usage);
  }
  return std::nullopt;
}

} // namespace dtcc::rt
