//===- Agreement.h - Processes that are to run one program ---- -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every process of a run has a command line of its own. Where these differ in what decides
// which collectives a rank calls, or what it computes, the ranks would wait for each other
// for ever, or train something that nobody asked for. So they compare before they begin.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_LAUNCH_AGREEMENT_H
#define DTCC_RUNTIME_LAUNCH_AGREEMENT_H

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/collective/Communicator.h"
#include "runtime/launch/options/Options.h"

namespace dtcc::rt {

/// Something that all ranks must have alike.
struct Term {
  std::string name;  /* "--save" */
  std::string value; /* as a message shows it: "--save=F", or "no --save" */
};

/// Terms on which all ranks of a run must agree before they look for a checkpoint together. `steps` is their number in
/// all, `samples` the number of samples of the data, whose files `identity` names.
std::vector<Term> termsOf(const Image &image, const Options &options, int64_t steps, int64_t samples,
                          const RunIdentity &identity);
/// The further terms on which ranks must agree: the position at which the run starts.
std::vector<Term> termsOf(const RunPosition &begin);

/// Every rank calls it with its own terms. Throws the same Error on all of them if some differ: it names the first
/// such term, with rank 0's value and that of the first rank that has another.
void checkAgreement(Communicator &world, const std::vector<Term> &mine);

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_LAUNCH_AGREEMENT_H
