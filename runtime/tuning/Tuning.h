//===- Tuning.h - Ways of commands by measurement ------------- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `--tune=FILE`, for processors and GPUs alike. Each way of a command is run where the
// command will run, before there are states, on zeros. A problem (device, library and
// version, sizes, types, strides) is measured once, by the first rank that has it, and all
// ranks take its choice: what one rank adds up in another order the others must, too. The
// file keeps choices between runs. A checkpoint keeps them as well, because another way
// rounds otherwise: a resumed run takes the checkpoint's choices before all others.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_TUNING_TUNING_H
#define DTCC_RUNTIME_TUNING_TUNING_H

#include "runtime/tuning/Choices.h"

#include <span>
#include <vector>

namespace dtcc::rt {

class Communicator;

/// A command that can be computed in several ways, on any device.
class Tunable {
public:
  virtual ~Tunable() = default;
  /// One line with everything on which a choice depends. Commands with one problem take one choice.
  virtual std::string problem() const = 0;
  /// The ways that are possible here. The first is the one that is taken without a measurement.
  virtual std::vector<Choice> candidates() = 0;
  /// Takes a way. False if it is none of these, or not here.
  virtual bool choose(const Choice &choice) = 0;
  /// Runs the chosen way on zeros and returns the seconds of a run. Where it turns out to be far slower than `best`, a
  /// rough figure will do; `best` is 0 if there is none yet. Throws Error if the way fails.
  virtual double seconds(double best) = 0;
  /// How often each way is timed, in turns with the others; its least time counts.
  virtual int passes() const { return 1; }
  /// A way must be faster than the first by more than this share, or the first is taken.
  virtual double margin() const { return 0; }
};

/// Sources of choices that were made before.
struct TuningRequest {
  std::string file;  /* read and written by the first rank; empty: nothing is measured */
  std::string given; /* choices of a checkpoint, as text; they go before those of the file */

  bool isAsked() const { return !file.empty() || !given.empty(); }
};

/// Chooses for all sites, and returns the choices that are taken on any rank, as text. `all`: the group of all ranks,
/// each of which calls this; null: one rank. `rank`: the number in notes. A choice that a rank cannot take is taken by
/// none. Throws Error if the file is no file of choices, or cannot be written.
std::string tune(std::span<Tunable *const> sites, const TuningRequest &request, Communicator *all, int64_t rank);

/// The first rank's text, on all ranks.
std::string wordOfFirst(const std::string &mine, Communicator *all);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_TUNING_TUNING_H
