//===- Compare.cpp - Two plans side by side
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/Compare.h"
#include "planner/parallelism/Parallelism.h"
#include "planner/transformer/TransformerAdvisor.h"
#include "planner/transformer/TransformerReport.h"
#include "tools/dtcc-plan/RunForecast.h"
#include "tools/dtcc-plan/queries/GraphAdvisor.h"
#include "tools/dtcc-plan/queries/PlanQuery.h"
#include "tools/dtcc-plan/show/Show.h"
#include "tools/dtcc-plan/tables/PrintReport.h"
#include "tools/dtcc-plan/tables/TextTable.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <cmath>

using namespace dtcc;
using llvm::StringRef;

namespace {
struct Side {
  std::string name;
  plan::Parallelism shape;
  std::optional<PlanOrProgram> file;
  std::optional<plan::PlanReport> priced;
  /// A step as priced, or by the commands of a program.
  std::optional<cost::StepSeconds> step;

  /// A program that names the machine on which its commands take the time of their forecast.
  bool hasMachine() const {
    return file && file->program && !file->program->string(file->program->header().machine).empty();
  }
};

/// What plans of a model are priced for: a heading with the model, the cluster and the batch, and the software. Empty
/// for programs by themselves.
struct Setting {
  std::string heading, software;
};

enum class Unit { Count, Bytes, Seconds, Percent };

/// A quantity of both sides, or a text.
struct ComparedRow {
  std::string name;
  std::string texts[2];
  double values[2] = {};
  std::optional<Unit> unit;
};

/// Rows under a heading.
struct Section {
  std::string name;
  std::vector<ComparedRow> rows;
};
} // namespace

static std::string write(double value, Unit unit) {
  std::string sign = value < 0 ? "-" : "";
  value = std::fabs(value);
  switch (unit) {
  case Unit::Count:
    return sign + formatCount(uint64_t(value));
  case Unit::Bytes:
    return sign + formatBytes(value);
  case Unit::Seconds:
    return value == 0 ? "0 s" : sign + formatSeconds(value);
  case Unit::Percent:
    return sign + llvm::formatv("{0:f1} %", 100 * value).str();
  }
  return "";
}

/// A file, or a shape in words.
static llvm::Expected<Side> readSide(StringRef text) {
  Side side;
  side.name = text.str();
  std::string error;
  if (!llvm::sys::fs::exists(text) && text.contains('=')) {
    std::optional<plan::Parallelism> shape = plan::parseParallelism(text.str(), error);
    if (!shape)
      return llvm::createStringError(error);
    if (*shape != plan::shapeOf(*shape))
      return llvm::createStringError("memory decides what a shape recomputes and which activations it offloads, got: " +
                                     text);
    side.shape = *shape;
    return side;
  }
  llvm::Expected<PlanOrProgram> file = PlanOrProgram::read(text);
  if (!file)
    return file.takeError();
  if (!file->plan)
    return llvm::createStringError(text + ": the program has no plan: it was compiled from text of a lower level");
  side.name = llvm::sys::path::filename(text).str();
  side.shape = plan::shapeOf(plan::parallelismOf(*file->plan));
  side.file = std::move(*file);
  return side;
}

/// Checks that the batch divides by the shape.
static llvm::Error checkBatch(const Side &side, int64_t batch) {
  const plan::Parallelism &shape = side.shape;
  if (batch % (shape.dp * shape.microbatches))
    return llvm::createStringError(
        side.name + ": the batch of " + llvm::Twine(batch) +
        " must divide into dp x micro-batches of the plan, got: " + llvm::Twine(shape.dp * shape.microbatches));
  return llvm::Error::success();
}

static llvm::Error price(Side &side, const TransformerSearch &search) {
  const plan::TransformerProblem &problem = search.problem;
  const plan::Parallelism &shape = side.shape;
  if (shape.ranks() != problem.devices)
    return llvm::createStringError(side.name + ": the plan must take all " + llvm::Twine(problem.devices) +
                                   " devices of " + search.given.cluster.name + ", got: " + llvm::Twine(shape.ranks()));
  if (llvm::Error error = checkBatch(side, problem.batch))
    return error;
  if (double(shape.pp * shape.virtualStages) > problem.model.layers + 2)
    return llvm::createStringError(side.name + ": stages must be at most the " +
                                   llvm::Twine(int64_t(problem.model.layers)) +
                                   " layers, got: " + llvm::Twine(shape.pp * shape.virtualStages));
  plan::Restriction restriction;
  restriction.mesh = shape;
  // A plan file fixes the recomputation; for a shape the memory decides.
  if (side.file)
    restriction.recompute = side.file->plan->recompute == plan::Recompute::Full;
  side.priced = plan::TransformerAdvisor(problem, search.space).best(restriction);
  if (!side.priced)
    return llvm::createStringError(side.name + ": the model does not allow these sizes of axes: " + shape.str());
  side.step = side.priced->parts;
  return llvm::Error::success();
}

/// Prices both sides on the same graph. Returns what they were priced for.
static llvm::Expected<std::string> priceGraph(Side (&sides)[2], const PlanQuery &query) {
  llvm::Expected<plan::SearchReport> report = query.search(1, /*record=*/false, /*anyMemory=*/true);
  if (!report)
    return report.takeError();
  GraphAdvisor advisor(query, *report);
  for (Side &side : sides) {
    if (llvm::Error error = query.checkRanks(side.name, side.shape.ranks(), *report))
      return error;
    if (llvm::Error error = checkBatch(side, report->batch))
      return error;
    side.priced = side.file ? advisor.price(*side.file->plan) : advisor.price(side.shape);
    if (!side.priced)
      return llvm::createStringError(side.name + ": the plan cannot be placed on this model, got: " + side.shape.str());
    side.step = side.priced->parts;
  }
  return headingOf(*report);
}

namespace {
class Comparison {
public:
  explicit Comparison(const Side (&sides)[2]) : sides(sides) {}
  std::vector<Section> run();

private:
  template <typename F> void text(StringRef name, F &&get) {
    sections.back().rows.push_back({name.str(), {get(sides[0]), get(sides[1])}, {}, std::nullopt});
  }
  /// Rows of nothing on both sides are left out.
  template <typename F> void value(StringRef name, Unit unit, F &&get) {
    ComparedRow row{name.str(), {}, {double(get(sides[0])), double(get(sides[1]))}, unit};
    if (row.values[0] != 0 || row.values[1] != 0)
      sections.back().rows.push_back(std::move(row));
  }
  void compareMesh();
  void comparePlans();
  void comparePrograms();
  void compareSteps();
  void compareMemory();

  const Side (&sides)[2];
  std::vector<Section> sections;
};
} // namespace

void Comparison::compareMesh() {
  sections.push_back({"Plan", {}});
  text("mesh", [](const Side &side) {
    std::string words = side.shape.str();
    return StringRef(words).split(' ').first.str();
  });
  text("schedule", [](const Side &side) {
    std::string name = side.shape.scheduleName();
    return name.empty() ? "none" : name;
  });
  text("ZeRO", [](const Side &side) { return std::to_string(side.shape.zero); });
  value("ranks", Unit::Count, [](const Side &side) { return side.shape.ranks(); });
  value("micro-batches", Unit::Count, [](const Side &side) { return side.shape.microbatches; });
}

void Comparison::comparePlans() {
  text("recomputed", [](const Side &side) { return std::string(plan::toString(side.file->plan->recompute)); });
  value("ops split besides the batch", Unit::Count, [](const Side &side) {
    return llvm::count_if(side.file->plan->ops, [&](const plan::OpPlan &op) {
      return llvm::any_of(op.factors,
                          [&](const auto &factor) { return !side.file->plan->withoutUnitAxes(factor.second).empty(); });
    });
  });
  value("waiting in the schedule", Unit::Percent, [](const Side &side) {
    if (!side.file->plan->pipeline)
      return 0.0;
    llvm::Expected<plan::Schedule> schedule = side.file->plan->schedule();
    if (!schedule) { // plans are checked when they are read
      llvm::consumeError(schedule.takeError());
      return 0.0;
    }
    return plan::timelineOf(*schedule).bubble(*schedule);
  });
}

void Comparison::comparePrograms() {
  sections.push_back({"Program, a rank", {}});
  value("samples of a step", Unit::Count, [](const Side &side) { return side.file->program->header().training.batch; });
  value("planned memory", Unit::Bytes, [](const Side &side) {
    uint64_t most = 0;
    for (const dtcc_stage &stage : side.file->program->stages())
      most = std::max(most, arenaBytes(*side.file->program, stage));
    return most;
  });
  value("commands of a step", Unit::Count, [](const Side &side) {
    uint64_t sum = 0;
    std::vector<uint64_t> runs = countRuns(*side.file->program);
    for (size_t i = 0; i < runs.size(); ++i)
      sum += runs[i] * side.file->program->phases()[i].command_count;
    return sum;
  });
  std::vector<CollectiveRow> rows[2];
  std::vector<std::string> names;
  for (int i = 0; i < 2; ++i) {
    rows[i] = collectivesOf(*sides[i].file->program);
    for (const CollectiveRow &row : rows[i])
      if (!llvm::is_contained(names, row.name))
        names.push_back(row.name);
  }
  for (const std::string &name : names) {
    auto sum = [&](const Side &side, uint64_t CollectiveRow::*what) {
      uint64_t all = 0;
      for (const CollectiveRow &row : rows[&side - sides])
        all += row.name == name ? row.*what : 0;
      return all;
    };
    value(name, Unit::Count, [&](const Side &side) { return sum(side, &CollectiveRow::count); });
    value(name + " bytes", Unit::Bytes, [&](const Side &side) { return sum(side, &CollectiveRow::bytes); });
  }
}

void Comparison::compareSteps() {
  sections.push_back({"Forecast of a step", {}});
  value("a step", Unit::Seconds, [](const Side &side) { return side.step->total(); });
  for (const StepPart &part : stepParts())
    value(part.name, Unit::Seconds, [&](const Side &side) { return *side.step.*part.seconds; });
  value("of it computed again", Unit::Seconds, [](const Side &side) { return side.step->recompute; });
}

void Comparison::compareMemory() {
  sections.push_back({"Forecast of a device", {}});
  value("memory", Unit::Bytes, [](const Side &side) { return side.priced->memory.total(); });
  for (const MemoryPart &part : memoryParts())
    value(part.name, Unit::Bytes, [&](const Side &side) { return side.priced->memory.*part.bytes; });
  text("fits", [](const Side &side) { return side.priced->fits ? "yes" : "no"; });
}

std::vector<Section> Comparison::run() {
  compareMesh();
  if (sides[0].file && sides[1].file)
    comparePlans();
  if (sides[0].file && sides[1].file && sides[0].file->program && sides[1].file->program)
    comparePrograms();
  if (sides[0].step && sides[1].step)
    compareSteps();
  if (sides[0].priced && sides[1].priced)
    compareMemory();
  return std::move(sections);
}

static void printText(const Side (&sides)[2], const std::vector<Section> &sections, const Setting &setting,
                      llvm::raw_ostream &stream) {
  TextTable table({"", ">A", ">B", ">B - A", ">B / A"});
  if (!setting.heading.empty())
    printHeading(stream, setting.heading);
  printHeading(stream, "A: " + sides[0].name);
  printHeading(stream, "B: " + sides[1].name);
  if (!setting.software.empty())
    printSoftware(setting.software, stream);
  for (const Section &section : sections) {
    table.add({section.name, "", "", "", ""});
    for (const ComparedRow &row : section.rows) {
      if (!row.unit) {
        table.add({"  " + row.name, row.texts[0], row.texts[1], row.texts[0] == row.texts[1] ? "" : "differs", ""});
        continue;
      }
      double change = row.values[1] - row.values[0];
      std::string difference = change == 0 ? "" : (change > 0 ? "+" : "") + write(change, *row.unit);
      table.add({"  " + row.name, write(row.values[0], *row.unit), write(row.values[1], *row.unit), difference,
                 row.values[0] > 0 ? llvm::formatv("{0:f2}", row.values[1] / row.values[0]).str() : ""});
    }
  }
  table.print(stream);
}

static void printJson(const Side (&sides)[2], const std::vector<Section> &sections, const Setting &setting,
                      llvm::raw_ostream &stream) {
  llvm::json::OStream out(stream, 2);
  out.object([&] {
    out.attribute("a", sides[0].name);
    out.attribute("b", sides[1].name);
    if (!setting.heading.empty())
      out.attribute("setting", setting.heading);
    if (!setting.software.empty())
      out.attribute("software", setting.software);
    for (const Section &section : sections)
      out.attributeObject(section.name, [&] {
        for (const ComparedRow &row : section.rows)
          out.attributeObject(row.name, [&] {
            if (row.unit) {
              out.attribute("a", row.values[0]);
              out.attribute("b", row.values[1]);
            } else {
              out.attribute("a", row.texts[0]);
              out.attribute("b", row.texts[1]);
            }
          });
      });
  });
  stream << '\n';
}

std::vector<StringRef> dtcc::compareValues() { return queryValues({"model"}); }

llvm::Error dtcc::printComparison(const Arguments &arguments, llvm::raw_ostream &stream) {
  if (arguments.inputs().size() != 2)
    return llvm::createStringError("compare takes two plans, programs or shapes, got: " +
                                   llvm::Twine(arguments.inputs().size()));
  Side sides[2];
  for (int i = 0; i < 2; ++i) {
    llvm::Expected<Side> side = readSide(arguments.inputs()[i]);
    if (!side)
      return side.takeError();
    sides[i] = std::move(*side);
  }
  Setting setting;
  if (arguments.has("transformer") || arguments.has("model")) {
    llvm::Expected<PlanQuery> query = PlanQuery::read(arguments.value("model"), arguments);
    if (!query)
      return query.takeError();
    setting.software = query->sizes ? query->sizes->given.softwareName : plan::kOwnSoftware;
    if (!query->sizes) {
      llvm::Expected<std::string> heading = priceGraph(sides, *query);
      if (!heading)
        return heading.takeError();
      setting.heading = *heading;
    } else {
      plan::TransformerPricer pricer(query->sizes->problem);
      plan::SearchReport asked = plan::reportOf(query->sizes->problem, pricer, {}, 0);
      query->sizes->describe(asked);
      setting.heading = headingOf(asked);
      for (Side &side : sides)
        if (llvm::Error error = price(side, *query->sizes))
          return error;
    }
  } else if (!sides[0].file || !sides[1].file) {
    return llvm::createStringError(
        "shapes are compared by their forecasts: give --transformer or --model, and --cluster");
  } else if (sides[0].hasMachine() && sides[1].hasMachine()) {
    for (Side &side : sides) {
      llvm::Expected<RunForecast> forecast = forecastProgram(*side.file, /*measured=*/0);
      if (!forecast)
        return forecast.takeError();
      side.step = forecast->step;
    }
  }
  std::vector<Section> sections = Comparison(sides).run();
  arguments.has("json") ? printJson(sides, sections, setting, stream) : printText(sides, sections, setting, stream);
  return llvm::Error::success();
}
