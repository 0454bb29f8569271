//===- PriceDeliveries.cpp - What it costs to have a value in several layouts
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "planner/placement/PriceDeliveries.h"
#include "planner/problem/Choice.h"

namespace dtcc::spmd {

std::vector<double> deliveryCosts(MovePricer &moves, llvm::ArrayRef<std::optional<Layout>> sources,
                                  llvm::ArrayRef<uint32_t> own, llvm::ArrayRef<DeliveryForm> forms,
                                  llvm::ArrayRef<int64_t> shape, int64_t elementBytes, double times, double slots) {
  using Price = std::optional<MovePricer::Price>;
  // Many candidates give and want the same layout: what is between two is asked for once.
  llvm::SmallVector<const Layout *> layouts;
  auto numberOf = [&](const Layout &layout) {
    auto at = llvm::find_if(layouts, [&](const Layout *known) { return *known == layout; });
    if (at == layouts.end())
      at = layouts.insert(at, &layout);
    return size_t(at - layouts.begin());
  };
  llvm::SmallVector<size_t> wanted, given;
  for (const DeliveryForm &form : forms)
    wanted.push_back(numberOf(form.layout));
  for (const std::optional<Layout> &source : sources)
    given.push_back(source ? numberOf(*source) : 0);
  std::vector<std::optional<Price>> known(layouts.size() * layouts.size());
  auto priceOf = [&](size_t source, size_t form) -> const Price & {
    std::optional<Price> &price = known[source * layouts.size() + form];
    if (price)
      return *price;
    if (source == form)
      return price.emplace(MovePricer::Price{});
    // Nobody makes partial sums of what is whole.
    if (!layouts[form]->partial.empty())
      return price.emplace(std::nullopt);
    return price.emplace(moves.priceOf(*layouts[source], *layouts[form], shape, elementBytes));
  };
  uint32_t sets = 1u << forms.size();
  std::vector<double> costs;
  for (size_t i = 0; i < sources.size(); ++i) {
    std::vector<Price> direct;
    std::vector<double> counts;
    for (auto [number, form] : llvm::enumerate(forms)) {
      direct.push_back(sources[i] ? priceOf(given[i], wanted[number]) : MovePricer::Price{});
      bool isLeft = form.ofUpdate && sources[i] && isLeftToUpdate(*sources[i], form.layout);
      counts.push_back(isLeft ? 1 : form.ofUpdate ? slots : times);
    }
    auto price = [&](uint32_t set) {
      double seconds = 0;
      for (size_t form = 0; form < forms.size(); ++form) {
        if (!(set & (1u << form)))
          continue;
        Price best = direct[form];
        for (size_t other = 0; other < form; ++other) {
          if (!(set & (1u << other)))
            continue;
          if (const Price &way = priceOf(wanted[other], wanted[form]); way && (!best || way->bytes < best->bytes))
            best = way;
        }
        if (!best)
          return plan::kForbidden;
        seconds += best->seconds * counts[form];
      }
      return seconds;
    };
    size_t first = costs.size();
    for (uint32_t set = 0; set < sets; ++set) {
      double cost = price(set | own[i]);
      // More forms cost no less, though the nearest by bytes may not be the nearest by seconds.
      for (uint32_t form = 1; form < sets; form <<= 1)
        if (set & form)
          cost = std::max(cost, costs[first + (set - form)]);
      costs.push_back(cost);
    }
  }
  return costs;
}

} // namespace dtcc::spmd
