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
  let summary = "calls a generated kernel: an exec.func, or the llvm.func generated from it";
  let description = [{
    `accumulates` says for each output whether the kernel adds to it in some slot. If absent, the kernel adds to none.

    Made by exec-bufferize. Consumed by `compiler/emit`, which writes the op as a row of the image. None is left
    after the image is written.
  }];
  let assemblyFormat = Exec_CommandFormat<"$function ">.format;
  let hasVerifier = 1;
  let extraClassDefinition = [{ bool $cppClass::readsOut(unsigned index) { return getAccumulates() && (*getAccumulates())[index]; } }];
}

def Exec_LibraryOp : Exec_CommandOp<"library", (ins StrAttr:$op, ArrayAttr:$parameters,
      Variadic<AnyStaticShapeMemRef>:$workspace, UnitAttr:$updates,
      DefaultValuedAttr<F64Attr, "0.0">:$flops, UnitAttr:$predicated), ["readsOut", "getScratch", "streams"]> {
  let summary = "an op of the runtime, by its mnemonic in runtime/abi/LibraryOps.def";
  let description = [{
    `parameters` are the attributes of the op in the order of LibraryOps.def: i64, f64, a symbol for the index of a
    communicator or bucket, unit for -1 (none). With `updates` the op also reads its outputs. With `predicated` the
    last input is no operand of the op but an i32, and the command runs if that is not 0.
    ```mlir
    exec.library "matmul" ins(%x, %w : ...) outs(%y : ...) workspace(%s : ...) [2, 0]
    ```

    Made by exec-bufferize. Consumed by `compiler/emit`, which writes the op as a row of the image. None is left
    after the image is written.
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
                                                          OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$experts,
                                                          OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$room)> {
  let summary = "a collective on dense views; `reduction` has no meaning for kinds that do not reduce";
  let description = [{
    With `slot` the collective runs in this slot alone; its event exists in all slots. With `ofParameters` it reduces
    or gathers a bucket, and may use a communicator of its own (exec-separate-parameters). `dispatch_rows` and
    `combine_rows` read rows and the selected experts; `experts` is the number of experts of a member. Their further
    outputs are buffers of the exchange: received rows (combine_rows), rows to send (on GPUs), and lists of integers.
    With `room` the rows of picks lie packed on one side, at most so many.

    Made by exec-bufferize. Consumed by `compiler/emit`, which writes the op as a row of the image. None is left
    after the image is written.
  }];
  let assemblyFormat = Exec_CommandFormat<"custom<CollectiveKind>($kind) custom<Reduction>($reduction) `on` $communicator (`slot` $slot^)? (`experts` $experts^)? (`room` $room^)? ">.format;
  let hasVerifier = 1;
}

def Exec_CopyOp : Exec_CommandOp<"copy", (ins)> {
  let summary = "copies a view to another of the same shape and element type; any strides";
  let description = [{
    Made by exec-bufferize and exec-offload-values. Consumed by `compiler/emit`, which writes the op as a row of the
    image. None is left after the image is written.
  }];
  let assemblyFormat = Exec_CommandFormat<"">.format;
  let hasVerifier = 1;
}

def Exec_FillOp : Exec_CommandOp<"fill", (ins TypedAttrInterface:$value)> {
  let summary = "writes one value to every element of a view";
  let description = [{
    Made by exec-bufferize. Consumed by `compiler/emit`, which writes the op as a row of the image. None is left
    after the image is written.
  }];
  let assemblyFormat = Exec_CommandFormat<"$value ">.format;
  let hasVerifier = 1;
}

def Exec_SendOp : Exec_ExchangeOp<"send", (ins FlatSymbolRefAttr:$communicator, ConfinedAttr<I64Attr, [IntNonNegative]>:$peer,
      DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$room)> {
  let summary = "sends a dense view to member `peer` without waiting for the receiver";
  let description = [{
    Messages between two members arrive in the order in which they were sent. The command waits only while as many are
    in flight as all sends to that member have `room` for together.

    Made by exec-bufferize. Consumed by `compiler/emit`, which writes the op as a row of the image. None is left
    after the image is written.
  }];
  let assemblyFormat = Exec_CommandFormat<"`to` $peer `on` $communicator (`room` $room^)? ">.format;
  let hasVerifier = 1;
}

def Exec_ReceiveOp : Exec_ExchangeOp<"receive", (ins FlatSymbolRefAttr:$communicator, ConfinedAttr<I64Attr, [IntNonNegative]>:$peer)> {
  let summary = "waits for the next message of member `peer`, into a dense view";
  let description = [{
    Made by exec-bufferize. Consumed by `compiler/emit`, which writes the op as a row of the image. None is left
    after the image is written.
  }];
  let assemblyFormat = Exec_CommandFormat<"`from` $peer `on` $communicator ">.format;
  let hasVerifier = 1;
}

#endif // DTCC_DIALECTS_EXEC_COMMANDOPS
