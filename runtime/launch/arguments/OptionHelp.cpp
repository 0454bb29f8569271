//===- OptionHelp.cpp - --help of a program ------------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/arguments/OptionHelp.h"

#include <cctype>
#include <memory>
#include <string_view>

namespace dtcc::rt {
namespace {

/// Facts about an option for which CLI11 has no place. A value with '|' between lower-case words is a list of all legal
/// words. A row of an option that a program lacks has no effect.
struct Details {
  std::string_view name, value, example;
};

constexpr Details details[] = {
    {"config", "FILE.toml", "run.toml"},
    {"data", "FOLDER|NAME=FILE", "data"},
    {"tokens", "FILE,..", "shards/*.bin@0.7,books.npy@0.3"},
    {"shuffle", "SEED", "1"},
    {"eos", "ID", "50256"},
    {"bos", "ID", "1"},
    {"documents", "start|cross", "start"},
    {"eval-tokens", "FILE,..", "held-out.npy"},
    {"eval-data", "FOLDER|NAME=FILE", "held-out"},
    {"eval-fraction", "X", "0.1"},
    {"eval-every", "N", "100"},
    {"eval-steps", "N", "20"},
    {"save-best", "PATH", "best/"},
    {"generate", "N", "100"},
    {"prompt-tokens", "ID,..", "464,2068"},
    {"temperature", "X", "0.8"},
    {"top-k", "N", "40"},
    {"stop-token", "ID", "50256"},
    {"steps", "N", "1000"},
    {"epochs", "N", "2"},
    {"lr", "X", "3e-4"},
    {"lr-schedule", "constant|linear|cosine|wsd|inverse-sqrt", "cosine"},
    {"min-lr", "X", "3e-5"},
    {"decay-steps", "N", "2000"},
    {"lr-restart", "STEP", "1000"},
    {"warmup", "N", "100"},
    {"seed", "N", "1"},
    {"weights", "FOLDER|FILE", "Llama/"},
    {"on-nonfinite", "stop|skip|rollback", "skip"},
    {"on-moe-overflow", "stop|drop", "drop"},
    {"max-grad-norm-ratio", "X", "10"},
    {"metrics", "FILE", "run.jsonl"},
    {"grad-norms", "N", "100"},
    {"save", "PATH", "trained/"},
    {"save-average", "PATH", "average/"},
    {"save-type", "model|f32|bf16|f16", "bf16"},
    {"shard-size", "BYTES", "2GB"},
    {"checkpoint", "FOLDER", "checkpoints"},
    {"checkpoint-every", "N", "500"},
    {"keep", "N", "3"},
    {"keep-every", "N", "10000"},
    {"profile", "FILE", "step.json"},
    {"profile-steps", "N:M", "100:103"},
    {"threads", "N", "4"},
    {"cuda-graph", "auto|on|off", "off"},
    {"attention", "auto|own", "own"},
    {"tune", "FILE", "tuned.json"},
    {"hang-timeout", "SECONDS", "60"},
    {"rendezvous", "HOST:PORT", "node0:29500"},
    {"rank", "N", "0"},
    {"ranks", "N", "4"},
    {"token-file", "FILE", "secret"},
};

/// The kind of value of an option that has no row.
std::string valueOf(const CLI::Option &option) {
  std::string type = option.get_type_name();
  return option.get_expected_max() == 0      ? ""
         : type.find("FLOAT") == 0           ? "X"
         : type.find("INT") < type.find(':') ? "N"
                                             : "VALUE";
}

bool areWords(std::string_view value) {
  for (char each : value)
    if (each != '|' && each != '-' && !std::islower(static_cast<unsigned char>(each)) &&
        !std::isdigit(static_cast<unsigned char>(each)))
      return false;
  return value.find('|') != std::string_view::npos;
}

/// Takes " (NAME..)" off the end of a text, and returns what was behind NAME.
std::string takeNote(std::string &text, const std::string &name) {
  size_t begin = text.rfind(" (" + name);
  if (begin == std::string::npos || text.back() != ')')
    return "";
  size_t after = begin + 2 + name.size();
  std::string note = text.substr(after, text.size() - 1 - after);
  text.resize(begin);
  return note;
}

/// Descriptions begin with a capital, unless with a name such as GPU.
std::string helpOf(const CLI::Option &option) {
  std::string text = option.get_description();
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])))
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

class Formatter : public CLI::FormatterBase {
public:
  std::string make_help(const CLI::App *app, std::string name, CLI::AppFormatMode) const override {
    return name + " [options]\n" + app->get_description() + "\n" + optionHelp(optionRows(*app));
  }
};

} // namespace

std::vector<OptionRow> optionRows(const CLI::App &app) {
  std::vector<OptionRow> rows;
  for (const CLI::Option *option : app.get_options()) {
    if (option->get_group().empty())
      continue;
    OptionRow row;
    row.group = option->get_group();
    row.name = option->get_name().substr(2);
    row.help = helpOf(*option);
    CLI::MultiOptionPolicy policy = option->get_multi_option_policy();
    row.repeats = policy == CLI::MultiOptionPolicy::TakeAll || policy == CLI::MultiOptionPolicy::Join;
    takeNote(row.help, "repeatable");
    row.initial = takeNote(row.help, "default: ");
    if (row.initial.empty())
      row.initial = option->get_default_str();
    row.value = valueOf(*option);
    for (const Details &each : details)
      if (each.name == row.name) {
        row.value = each.value;
        row.choices = areWords(each.value) ? each.value : "";
        row.example = each.example;
      }
    rows.push_back(row);
  }
  return rows;
}

void setHelp(CLI::App &app) {
  app.set_help_flag("-h,--help", "Print this text");
  app.set_version_flag("--version", "compiled by dtcc " DTCC_VERSION, "Print the version of dtcc that compiled it");
  app.formatter(std::make_shared<Formatter>());
}

} // namespace dtcc::rt
