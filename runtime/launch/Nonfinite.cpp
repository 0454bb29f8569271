//===- Nonfinite.cpp - Steps whose loss or gradient is not finite
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/Nonfinite.h"

#include "runtime/core/Error.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace dtcc::rt {
namespace {

/// Below this a loss scale is not what makes gradients overflow (fairseq's --min-loss-scale).
constexpr double leastLossScale = 1e-4;

} // namespace

Verdict judge(const StepFacts &facts) {
  bool norm = !facts.hasGradNorm || std::isfinite(facts.gradNorm);
  if (facts.updatesEarly)
    return !std::isfinite(facts.loss) ? Verdict::NotUpdated : norm ? Verdict::Good : Verdict::Spoiled;
  const bool spike = norm && facts.gradNorm > static_cast<double>(facts.gradNormLimit);
  if (std::isfinite(facts.loss) && spike)
    return Verdict::Spike;
  if (std::isfinite(facts.loss) && (norm || (facts.hasLossScale && facts.lossScale >= leastLossScale)))
    return Verdict::Good;
  // Without a label that counts there is no mean gradient either.
  bool updated = norm && !spike && (!facts.hasGradNorm || facts.lossCount != 0);
  return updated ? Verdict::Updated : Verdict::NotUpdated;
}

std::string describeBadStep(const StepFacts &facts, const SpikeGuard &guard) {
  if (facts.lossCount == 0)
    return message("the loss of step ", facts.step, " is not a number: no label of its batch counts");
  if (!std::isfinite(facts.loss))
    return message("the loss of step ", facts.step, " is not finite, got: ", facts.loss);
  if (judge(facts) == Verdict::Spike)
    return message("the gradients of step ", facts.step, " are a spike: their norm is ", facts.gradNorm, ", more than ",
                   guard.ratio(), " times the median of the last ", SpikeGuard::window, " steps (", guard.median(),
                   ")");
  return message("the gradients of step ", facts.step, " are not finite: their norm is ", facts.gradNorm);
}

std::string describeEnd(OnNonfinite choice, const LastGood &last, bool progress, bool early) {
  std::string text = choice == OnNonfinite::Skip ? message("; ", mostSkippedInARow, " steps before it were skipped")
                     : choice == OnNonfinite::Rollback && !last.path.empty()
                         ? message("; the run went back ", mostRollbacks, " times")
                         : "";
  if (!last.path.empty())
    text += message("; the last good state, of step ", last.step, ", is in ", last.path);
  else
    text += progress ? "; without --checkpoint its state is lost" : "; nothing was trained before it";
  return text + (choice == OnNonfinite::Stop && !early ? " (--on-nonfinite=skip leaves such steps out)" : "");
}

std::string describeSpoiledEnd(const LastGood &last) {
  return "; parameters have changed by them (dtcc --update=early)" +
         (last.path.empty() ? "; without a checkpoint the state is lost"
                            : message("; the last good state, of step ", last.step, ", is in ", last.path));
}

ForwardBuffers::ForwardBuffers(const Rank &rank, Device &device) : rank(rank), device(device) {
  const Image &image = rank.image;
  for (const dtcc_state &state : rank.states()) {
    if (state.role != DTCC_STATE_BUFFER || state.view == DTCC_NONE)
      continue;
    const dtcc_view &held = image.views()[state.view];
    auto end = held.offset + static_cast<int64_t>(spanOf(held));
    auto writes = [&](const dtcc_command &command) {
      if (command.kind != DTCC_COPY)
        return false;
      const dtcc_view &to = image.views()[image.operands(command)[1]];
      return to.arena == held.arena && to.offset >= held.offset && to.offset < end;
    };
    auto commands = rowsOf(rank.stage.commands, image.commands());
    if (std::any_of(commands.begin(), commands.end(), writes))
      views.push_back(state.view);
  }
}

void ForwardBuffers::keep() {
  if (views.empty())
    return;
  device.download(views);
  kept.resize(views.size());
  for (size_t i = 0; i < views.size(); ++i) {
    auto *from = static_cast<const std::byte *>(rank.address(views[i], 0));
    kept[i].view = views[i];
    kept[i].bytes.assign(from, from + spanOf(rank.image.views()[views[i]]));
  }
}

void ForwardBuffers::restore() {
  for (const Kept &each : kept) {
    std::memcpy(rank.address(each.view, 0), each.bytes.data(), each.bytes.size());
    device.upload(each.view, 0);
  }
}

} // namespace dtcc::rt
