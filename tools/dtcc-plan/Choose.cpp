//===- Choose.cpp - Which cluster, and how much of it, for a training run
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/dtcc-plan/Choose.h"
#include "compiler/console/StatusLine.h"
#include "planner/cluster/ClusterFile.h"
#include "tools/dtcc-plan/RunForecast.h"
#include "tools/dtcc-plan/queries/PlanQuery.h"
#include "tools/dtcc-plan/tables/PrintReport.h"
#include "tools/dtcc-plan/tables/TextTable.h"
#include "llvm/Support/FormatVariadic.h"
#include <tuple>

using namespace dtcc;
using llvm::StringRef;

std::vector<StringRef> dtcc::chooseValues() {
  std::vector<StringRef> values = queryValues({"clusters", "tokens", "deadline", "budget", "goodput"});
  llvm::erase_if(values, [](StringRef value) { return value == "top" || value == "cluster"; });
  return values;
}

namespace {
/// A cluster that may be chosen, and dollars a device and hour; 0: not known.
struct Offer {
  std::string cluster;
  double price = 0;
};

/// An offer with its best plan, or why it has none.
struct Candidate {
  Offer offer;
  RunForecast run;
  std::string plan, reason;
  /// Whether no other is both faster and cheaper.
  bool isOnFront = false;

  bool works() const { return reason.empty(); }
  /// Dollars of the run, or device-hours where prices are not known.
  double spent() const { return run.deviceHours() * (run.price > 0 ? run.price : 1); }
};

struct Goal {
  double tokens = 0, goodput = 1;
  std::optional<double> deadline, budget;
};
} // namespace

static llvm::Expected<Goal> readGoal(const Arguments &arguments) {
  Goal goal;
  if (!arguments.has("tokens"))
    return llvm::createStringError("--tokens must be given: the tokens of the whole run, as --tokens=15T");
  llvm::Expected<double> tokens = arguments.amount("tokens", 0), budget = arguments.amount("budget", 0),
                         goodput = arguments.number("goodput", 1);
  llvm::Expected<std::optional<double>> deadline = arguments.duration("deadline");
  if (!tokens || !budget || !goodput || !deadline)
    return llvm::joinErrors(llvm::joinErrors(tokens.takeError(), budget.takeError()),
                            llvm::joinErrors(goodput.takeError(), deadline.takeError()));
  if (*goodput > 1)
    return llvm::createStringError("--goodput must be a share of the time, above 0 and at most 1, got: " +
                                   arguments.value("goodput"));
  if (*deadline && *budget > 0)
    return llvm::createStringError("--deadline asks for the cheapest and --budget for the fastest, got both");
  goal.tokens = *tokens;
  goal.goodput = *goodput;
  goal.deadline = *deadline;
  if (*budget > 0)
    goal.budget = *budget;
  return goal;
}

/// "NODESxDEVICESxKIND" with half as many nodes; nothing for one node, for an odd number and for files.
static std::optional<std::string> halfOf(StringRef cluster) {
  auto [nodes, rest] = cluster.split('x');
  int64_t count = 0;
  if (nodes.getAsInteger(10, count) || count < 2 || count % 2 || !rest.contains('x'))
    return std::nullopt;
  return std::to_string(count / 2) + "x" + rest.str();
}

/// Reads --clusters: each name or file, "@" and dollars a device and hour.
static llvm::Expected<std::vector<Offer>> readOffers(StringRef text) {
  std::vector<Offer> offers;
  llvm::SmallVector<StringRef> names;
  text.split(names, ',');
  for (StringRef name : names) {
    auto [cluster, price] = name.split('@');
    Offer offer{cluster.trim().str(), 0};
    if (offer.cluster.empty())
      return llvm::createStringError("--clusters must name clusters, as --clusters=64x8xh100@2.5,128x8xa100-80@1.3, "
                                     "got: " +
                                     (text.empty() ? "none" : text));
    if (name.contains('@') && (price.getAsDouble(offer.price) || !(offer.price > 0) || !std::isfinite(offer.price)))
      return llvm::createStringError("a price must be dollars a device and hour above 0, as " + offer.cluster +
                                     "@2.5, got: " + name);
    offers.push_back(std::move(offer));
  }
  return offers;
}

/// Dollars of some clusters and device-hours of others do not compare, and a budget needs dollars of all.
static llvm::Error checkPrices(const std::vector<Offer> &offers, const Goal &goal) {
  const Offer *unpriced = nullptr;
  bool anyPriced = false;
  for (const Offer &offer : offers) {
    llvm::Expected<cost::Cluster> cluster = cost::readCluster(offer.cluster);
    if (!cluster)
      return cluster.takeError();
    bool priced = offer.price > 0 || cluster->pricePerHour() > 0;
    anyPriced |= priced;
    if (!priced && !unpriced)
      unpriced = &offer;
  }
  if (unpriced && (goal.budget || (goal.deadline && anyPriced)))
    return llvm::createStringError("a price is missing: --clusters=" + unpriced->cluster +
                                   "@2.5 gives dollars a device and hour");
  return llvm::Error::success();
}

/// The best plan of an offer; of a graph it is compiled. `silent`: without the notes of the import.
static llvm::Expected<Candidate> price(const Offer &offer, StringRef model, const Arguments &arguments,
                                       const Goal &goal, bool silent) {
  Status status("searching " + offer.cluster);
  llvm::Expected<PlanQuery> query = PlanQuery::read(model, arguments.with("cluster", offer.cluster), silent);
  if (!query)
    return query.takeError();
  Candidate candidate{offer, {}, "", "", false};
  candidate.run.price = offer.price > 0 ? offer.price : query->pricePerHour;
  llvm::Expected<plan::SearchReport> report = query->searchBest();
  if (!report) {
    candidate.reason = llvm::toString(report.takeError());
    return candidate;
  }
  candidate.plan = report->plans.front().shape.str();
  candidate.run.readStep(*report);
  candidate.run.run = goal.tokens / goal.goodput;
  return candidate;
}

/// All offers, each with fewer nodes as long as the model fits.
static llvm::Expected<std::vector<Candidate>> priceAll(const std::vector<Offer> &offers, StringRef model,
                                                       const Arguments &arguments, const Goal &goal) {
  std::vector<Candidate> candidates;
  for (const Offer &offer : offers) {
    bool worked = false;
    for (std::optional<std::string> name = offer.cluster; name; name = halfOf(*name)) {
      llvm::Expected<Candidate> candidate =
          price({*name, offer.price}, model, arguments, goal, /*silent=*/!candidates.empty());
      if (!candidate)
        return candidate.takeError();
      candidates.push_back(std::move(*candidate));
      // Fewer devices hold no more.
      if (worked && !candidates.back().works())
        break;
      worked |= candidates.back().works();
    }
  }
  for (Candidate &each : candidates)
    each.isOnFront = each.works() && llvm::none_of(candidates, [&](const Candidate &other) {
                       return other.works() && other.run.seconds() <= each.run.seconds() &&
                              other.spent() <= each.spent() &&
                              (other.run.seconds() < each.run.seconds() || other.spent() < each.spent());
                     });
  // Clusters on which the model does not fit come last.
  llvm::sort(candidates, [](const Candidate &a, const Candidate &b) {
    auto key = [](const Candidate &each) {
      return std::tuple(!each.works(), each.works() ? each.run.seconds() : 0, StringRef(each.offer.cluster));
    };
    return key(a) < key(b);
  });
  return candidates;
}

/// The cheapest in time, or the fastest within the budget; null if none is.
static const Candidate *pick(const std::vector<Candidate> &candidates, const Goal &goal) {
  const Candidate *best = nullptr;
  for (const Candidate &each : candidates) {
    if (!each.works() || (goal.deadline && each.run.seconds() > *goal.deadline) ||
        (goal.budget && each.spent() > *goal.budget))
      continue;
    bool isBetter = !best || (goal.deadline ? each.spent() < best->spent() : each.run.seconds() < best->run.seconds());
    best = isBetter ? &each : best;
  }
  return best;
}

/// Why nothing is picked: the nearest to the goal.
static llvm::Error nonePicked(const std::vector<Candidate> &candidates, const Goal &goal) {
  const Candidate *nearest = nullptr;
  for (const Candidate &each : candidates)
    if (each.works() &&
        (!nearest || (goal.deadline ? each.run.seconds() < nearest->run.seconds() : each.spent() < nearest->spent())))
      nearest = &each;
  if (!nearest)
    return llvm::createStringError("the model fits on none of the clusters: " + candidates.front().offer.cluster +
                                   ": " + candidates.front().reason);
  if (goal.deadline)
    return llvm::createStringError("no cluster finishes within " + durationOf(*goal.deadline) + "; the fastest, " +
                                   nearest->offer.cluster + ", takes " + durationOf(nearest->run.seconds()));
  return llvm::createStringError("no cluster costs at most $" + formatAmount(*goal.budget) + "; the cheapest, " +
                                 nearest->offer.cluster + ", takes $" + formatAmount(nearest->spent()));
}

static void printTable(const std::vector<Candidate> &candidates, bool priced, llvm::raw_ostream &stream) {
  std::vector<std::string> titles = {"", "cluster", ">devices", ">a step", ">time", ">device-hours"};
  if (priced)
    titles.push_back(">dollars");
  titles.push_back(">" + candidates.front().run.items + "/s a device");
  titles.push_back("plan");
  TextTable table(std::move(titles));
  for (const Candidate &each : candidates) {
    if (!each.works())
      continue;
    std::vector<std::string> cells = {each.isOnFront ? "*" : "",
                                      each.offer.cluster,
                                      formatCount(uint64_t(each.run.ranks)),
                                      formatSeconds(each.run.step.total()),
                                      durationOf(each.run.seconds()),
                                      formatAmount(each.run.deviceHours())};
    if (priced)
      cells.push_back("$" + formatAmount(each.spent()));
    cells.push_back(formatCount(uint64_t(each.run.itemsPerSecond() / double(each.run.ranks))));
    cells.push_back(each.plan);
    table.add(std::move(cells));
  }
  table.print(stream);
  for (const Candidate &each : candidates)
    if (!each.works())
      stream << "not " << each.offer.cluster << ": " << each.reason << '\n';
  stream << "*: no other is both faster and " << (priced ? "cheaper\n" : "of fewer device-hours\n");
}

static void printChoiceText(const std::vector<Candidate> &candidates, const Candidate *chosen, const Goal &goal,
                            bool priced, llvm::raw_ostream &stream) {
  printHeading(stream, llvm::formatv("{0} {1}, {2:f0} % of the time in training{3}", formatLarge(goal.tokens),
                                     candidates.front().run.items, 100 * goal.goodput,
                                     goal.goodput < 1 ? "" : " (--goodput=0.9 counts failures)")
                           .str());
  printSoftware(candidates.front().run.software, stream);
  printTable(candidates, priced, stream);
  if (!goal.deadline && !goal.budget)
    return;
  stream << (goal.deadline ? "cheapest within " + durationOf(*goal.deadline)
                           : "fastest for at most $" + formatAmount(*goal.budget))
         << ": " << chosen->offer.cluster << ", " << durationOf(chosen->run.seconds());
  if (priced)
    stream << ", $" << formatAmount(chosen->spent());
  stream << ", " << chosen->plan << '\n';
}

static void printChoiceJson(const std::vector<Candidate> &candidates, const Candidate *chosen, const Goal &goal,
                            bool priced, llvm::raw_ostream &stream) {
  llvm::json::OStream out(stream, 2);
  out.object([&] {
    out.attribute("tokens", goal.tokens);
    out.attribute("goodput", goal.goodput);
    out.attribute("software", candidates.front().run.software);
    out.attributeArray("clusters", [&] {
      for (const Candidate &each : candidates)
        out.object([&] {
          out.attribute("cluster", each.offer.cluster);
          if (!each.works()) {
            out.attribute("why_not", each.reason);
            return;
          }
          out.attribute("devices", each.run.ranks);
          out.attribute("plan", each.plan);
          out.attribute("step_seconds", each.run.step.total());
          out.attribute("days", each.run.seconds() / 86400);
          out.attribute("device_hours", each.run.deviceHours());
          if (priced)
            out.attribute("dollars", each.spent());
          out.attribute("best_for_its_time", each.isOnFront);
        });
    });
    if (goal.deadline || goal.budget)
      out.attribute("chosen", chosen->offer.cluster);
  });
  stream << '\n';
}

llvm::Error dtcc::printChoice(const Arguments &arguments, llvm::raw_ostream &stream) {
  if (arguments.inputs().size() > 1)
    return llvm::createStringError("choose takes one model, got: " + arguments.inputs()[0] + " and " +
                                   arguments.inputs()[1]);
  if (arguments.has("transformer") && !arguments.has("batch"))
    return llvm::createStringError("--batch must be given: the samples of a step, which all clusters train alike");
  llvm::Expected<Goal> goal = readGoal(arguments);
  if (!goal)
    return goal.takeError();
  llvm::Expected<std::vector<Offer>> offers = readOffers(arguments.value("clusters"));
  if (!offers)
    return offers.takeError();
  if (llvm::Error error = checkPrices(*offers, *goal))
    return error;
  StringRef model = arguments.inputs().empty() ? StringRef() : StringRef(arguments.inputs()[0]);
  llvm::Expected<std::vector<Candidate>> candidates = priceAll(*offers, model, arguments, *goal);
  if (!candidates)
    return candidates.takeError();
  bool priced = llvm::none_of(*candidates, [](const Candidate &each) { return each.works() && each.run.price <= 0; });
  const Candidate *chosen = pick(*candidates, *goal);
  if (!chosen)
    return nonePicked(*candidates, *goal);
  arguments.has("json") ? printChoiceJson(*candidates, chosen, *goal, priced, stream)
                        : printChoiceText(*candidates, chosen, *goal, priced, stream);
  return llvm::Error::success();
}
