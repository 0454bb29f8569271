//===- tests/unit/onnx/NodeConformanceTest.cpp - ONNX's own node tests
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The node tests that the pinned onnx package brings: each model whose operators all
// have rules is imported, evaluated by the reference and compared. A model that the
// importer refuses is counted, not failed: wrong values are what must never happen.
//
// The run prints how many of each tier pass, and why the others are refused. It compares its counts with
// frontends/onnx/SUPPORTED.md, and writes that page if asked to.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/Limits.h"
#include "tests/unit/onnx/NodeCase.h"
#include "tests/unit/onnx/Tiers.h"
#include "tests/unit/onnx/TrainingCase.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <cstdlib>

using namespace mlir;
using namespace dtcc;
using namespace dtcc::test;

/// Tests whose expected values hold something this comparison cannot, with the reason.
static StringRef exceptionOf(StringRef name) {
  return name.starts_with("test_bernoulli") ? "NumPy's random numbers" : "";
}

namespace {
/// Outcome of one test.
struct Outcome {
  std::string name, why;
  /// The operators of its model; the first is the one it is named after.
  std::vector<std::string> operators;
  ::onnx::ModelProto model;
  /// How it ran, if it could not run as it is.
  const TrainingForm *form = nullptr;
  Verdict verdict = Verdict::Refused;
};
} // namespace

/// All tests of the package, in the order of their names.
static std::vector<Outcome> runAll(const std::string &root) {
  dtcc::onnx::RuleTable table;
  std::error_code error;
  std::vector<std::string> folders;
  for (llvm::sys::fs::directory_iterator entry(root, error), end; entry != end && !error; entry.increment(error))
    folders.push_back(entry->path());
  llvm::sort(folders);
  std::vector<Outcome> outcomes;
  for (const std::string &folder : folders) {
    StringRef name = llvm::sys::path::filename(folder);
    ::onnx::ModelProto model;
    if (!parse(folder + "/model.onnx", model))
      continue;
    Outcome &outcome = outcomes.emplace_back();
    outcome.name = name.str();
    int64_t opset = 0;
    for (const auto &entry : model.opset_import())
      if (entry.domain().empty())
        opset = entry.version();
    for (const ::onnx::NodeProto &node : model.graph().node()) {
      std::string op = (node.domain().empty() ? "" : node.domain() + ".") + node.op_type();
      if (!llvm::is_contained(outcome.operators, op))
        outcome.operators.push_back(op);
      if (outcome.why.empty() && (!node.domain().empty() || !table.find("", node.op_type(), opset)))
        outcome.why = "no rule for " + op;
    }
    if (StringRef exception = exceptionOf(name); !exception.empty())
      outcome.why = exception.str();
    outcome.form = trainingFormOf(name);
    if (outcome.form)
      outcome.verdict = outcome.form->run(folder, outcome.why = "");
    else if (outcome.why.empty())
      outcome.verdict = runCase(table, folder, model, DTCC_ONNX_SCRATCH "/node-conformance.onnx", outcome.why);
    outcome.model = std::move(model);
  }
  return outcomes;
}

/// The operator that a test is of: that of the model it is the expansion of, if it is one.
static std::string operatorOf(ArrayRef<Outcome> outcomes, const Outcome &outcome) {
  StringRef base = StringRef(outcome.name).split("_expanded").first;
  auto found = llvm::find_if(outcomes, [&](const Outcome &other) { return other.name == base; });
  const Outcome &whole = found == outcomes.end() ? outcome : *found;
  return whole.operators.empty() ? "" : whole.operators.front();
}

/// How the tests of each tier end.
static TierCount tiersOf(ArrayRef<Outcome> outcomes) {
  TierCount tiers;
  for (const Outcome &outcome : outcomes)
    tiers.add(tierOf(operatorOf(outcomes, outcome), outcome.model), outcome.verdict == Verdict::Passed, outcome.why);
  return tiers;
}

/// How many of the tests that pass ran by which other form: "7 as ..".
static std::string formsOf(ArrayRef<Outcome> outcomes) {
  std::map<StringRef, int> counts;
  for (const Outcome &outcome : outcomes)
    if (outcome.form && outcome.verdict == Verdict::Passed)
      ++counts[outcome.form->text];
  std::vector<std::string> texts;
  for (const auto &[text, count] : counts)
    texts.push_back(std::to_string(count) + " as " + text.str());
  return llvm::join(texts, ", ");
}

/// The page of what is supported: the rules, what they leave out, and how their tests end.
static std::string supportedPage(ArrayRef<Outcome> outcomes) {
  struct Count {
    int passed = 0, all = 0;
  };
  std::map<std::string, Count> counts;
  Count whole;
  for (const Outcome &outcome : outcomes) {
    Count &count = counts[operatorOf(outcomes, outcome)];
    for (Count *each : {&count, &whole}) {
      each->all += 1;
      each->passed += outcome.verdict == Verdict::Passed;
    }
  }
  std::string text;
  llvm::raw_string_ostream page(text);
  page << "<!-- Written by the target supported-operators; not by hand. -->\n"
       << "# Operators of ONNX\n\n"
       << "Operators without a prefix are of the default domain, sets 7 to 27; sets 1 to 6 are read where an operator "
          "means what it means in\nset 7. An entry of the second column is the first set of a meaning that has a "
          "rule.\nThe last column counts the node tests of the onnx package 1.22: "
       << whole.passed << " of all " << whole.all
       << " pass, the others are refused\nwith a message, none is wrong. By tier (tests/unit/onnx/Tiers.h): "
       << tiersOf(outcomes).summary()
       << ".\nRun by another form (tests/unit/onnx/TrainingCase.h) and counted: " << formsOf(outcomes) << ".\n\n"
       << "| operator | since | refused, besides what its definition forbids | node tests |\n|---|---|---|---|\n";
  dtcc::onnx::RuleTable table;
  std::map<std::string, std::string> rows;
  for (const auto &[op, versions] : table.all()) {
    std::vector<std::string> since;
    for (const auto &[version, entry] : versions)
      since.push_back(std::to_string(version));
    Count count = counts[op.str()];
    rows[op.str()] = (Twine("| ") + op + " | " + llvm::join(since, ", ") + " | " + dtcc::onnx::limitOf(op) + " | " +
                      (count.all ? Twine(count.passed) + " of " + Twine(count.all) : Twine("none")) + " |\n")
                         .str();
  }
  for (const auto &[op, row] : rows)
    page << row;
  page << "\nOperators without a rule, and domains of such:\n\n"
       << "| operator | the nearest thing that works | node tests |\n|---|---|---|\n";
  for (const dtcc::onnx::Replacement &row : dtcc::onnx::replacements()) {
    int all = counts[row.name.str()].all;
    page << "| " << row.name << " | " << row.text << " | " << (all ? std::to_string(all) : "none") << " |\n";
  }
  return text;
}

TEST(NodeConformance, OperatorsThatAreReadHaveNoReplacement) {
  dtcc::onnx::RuleTable table;
  for (const dtcc::onnx::Replacement &row : dtcc::onnx::replacements())
    EXPECT_FALSE(table.all().contains(row.name)) << row.name.str() << ": " << row.text.str();
  EXPECT_TRUE(
      llvm::is_sorted(dtcc::onnx::replacements(), [](const auto &a, const auto &b) { return a.name < b.name; }));
}

static std::string contentsOf(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

TEST(NodeConformance, EveryModelIsRightOrRefused) {
  std::string root = DTCC_ONNX_NODE_TESTS;
  if (!llvm::sys::fs::exists(root))
    GTEST_SKIP() << "no " << root;
  std::vector<Outcome> outcomes = runAll(root);
  std::error_code error;
  llvm::raw_fd_ostream list(DTCC_ONNX_SCRATCH "/node-conformance.tsv", error);
  for (const Outcome &outcome : outcomes) {
    if (outcome.verdict == Verdict::Wrong)
      ADD_FAILURE() << outcome.name << ": " << outcome.why;
    list << outcome.name << "\t" << llvm::join(outcome.operators, ",") << "\t" << int(outcome.verdict) << "\t"
         << outcome.why << "\n";
  }
  EXPECT_GE(llvm::count_if(outcomes, [](const Outcome &outcome) { return outcome.verdict == Verdict::Passed; }), 1405);
  TierCount tiers = tiersOf(outcomes);
  llvm::outs() << tiers.summary() << "\n"
               << "of these by another form: " << formsOf(outcomes) << "\n"
               << tiers.reasons();
  // The page says what this run says.
  std::string page = supportedPage(outcomes);
  if (std::getenv("DTCC_WRITE_SUPPORTED")) {
    llvm::raw_fd_ostream stream(DTCC_SUPPORTED, error);
    stream << page;
  }
  EXPECT_EQ(page, contentsOf(DTCC_SUPPORTED)) << "write it again: cmake --build build --target supported-operators";
}
