//===- AmountText.h - Bytes and seconds for people
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One way to write an amount, for all that prints or explains. Free of MLIR and LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_PLANNER_COST_AMOUNTTEXT_H
#define DTCC_PLANNER_COST_AMOUNTTEXT_H

#include <string>

namespace dtcc::cost {

/// "512 B", "1.50 KiB", "32.5 GiB": three digits, in the largest unit that leaves a number of 1 or more.
std::string formatBytes(double bytes);
/// "12.3 us", "3.10 ms", "0.400 s", "71.5 s": three digits.
std::string formatSeconds(double seconds);
/// "26,440", "6.67": whole from 100 on, thousands by commas.
std::string formatAmount(double amount);
/// "15.6 trillion", "500 million", "26,440": three digits and a word from a million on.
std::string formatLarge(double amount);

} // namespace dtcc::cost

#endif // DTCC_PLANNER_COST_AMOUNTTEXT_H
