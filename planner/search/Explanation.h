//===- Explanation.h - Why this plan, in the terms of those who plan by hand
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Answers, with the numbers of this model on these devices, the questions by which people choose
// a plan: does it fit and on how few devices, which kind of parallelism and where each
// runs, when not to distribute, what recomputation saves and costs, accumulation against
// larger batches, the learning rate for the new batch, dollars and days. Free of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_SEARCH_EXPLANATION_H
#define DTCC_PLANNER_SEARCH_EXPLANATION_H

#include "planner/search/SearchReport.h"
#include <functional>

namespace dtcc::plan {

/// A question to a search: its space with some of it left out. What is 0 or absent is as it was.
struct Restriction {
  int64_t devices = 0, batch = 0;
  bool tensor = true, context = true, pipeline = true;
  std::optional<int> zero;
  /// Axes, and their number of micro-batches unless `microbatches` says another.
  std::optional<Parallelism> mesh;
  std::optional<int64_t> microbatches;
  /// Whether all layers are recomputed, or none. If absent, memory decides.
  std::optional<bool> recompute;
  /// Whether a plan that does not fit is of no use: the advisor need not look for the one that needs least memory.
  bool mustFit = false;
};

/// Searches again what an explanation compares with. Each kind of model has one.
class Advisor {
public:
  virtual ~Advisor();
  /// The best plan that is left; where none fits, one that needs least memory, with `fits` false, or nothing if the
  /// restriction has no use for it. Nothing where none is possible, or the search cannot be asked.
  virtual std::optional<PlanReport> best(const Restriction &restriction) = 0;
  /// Plans that are faster than `than` and do not fit, fastest first.
  virtual std::vector<PlanReport> fasterOnes(const PlanReport &than, size_t most) { return {}; }
  /// The fewest devices that hold the model, if more than one can be asked for.
  virtual std::optional<int64_t> fewest() { return std::nullopt; }
};

/// The goal of the whole run; 0 means not known.
struct RunGoal {
  double tokens = 0, pricePerHour = 0;
  /// A batch in samples, and the learning rate that is known to be good for it.
  double baseBatch = 0, baseRate = 0;
};

struct Explanation {
  SearchReport report;
  /// The plan that was asked about, if it was not searched.
  std::optional<PlanReport> given;
  /// Faster, but too large.
  std::vector<PlanReport> tooLarge;
  struct Kind {
    std::string name;
    /// Nothing if the kind cannot take all devices.
    std::optional<PlanReport> plan;
    /// Reason why the plan is not the best.
    std::string reason;
  };
  /// The best of each kind of parallelism.
  std::vector<Kind> kinds;
  struct Count {
    int64_t devices = 1;
    PlanReport plan;
    /// Times as fast as on one device, or as on the fewest that were priced, and that over how many times the devices.
    double speedup = 1, efficiency = 1;
  };
  /// Best plans for the global batch on fewer devices, ascending.
  std::vector<Count> counts;
  /// The mesh of the best plan with other numbers of micro-batches, ascending.
  std::vector<PlanReport> accumulation;
  struct OtherSoftware {
    std::string name;
    /// Its habits that change the time: "hides 70 % of sums over tp".
    std::string habits;
    PlanReport plan;
  };
  /// The best plans of other software on the same devices.
  std::vector<OtherSoftware> otherSoftware;
  struct Answer {
    std::string question, answer;
  };
  std::vector<Answer> answers;
};

/// Called before each comparison with what is compared: "compare device counts".
using ExplanationProgress = std::function<void(const char *what)>;

/// `report` holds at least one plan. Restrictions that the advisor cannot answer are left out.
Explanation explain(SearchReport report, std::optional<PlanReport> given, Advisor &advisor, const RunGoal &goal,
                    const ExplanationProgress &progress = {});

/// The axis of a shape and where its ranks lie: "tp=8 inside a node", "dp=16 over 16 nodes". Ranks are
/// numbered with tp innermost, then cp, dp and pp; `domain` of them share the fast link.
std::string placesOf(const Parallelism &shape, int64_t domain);

/// The learning rate for a batch `factor` times as large, by the linear rule (Goyal et al. 2017)
/// and by the square root rule (Krizhevsky 2014; Malladi et al. 2022 for Adam).
double linearRate(double rate, double factor);
double squareRootRate(double rate, double factor);

} // namespace dtcc::plan

#endif // DTCC_PLANNER_SEARCH_EXPLANATION_H
