//===- TableEnums.td - Enumerations of the runtime as attributes
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TableGen cannot read Reductions.def and RecurrentCells.def, so a dialect's attribute names the C++ type alone, and
// TableEnums.h parses it.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_INTERFACES_TABLEENUMS
#define DTCC_DIALECTS_INTERFACES_TABLEENUMS

include "mlir/IR/AttrTypeBase.td"

def DTCC_Reduction : AttrParameter<"::dtcc::Reduction", "a row of runtime/abi/Reductions.def: sum, max, min"> {
  let parser = "::dtcc::parseReduction($_parser)";
  let printer = "$_printer << ::dtcc::mnemonicOf($_self)";
}

/// A dialect's attribute that holds a Reduction. Ops print the bare keyword.
class DTCC_ReductionAttr<Dialect dialect, string mnem> : AttrDef<dialect, "Reduction"> {
  let mnemonic = mnem;
  let summary = "how values become one: sum, max, min";
  let parameters = (ins DTCC_Reduction:$value);
  let assemblyFormat = "$value";
  let returnType = "::dtcc::Reduction";
  let convertFromStorage = "$_self.getValue()";
  let constBuilderCall = dialect.cppNamespace#"::ReductionAttr::get($_builder.getContext(), $0)";
}

def DTCC_RecurrentCell : AttrParameter<"::dtcc::RecurrentCell", "a row of runtime/abi/RecurrentCells.def"> {
  let parser = "::dtcc::parseRecurrentCell($_parser)";
  let printer = "$_printer << ::dtcc::infoOf($_self).mnemonic";
}

#endif // DTCC_DIALECTS_INTERFACES_TABLEENUMS
