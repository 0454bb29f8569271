//===- CommandOps.td - One op per row of the command table -*- tablegen -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every command reads `ins` and writes `outs`. Commands of one stream run in order;
// `after` adds the events of commands of other streams.
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_EXEC_COMMANDOPS
#define DTCC_DIALECTS_EXEC_COMMANDOPS

include "dialects/exec/CommandInterface.td"
include "dialects/exec/Exec.td"
include "dialects/interfaces/OpInterfaces.td"
include "mlir/IR/AttrTypeBase.td"

def Exec_EventType : TypeDef<Exec_Dialect, "Event"> {
  let mnemonic = "event";
  let summary = "the end of a command in the running action";
}

class Exec_CommandOp<string mnemonic, dag own, list<string> overrides = [], list<Trait> traits = []> : Exec_Op<mnemonic, !listconcat([
    AttrSizedOperandSegments, ParentOneOf<["PhaseOp"]>, DeclareOpInterfaceMethods<Exec_CommandOpInterface, overrides>], traits)> {
  let arguments = !con((ins Variadic<AnyStaticShapeMemRef>:$ins, Variadic<AnyStaticShapeMemRef>:$outs,
                            Variadic<Exec_EventType>:$after,
                            DefaultValuedAttr<ConfinedAttr<I64Attr, [IntNonNegative]>, "0">:$stream,
                            OptionalAttr<StrAttr>:$name), own);
  let results = (outs Optional<Exec_EventType>:$done);
}
class Exec_CommandFormat<string head, string tail = ""> {
  string format = head # "(`ins` `(` $ins^ `:` type($ins) `)`)? (`outs` `(` $outs^ `:` type($outs) `)`)?" # tail #
                  "(`after` `(` $after^ `)`)? attr-dict (`->` type($done)^)?";
}

def Exec_KernelOp : Exec_CommandOp<"kernel", (ins FlatSymbolRefAttr:$function, OptionalAttr<DenseBoolArrayAttr>:$accumulates), ["readsOut"]> {
  let summary = "a generated kernel: an exec.func, or the llvm.func made of it";
  let description = [{ `accumulates`, per output: it adds to it, in some slot. Absent: to none. }];
  let assemblyFormat = Exec_CommandFormat<"$function ">.format;
  let hasVerifier = 1;
  let extraClassDefinition = [{ bool $cppClass::readsOut(unsigned index) { return getAccumulates() && (*getAccumulates())[index]; } }];
}

def Exec_LibraryOp : Exec_CommandOp<"library", (ins StrAttr:$op, ArrayAttr:$parameters,
      Variadic<AnyStaticShapeMemRef>:$workspace, UnitAttr:$updates,
      DefaultValuedAttr<F64Attr, "0.0">:$flops, UnitAttr:$predicated), ["readsOut", "getScratch", "streams"]> {
  let summary = "an op of the runtime, by its mnemonic in runtime/abi/LibraryOps.def";
  let description = [{
    `parameters` (its attributes in the table) stand in the order of LibraryOps.def: i64, f64, a symbol for the index
    of a communicator or bucket, unit for -1 (none). `updates`: it reads its outputs. `predicated`: the
    last input is no operand of the op but one i32, and the command runs if it is not 0.
    ```mlir
    exec.library "matmul" ins(%x, %w : ...) outs(%y : ...) workspace(%s : ...) [2, 0]
    ```
  }];
  let assemblyFormat = Exec_CommandFormat<"$op ", "(`workspace` `(` $workspace^ `:` type($workspace) `)`)? $parameters ">.format;
  let extraClassDefinition = [{
    bool $cppClass::readsOut(unsigned) { return getUpdates(); }
    ::mlir::ValueRange $cppClass::getScratch() { return getWorkspace(); }
    bool $cppClass::streams() { return opStreams(getOp()); }
  }];
  let hasVerifier = 1;
}

/// The number of a row of a table of runtime/abi, which has `count` of them.
class Exec_TableRow<string type, string count, string what> : SignlessIntegerAttrBase<I32, what> {
  let predicate = And<[I32Attr.predicate, CPred<"::llvm::cast<::mlir::IntegerAttr>($_self).getValue().ult(" # count # ")">]>;
  let returnType = type;
  let convertFromStorage = "static_cast<" # type # ">($_self.getValue().getZExtValue())";
  let constBuilderCall = "$_builder.getI32IntegerAttr(static_cast<int32_t>($0))";
}
def Exec_CollectiveKind : Exec_TableRow<"::dtcc::CollectiveKind", "::dtcc::kCollectives", "a row of Collectives.def">;
def Exec_Reduction : Exec_TableRow<"::dtcc::Reduction", "::dtcc::kReductions", "a row of Reductions.def">;
/// A command that communicates.
class Exec_ExchangeOp<string mnemonic, dag own> : Exec_CommandOp<mnemonic, own, [],
    [DeclareOpInterfaceMethods<CommunicationOpInterface, ["describeContent"]>]>;

def Exec_CollectiveOp : Exec_ExchangeOp<"collective", (ins Exec_CollectiveKind:$kind, Exec_Reduction:$reduction,
                                                          FlatSymbolRefAttr:$communicator,
                                                          OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$slot,
                                                          UnitAttr:$ofParameters,
                                                          OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$experts)> {
  let summary = "a collective on dense views; `reduction` says nothing where nothing is reduced";
  let description = [{
    `slot`: in this slot alone; its event is there in all slots. `ofParameters`: it reduces or
    gathers a bucket, and may have an order of its own (exec-separate-parameters).
    `dispatch_rows` and `combine_rows` read rows and picks of `experts` a member; behind their output they write the
    room of their exchange: rows that come back (combine_rows), rows that wait to be sent (on GPUs), lists of integers.
  }];
  let assemblyFormat = Exec_CommandFormat<"custom<CollectiveKind>($kind) custom<Reduction>($reduction) `on` $communicator (`slot` $slot^)? (`experts` $experts^)? ">.format;
  let hasVerifier = 1;
}

def Exec_CopyOp : Exec_CommandOp<"copy", (ins)> {
  let summary = "one view to another of the same shape and element type; any strides";
  let assemblyFormat = Exec_CommandFormat<"">.format;
  let hasVerifier = 1;
}

def Exec_FillOp : Exec_CommandOp<"fill", (ins TypedAttrInterface:$value)> {
  let summary = "one value in every element of a view";
  let assemblyFormat = Exec_CommandFormat<"$value ">.format;
  let hasVerifier = 1;
}

def Exec_SendOp : Exec_ExchangeOp<"send", (ins FlatSymbolRefAttr:$communicator, ConfinedAttr<I64Attr, [IntNonNegative]>:$peer,
      DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$room)> {
  let summary = "a dense view to member `peer`; goes on when it is on its way";
  let description = [{
    Messages of a pair of members arrive in the order in which they were sent. Waits while as many are on their way as
    all sends to that member have `room` for together.
  }];
  let assemblyFormat = Exec_CommandFormat<"`to` $peer `on` $communicator (`room` $room^)? ">.format;
  let hasVerifier = 1;
}

def Exec_ReceiveOp : Exec_ExchangeOp<"receive", (ins FlatSymbolRefAttr:$communicator, ConfinedAttr<I64Attr, [IntNonNegative]>:$peer)> {
  let summary = "waits for the next message of member `peer`, into a dense view";
  let assemblyFormat = Exec_CommandFormat<"`from` $peer `on` $communicator ">.format;
  let hasVerifier = 1;
}

#endif // DTCC_DIALECTS_EXEC_COMMANDOPS
