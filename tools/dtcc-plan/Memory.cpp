//===- Memory.cpp - What fits, and on how few devices
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/Memory.h"
#include "compiler/options/PlanRequest.h"
#include "compiler/planning/PlanSearch.h"
#include "planner/transformer/Memory.h"
#include "planner/transformer/MemoryTable.h"
#include "tools/dtcc-plan/queries/PlanQuery.h"
#include "tools/dtcc-plan/tables/PrintReport.h"
#include "tools/dtcc-plan/tables/TextTable.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace dtcc;
using llvm::StringRef;

namespace {
using plan::MemoryRow;
/// The table of memory, for models given as graphs and for models given by their sizes.
struct Table {
  plan::SearchReport asked;
  plan::Parallelism shape;
  std::vector<MemoryRow> rows;
  std::optional<plan::FewestDevices> fewest;
  /// All devices are parts of one machine: more of them bring no memory.
  bool oneMachine = false;
};
} // namespace

/// Offloads the saved activations of a stage of `blocks` blocks. Those of one block are on the device while it runs.
static void moveToHost(MemoryRow &row, double blocks) {
  row.memory.host += row.memory.activations;
  row.memory.working += row.memory.activations / std::max(1.0, blocks);
  row.memory.activations = 0;
}

/// All devices as data parallelism but for what is given; a sample a device at a time.
static llvm::Expected<plan::Parallelism> shapeOf(const TransformerSearch &search) {
  plan::Parallelism shape;
  auto given = [](const std::vector<int64_t> &sizes) { return sizes.size() == 1 ? sizes[0] : 1; };
  shape.tp = given(search.space.tp);
  shape.cp = given(search.space.cp);
  shape.pp = given(search.space.pp);
  shape.ep = given(search.space.ep);
  // Unless it is asked for, the table is of devices alone.
  shape.gradients = search.space.gradients;
  shape.offload.optimizer = search.space.hostOptimizer == std::vector<bool>{true};
  shape.dp = search.problem.devices / (shape.tp * shape.cp * shape.pp);
  if (search.problem.devices % (shape.tp * shape.cp * shape.pp) ||
      search.space.dp.value_or(shape.meshDp()) != shape.meshDp())
    return llvm::createStringError("--mesh must take all " + llvm::Twine(search.problem.devices) + " devices");
  if (search.problem.batch % shape.dp)
    return llvm::createStringError("--batch must divide by the " + llvm::Twine(shape.dp) +
                                   " data-parallel ranks, got: " + llvm::Twine(search.problem.batch));
  int64_t each = search.problem.batch / shape.dp;
  shape.microbatches = search.space.microbatches.value_or(each);
  if (each % shape.microbatches)
    return llvm::createStringError("--microbatches must divide the " + llvm::Twine(each) +
                                   " samples of a rank, got: " + llvm::Twine(shape.microbatches));
  if (shape.pp > 1)
    shape.schedule = plan::PipelineKind::OneForwardOneBackward;
  return shape;
}

static llvm::Expected<Table> tabulate(const TransformerSearch &search) {
  Table table;
  llvm::Expected<plan::Parallelism> shape = shapeOf(search);
  if (!shape)
    return shape.takeError();
  table.shape = *shape;
  plan::TransformerPricer pricer(search.problem);
  table.asked = plan::reportOf(search.problem, pricer, {}, 0);
  search.describe(table.asked);
  for (const plan::MemoryRow &row : plan::tabulateMemory(search.problem, *shape)) {
    if (!llvm::is_contained(search.space.zero, row.zero))
      continue;
    table.rows.push_back(row);
    if (search.offload && search.offload->activations && row.recompute == plan::Recompute::None)
      moveToHost(table.rows.back(), search.problem.model.layers / double(table.shape.pp));
    table.rows.back().fits = cost::fitsIn(table.rows.back().memory.total(), search.problem.device);
  }
  table.fewest = plan::fewestDevices(search.problem, search.space);
  return table;
}

/// Whether a shape is the one that the user asked for: the axes of --mesh, with data parallelism over the other ranks.
/// A micro-batch is one sample per rank, unless --microbatches says otherwise or batch statistics need the whole batch.
static bool isAsked(const plan::Parallelism &shape, const PlanRequest &request, int64_t most) {
  const plan::MeshSizes &mesh = request.mesh;
  bool asks = shape.tp == mesh.tp.value_or(1) && shape.cp == mesh.cp.value_or(1) && shape.ep == mesh.ep.value_or(1) &&
              shape.pp == mesh.pp.value_or(1) && shape.microbatches == most &&
              shape.offload.optimizer == request.offload.value_or(plan::Offload()).optimizer;
  // One schedule for all rows.
  return asks && (!request.schedule.empty() || shape.schedule == plan::PipelineKind::None ||
                  shape.schedule == plan::PipelineKind::OneForwardOneBackward);
}

/// The table of a graph: rows as its search prices them, with memory unlimited.
static llvm::Expected<Table> tabulate(const PlanQuery &query) {
  Table table;
  table.oneMachine = isThisMachine(query.options);
  llvm::Expected<plan::SearchReport> all = query.search(1, /*record=*/false, /*anyMemory=*/true);
  if (!all)
    return all.takeError();
  table.asked = std::move(*all);
  table.asked.plans.clear();
  SearchLimits limits;
  limits.anyMemory = true;
  limits.silent = true;
  limits.pricers = &query.pricers;
  plan::Offload offload = query.request.offload.value_or(plan::Offload());
  int64_t most = 0;
  limits.allows = [&](const plan::Parallelism &shape) {
    if (isAsked(shape, query.request, shape.microbatches))
      most = std::max(most, shape.microbatches);
    return false;
  };
  (void)searchPlans(query.graph->module(), query.options, query.request, limits);
  for (int zero = 0; zero <= 3; ++zero)
    for (plan::Recompute recompute : {plan::Recompute::None, plan::Recompute::Selective, plan::Recompute::Full}) {
      PlanRequest request = query.request;
      if (request.recompute.value_or(recompute) != recompute)
        continue;
      request.recompute = recompute;
      // All is kept on the device, and moved from there.
      request.offload = plan::Offload{offload.optimizer, /*activations=*/false};
      limits.allows = [&](const plan::Parallelism &shape) {
        return shape.zero == zero && isAsked(shape, query.request, most);
      };
      mlir::FailureOr<SearchResult> result = searchPlans(query.graph->module(), query.options, request, limits);
      if (failed(result))
        continue;
      const plan::PlanReport &plan = result->report.plans.front();
      // If a mode recomputes nothing more, its row would repeat the last one.
      if (recompute != plan::Recompute::None && !table.rows.empty() && table.rows.back().zero == zero &&
          table.rows.back().memory.total() == plan.memory.total())
        continue;
      if (table.rows.empty())
        table.shape = plan.shape;
      table.rows.push_back({zero, recompute, plan.memory, plan.fits});
      if (offload.activations && recompute == plan::Recompute::None) {
        moveToHost(table.rows.back(), double(plan.stages.front().blocks));
        table.rows.back().fits =
            table.asked.memoryBytes <= 0 || table.rows.back().memory.total() <= table.asked.memoryBytes;
      }
    }
  if (table.rows.empty())
    return llvm::createStringError("no plan of this mesh can be placed on the model: --mesh=" +
                                   query.request.mesh.str());
  if (!table.oneMachine)
    if (std::optional<FewestDevices> fewest = fewestDevices(query.graph->module(), query.options, query.request))
      table.fewest = {fewest->devices, std::move(fewest->plan)};
  return table;
}

static void printTableText(const Table &table, llvm::raw_ostream &stream) {
  printHeading(stream, headingOf(table.asked));
  printSoftware(table.asked.software, stream);
  plan::Parallelism shape = table.shape;
  shape.zero = 0;
  std::string axes = shape.str();
  stream << "a device under " << StringRef(axes).split(" zero").first << ", "
         << llvm::formatv("{0} {1}", shape.microbatches, shape.microbatches == 1 ? "micro-batch" : "micro-batches");
  if (table.asked.memoryBytes > 0)
    stream << "; it may use " << formatBytes(table.asked.memoryBytes);
  stream << '\n';
  std::vector<std::string> titles = {">ZeRO", "recompute"};
  for (const MemoryPart &part : memoryParts())
    titles.push_back((">" + part.name).str());
  titles.push_back(">all");
  bool hosts = llvm::any_of(table.rows, [](const MemoryRow &row) { return row.memory.host > 0; });
  if (hosts)
    titles.push_back(">host memory");
  titles.push_back("");
  TextTable text(std::move(titles));
  for (const MemoryRow &row : table.rows) {
    std::vector<std::string> cells = {std::to_string(row.zero), std::string(plan::toString(row.recompute))};
    for (const MemoryPart &part : memoryParts())
      cells.push_back(formatBytes(row.memory.*part.bytes));
    cells.push_back(formatBytes(row.memory.total()));
    if (hosts)
      cells.push_back(formatBytes(row.memory.host));
    double excess = row.memory.total() - table.asked.memoryBytes;
    cells.push_back(row.fits ? "fits" : excess > 0 ? formatBytes(excess) + " too much" : "too much for the host");
    text.add(std::move(cells));
  }
  text.print(stream);
  if (table.fewest)
    stream << "fewest devices that hold it: " << table.fewest->devices << ", as " << table.fewest->plan.shape.str()
           << " with " << formatBytes(table.fewest->plan.memory.total()) << " on a device\n";
  else if (table.oneMachine)
    stream << "ranks share the memory of one machine: more of them bring none\n";
  else
    stream << "no number of devices holds it\n";
}

static void printTableJson(const Table &table, llvm::raw_ostream &stream) {
  llvm::json::OStream out(stream, 2);
  out.object([&] {
    out.attribute("model", table.asked.model);
    out.attribute("parameters", table.asked.parameters);
    out.attribute("cluster", table.asked.cluster);
    out.attribute("software", table.asked.software);
    out.attribute("ranks", table.asked.devices);
    out.attribute("memory_bytes", table.asked.memoryBytes);
    writeMesh(table.shape, out);
    out.attribute("microbatches", table.shape.microbatches);
    out.attributeArray("rows", [&] {
      for (const MemoryRow &row : table.rows)
        out.object([&] {
          out.attribute("zero", row.zero);
          out.attribute("recompute", StringRef(plan::toString(row.recompute)));
          writeMemory(row.memory, out);
          out.attribute("host_bytes", row.memory.host);
          out.attribute("fits", row.fits);
        });
    });
    if (table.fewest)
      out.attributeObject("fewest", [&] {
        out.attribute("devices", table.fewest->devices);
        out.attribute("options", table.fewest->plan.shape.str());
        out.attribute("bytes", table.fewest->plan.memory.total());
      });
  });
  stream << '\n';
}

std::vector<StringRef> dtcc::memoryValues() { return queryValues(); }

llvm::Error dtcc::printMemory(const Arguments &arguments, llvm::raw_ostream &stream) {
  if (arguments.inputs().size() > 1)
    return llvm::createStringError("memory takes one model, got also: " + arguments.inputs()[1]);
  llvm::Expected<PlanQuery> query = PlanQuery::read(arguments.inputs().empty() ? "" : arguments.inputs()[0], arguments);
  if (!query)
    return query.takeError();
  if (!query->kinds.empty())
    return llvm::createStringError(
        "memory takes devices of one kind, since the others hold other amounts: name one of the "
        "kinds, got: --cluster=" +
        arguments.value("cluster"));
  llvm::Expected<Table> table = query->sizes ? tabulate(*query->sizes) : tabulate(*query);
  if (!table)
    return table.takeError();
  arguments.has("json") ? printTableJson(*table, stream) : printTableText(*table, stream);
  return llvm::Error::success();
}
