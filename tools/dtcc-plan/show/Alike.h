//===- Alike.h - Parameters of equal layers in one row
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names such as "blocks.3.up.weight" repeat from layer to layer. Tables of them are short if what is laid out alike in
// several layers is one row: "12 x blocks.0-11", with the names inside a layer.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_TOOLS_DTCC_PLAN_SHOW_ALIKE_H
#define DTCC_TOOLS_DTCC_PLAN_SHOW_ALIKE_H

#include "llvm/ADT/ArrayRef.h"
#include <string>
#include <vector>

namespace dtcc {

/// A name with the text that it must share with the others of its row.
struct NamedText {
  std::string name, text;
};

/// Names whose layers are the same ones, and whose texts are equal.
struct AlikeRow {
  std::string layers; /* "4 x blocks.0-3", "blocks.2", or "outside of layers" */
  std::string text;
  std::string names;         /* inside a layer, as "qkv.weight, up.weight, .." */
  std::vector<size_t> items; /* positions in the list that was given */
};

/// Rows in the order of their first names. The first number in a name is that of its layer. Inside a layer, names that
/// differ by a number alone are one: "8 x experts.*.up.weight".
std::vector<AlikeRow> groupAlike(llvm::ArrayRef<NamedText> list);

} // namespace dtcc

#endif // DTCC_TOOLS_DTCC_PLAN_SHOW_ALIKE_H
