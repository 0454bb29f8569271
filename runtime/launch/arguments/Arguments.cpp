//===- Arguments.cpp - The words of a command line and of --config -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/arguments/Arguments.h"

#include "runtime/abi/console/ConfigFile.h"
#include "runtime/abi/console/NearestName.h"
#include "runtime/abi/console/NumberText.h"
#include "runtime/core/Error.h"
#include "runtime/launch/arguments/OptionHelp.h"

#include <charconv>
#include <set>
#include <sstream>

namespace dtcc::rt {

std::string nearestOption(const CLI::App &app, const std::string &name) {
  std::vector<std::string> names;
  for (const CLI::Option *option : app.get_options())
    names.push_back(option->get_name());
  return nearestName(name, names);
}

static int64_t countOf(const std::string &text) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number > 0 ? number : 0;
}

int64_t ranksAsked(int argc, char **argv) {
  auto valueOf = [&](const std::string &option) {
    std::string value;
    for (int i = 1; i < argc; ++i) {
      std::string word = argv[i];
      if (word == option && i + 1 < argc)
        value = argv[i + 1];
      else if (word.rfind(option + "=", 0) == 0)
        value = word.substr(option.size() + 1);
    }
    return value;
  };
  if (std::string typed = valueOf("--ranks"); !typed.empty())
    return countOf(typed);
  std::string ignored, file = valueOf("--config");
  if (std::optional<std::vector<ConfigOption>> options = file.empty() ? std::nullopt : readConfig(file, ignored))
    for (const ConfigOption &each : *options)
      if (each.name == "ranks" && each.values.size() == 1)
        return countOf(each.values[0]);
  return 0;
}

static bool isFlag(const CLI::Option &option) { return option.get_expected_max() == 0; }

Arguments::Given *Arguments::find(const std::string &name) {
  for (Given &each : given)
    if (each.name == name)
      return &each;
  return nullptr;
}

void Arguments::add(const std::string &name, const std::string *value) {
  Given *known = find(name);
  if (!known)
    known = &given.emplace_back(Given{name, {}});
  if (value)
    known->values.push_back(*value);
}

/// "--steps=N"
static std::string formOf(const CLI::App &app, const std::string &name) {
  for (const OptionRow &row : optionRows(app))
    if (row.name == name)
      return optionText(row);
  return "--" + name + "=VALUE"; // an option that this program does not show
}

Arguments::Arguments(const CLI::App &app, int argc, char **argv) {
  std::string file;
  std::vector<std::string> typed(argv + 1, argv + argc);
  for (size_t i = 0; i < typed.size(); ++i) {
    if (typed[i].rfind("--", 0) != 0)
      continue; // CLI11 refuses it
    size_t equals = typed[i].find('=');
    std::string name = typed[i].substr(2, equals == std::string::npos ? equals : equals - 2), value;
    const CLI::Option *option = app.get_option_no_throw("--" + name);
    bool hasValue = option && !isFlag(*option);
    if (option && !hasValue && equals != std::string::npos)
      failWith(Status::Usage, "--", name, " takes no value, got: ", typed[i]);
    if (hasValue && equals != std::string::npos)
      value = typed[i].substr(equals + 1);
    else if (hasValue && i + 1 < typed.size() && typed[i + 1].rfind("--", 0) != 0)
      value = typed[++i];
    if (hasValue && value.empty())
      failWith(Status::Usage, "--", name, " must have a value: ", formOf(app, name));
    if (name == "config")
      file = value;
    add(name, hasValue ? &value : nullptr);
  }
  if (find("config"))
    addFile(app, file);
  for (const Given &each : given)
    if (const CLI::Option *option = app.get_option_no_throw("--" + each.name);
        option && each.values.size() > 1 && option->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw)
      failWith(Status::Usage, "--", each.name, " must be given once, got: ", each.values[0], " and ", each.values[1]);
  all.insert(all.end(), typed.begin(), typed.end());
}

void Arguments::addFile(const CLI::App &app, const std::string &path) {
  std::string error;
  std::optional<std::vector<ConfigOption>> options = readConfig(path, error);
  if (!options)
    failWith(Status::Usage, error);
  for (const ConfigOption &each : *options) {
    const CLI::Option *option = app.get_option_no_throw("--" + each.name);
    if (each.name == "config" || each.name == "help" || each.name == "version")
      failWith(Status::Usage, each.place, "'", each.name, "' is for the command line alone");
    if (!option) {
      std::string best = nearestOption(app, "--" + each.name);
      failWith(Status::Usage, each.place, "unknown option '", each.name, "'",
               best.empty() ? std::string() : "; did you mean '" + best.substr(2) + "'?");
    }
    if (isFlag(*option) != each.isFlag)
      failWith(Status::Usage, each.place, "'", each.name, "' must be ",
               isFlag(*option) ? "true or false" : "a value, not true or false");
    // An option of the command line wins, and an empty list is as none.
    if (find(each.name) || (each.isFlag ? !each.flag : each.values.empty()))
      continue;
    if (each.isFlag)
      all.push_back("--" + each.name);
    for (const std::string &value : each.values) {
      if (value.empty())
        failWith(Status::Usage, each.place, "'", each.name, "' must have a value");
      all.push_back("--" + each.name + "=" + value);
    }
    given.push_back(Given{each.name, each.values});
  }
}

/// Whether `text` is a number that is written as numberText writes it.
template <typename Number> static bool isPlain(const std::string &text) {
  Number number{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && text == numberText(number);
}

/// Returns a value as TOML: a number if it is read back as the user wrote it, else text.
static std::string valueText(const std::string &value) {
  if (isPlain<int64_t>(value) || (isPlain<double>(value) && value.find('.') != std::string::npos))
    return value;
  std::ostringstream out;
  out << toml::value<std::string>(value);
  return out.str();
}

std::string Arguments::configText() const {
  static const std::set<std::string> ofThisProcess{"config", "help", "rendezvous", "rank", "ranks"};
  std::ostringstream out;
  for (const Given &each : given) {
    if (ofThisProcess.count(each.name))
      continue;
    std::string list;
    for (const std::string &value : each.values)
      list += (list.empty() ? "" : ", ") + valueText(value);
    bool several = each.values.size() > 1;
    out << each.name << " = " << (each.values.empty() ? "true" : several ? "[ " + list + " ]" : list) << "\n";
  }
  return out.str();
}

} // namespace dtcc::rt
