//===- SampleOrder.h - The endless order of the samples of a run - -*- C++ -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Position p of a run is the sample operator()(p) of its data. The order is computed for each position by itself: a
// resumed run, on any number of ranks, sees what it would have seen, and no table grows with the data.
//
// Without weights an epoch is all full batches of all parts, shuffled anew each epoch or in the order of the files.
//
// With weights every period of at most 10,000 positions has a fixed number of samples of each part, evenly spread.
// Each part has epochs of its own: a small part with a large weight is seen more often.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_RUNTIME_DATA_SAMPLEORDER_H
#define DTCC_RUNTIME_DATA_SAMPLEORDER_H

#include <cstdint>
#include <optional>
#include <vector>

namespace dtcc::rt {

class SampleOrder {
public:
  struct Part {
    int64_t first = 0;   /* sample of the source */
    int64_t samples = 0; /* at least 1 */
    double weight = 0;   /* 0: the parts are no mixture */
  };
  SampleOrder() = default;
  /// Throws Error if a weight is less than a ten-thousandth of all.
  SampleOrder(std::vector<Part> parts, int64_t batch, std::optional<uint64_t> shuffle);

  /// Steps of one epoch. With weights: of as many samples as all parts have.
  int64_t stepsPerEpoch() const { return all / batch; }
  int64_t samples() const { return all; }
  int64_t operator()(int64_t position) const;

private:
  struct Turn {
    uint32_t part;
    int64_t number; /* of the part's turns of a period before this one */
  };
  void findTurns();
  int64_t sampleOf(size_t part, int64_t place, int64_t epoch) const;

  std::vector<Part> parts;
  int64_t batch = 1, all = 0;
  std::optional<uint64_t> shuffle;
  std::vector<Turn> turns;    /* of a period; empty without weights */
  std::vector<int64_t> share; /* turns of each part in a period */
};

} // namespace dtcc::rt

#endif // DTCC_RUNTIME_DATA_SAMPLEORDER_H
