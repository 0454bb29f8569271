//===- DataParts.h - Parts whose sizes only the data tell
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Experts that count their tokens split the sorted rows by these counts, multiply each part
// by the weights of one expert, and join the products: JetMoE, and every model with
// `inputs.split(sizes.tolist())`. No type can hold such a part. It is held as all rows, of
// which only those between the part's ends mean something: row r stays at place r. Functions
// of single rows may be applied to it, and the join takes each row from the part that it
// lies in. This is exact, and costs the product of all rows for each part.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_FRONTENDS_ONNX_EMIT_DATAPARTS_H
#define DTCC_FRONTENDS_ONNX_EMIT_DATAPARTS_H

#include "frontends/onnx/emit/Emitter.h"

namespace dtcc::onnx {

/// Rows along `dim` cut into consecutive parts: those of part i end before row ends[i].
struct DataCut {
  int64_t dim;
  std::vector<Tensor> ends;
};

/// Part number `index` of a cut.
struct DataPart {
  std::shared_ptr<const DataCut> cut;
  size_t index;
};

/// The parts of `x` along `dim`, as many as `sizes`, a list of integers that must add up to the size of `dim`, has
/// cells.
std::vector<Tensor> splitByData(Emitter &emit, const Tensor &x, const Tensor &sizes, int64_t dim);
/// `x` as a part, or as none; other handles of its value stay what they are.
Tensor asPart(const Tensor &x, std::shared_ptr<const DataPart> part);
/// All parts of one cut, in their order, as one tensor: each row from the part that it lies in.
Tensor joinParts(Emitter &emit, llvm::ArrayRef<Tensor> xs);

} // namespace dtcc::onnx

#endif // DTCC_FRONTENDS_ONNX_EMIT_DATAPARTS_H
