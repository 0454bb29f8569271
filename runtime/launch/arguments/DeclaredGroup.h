//===- DeclaredGroup.h - Declares a group of a program's options -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kinds of options that programs have, each a method that tells CLI11 everything about it: the check of its value,
// its group of --help, and the default that --help shows.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_LAUNCH_ARGUMENTS_DECLAREDGROUP_H
#define DTCC_RUNTIME_LAUNCH_ARGUMENTS_DECLAREDGROUP_H

#include "runtime/launch/arguments/Validators.h"

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace dtcc::rt {

/// Adds the options of one group to `app`, in the order in which --help lists them. Each `value` is written when `app`
/// parses the command line, so it must live until then.
class DeclaredGroup {
public:
  /// An empty title hides the options of the group.
  DeclaredGroup(CLI::App &app, std::string title) : app(app), title(std::move(title)) {}

  CLI::Option *flag(const char *name, bool &value, const char *help) {
    return app.add_flag(name, value, help)->group(title);
  }

  /// An option whose value CLI11 reads as it stands, unless the caller adds a check.
  template <typename Value> CLI::Option *option(const char *name, Value &value, const char *help) {
    return app.add_option(name, value, help)->group(title);
  }

  /// A number of at least `least`.
  template <typename Number>
  CLI::Option *number(const char *name, Number &value, std::type_identity_t<Number> least, const char *help) {
    return option(name, value, help)->transform(atLeast<Number>(least));
  }
  template <typename Number>
  CLI::Option *number(const char *name, std::optional<Number> &value, std::type_identity_t<Number> least,
                      const char *help) {
    return option(name, value, help)->transform(atLeast<Number>(least));
  }

  /// One of some words. `initial` is the default that --help shows; none is shown if the help says it.
  template <typename Value>
  CLI::Option *word(const char *name, Value &value, const Words<Value> &words, std::string initial, const char *help) {
    return option(name, value, help)->default_str(std::move(initial))->transform(oneOf(words));
  }

  /// An option that may be given several times, with one value each time.
  CLI::Option *list(const char *name, std::vector<std::string> &values, const char *help) {
    return onceEach(option(name, values, help)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll));
  }
  /// An option like `list`, whose values are joined by commas into one text.
  CLI::Option *joined(const char *name, std::string &values, const char *help) {
    return onceEach(option(name, values, help)->join(','));
  }

private:
  /// Without this, CLI11 would take the words behind the value for values too.
  static CLI::Option *onceEach(CLI::Option *option) { return option->expected(1)->allow_extra_args(false); }

  CLI::App &app;
  std::string title;
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_LAUNCH_ARGUMENTS_DECLAREDGROUP_H
