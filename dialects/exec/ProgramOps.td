//===- ProgramOps.td - A rank's program: memory, groups, phases -*- tablegen -*-===//
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DTCC_DIALECTS_EXEC_PROGRAMOPS
#define DTCC_DIALECTS_EXEC_PROGRAMOPS

include "dialects/exec/Exec.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"

/// As programs of the sharding level have it. By its class, since enumerations of an included dialect would be defined again.
def Exec_RunsAttr : Attr<CPred<"::llvm::isa<::dtcc::spmd::RunsAttr>($_self)">, "runs of phases (#spmd.runs)"> {
  let storageType = "::dtcc::spmd::RunsAttr";
  let returnType = "::dtcc::spmd::RunsAttr";
  let convertFromStorage = "$_self";
}

def Exec_ProgramOp : Exec_Op<"program", [Symbol, SymbolTable, IsolatedFromAbove, NoTerminator, SingleBlock]> {
  let summary = "the step of one rank; all ranks, or those of a stage, share one program";
  let description = [{
    A program holds, in this order, communicators, arenas, buffers, views of inputs and
    scalars, and phases. A step runs the phases in order, or in the order of `actions` (a phase
    and a slot each). `mesh` names the mesh whose axes number the ranks and the micro-batches.
    `optimizer` is the optimizer of the update, from which the host reads the learning rate and
    the weight decay of each parameter. With `stage` s over an axis, the program is that of the
    ranks whose coordinate in that axis is s.

    Made by exec-bufferize. Consumed by all passes of the exec level, and by `compiler/emit`, which writes the
    image. None is left after the image is written.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$mesh, OptionalAttr<I64Attr>:$stage,
                       OptionalAttr<StrAttr>:$axis, OptionalAttr<Exec_RunsAttr>:$actions,
                       OptionalAttr<AnyAttr>:$optimizer);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `mesh` $mesh (`stage` $stage^ `over` $axis)? (`actions` $actions^)? attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
}

class Exec_ProgramPart<string mnemonic, list<Trait> traits = []>
    : Exec_Op<mnemonic, !listconcat([HasParent<"ProgramOp">], traits)>;

def Exec_CommunicatorOp : Exec_ProgramPart<"communicator", [Symbol]> {
  let summary = "the ranks that differ only in `axes`; a rank's index is the linear index of these, outermost first";
  let description = [{
    With `members`, only these coordinates of the outermost axis take part. A communicator with `ofParameters` serves
    only collectives that reduce or gather buckets; the same ranks have a second communicator for all others.
    ```mlir
    exec.communicator @over.dp over ["dp"]
    exec.communicator @over.dp.parameters over ["dp"] {ofParameters}
    exec.communicator @over.pp.0.3 over ["pp"] members [0, 3]
    ```

    Made by exec-bufferize; exec-separate-parameters adds those of parameters. Consumed by `compiler/emit`, which
    writes the op as a row of the image. None is left after the image is written.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$axes, OptionalAttr<DenseI64ArrayAttr>:$members,
                       UnitAttr:$ofParameters);
  let assemblyFormat = "$sym_name `over` $axes (`members` $members^)? attr-dict";
}

def Exec_ArenaOp : Exec_ProgramPart<"arena", [Symbol]> {
  let summary = "one block of memory, allocated before the first step; `bytes` is 0 until planned";
  let description = [{
    The memory is that of the device that runs the commands. With `host` it is locked host memory that the device can
    access; only commands that stream (runtime/abi/LibraryOps.def) use it, namely updates, once a step.
    ```mlir
    exec.arena @state : 65536
    exec.arena @host : 131072 host
    ```

    Made by exec-bufferize, exec-offload-values and exec-reserve-workspace; exec-plan-arena sets `bytes`. Consumed
    by `compiler/emit`, which writes the op as a row of the image. None is left after the image is written.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, ConfinedAttr<I64Attr, [IntNonNegative]>:$bytes, UnitAttr:$host);
  let assemblyFormat = "$sym_name `:` $bytes (`host` $host^)? attr-dict";
}

def Exec_BufferOp : Exec_ProgramPart<"buffer", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "`bytes` of an arena, at `offset` once planned";
  let description = [{
    A buffer in a planned arena shares its bytes with buffers whose live ranges do not overlap.
    A `persistent` buffer keeps its content across steps, or is written by the host, and shares
    no bytes. `bucket` names the bucket of state that the buffer stores.
    ```mlir
    exec.buffer @x : 4096 in @activations at 64
    exec.buffer @params.0 : 65536 in @state at 0 persistent {bucket = @params.0}
    ```

    Made by exec-bufferize, exec-offload-values and exec-reserve-workspace; exec-plan-arena sets `offset`. Consumed
    by `compiler/emit`, which writes the op as a row of the image. None is left after the image is written.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, ConfinedAttr<I64Attr, [IntNonNegative]>:$bytes,
                       FlatSymbolRefAttr:$arena, OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$offset,
                       UnitAttr:$persistent, OptionalAttr<FlatSymbolRefAttr>:$bucket);
  let assemblyFormat = "$sym_name `:` $bytes `in` $arena (`at` $offset^)? (`persistent` $persistent^)? attr-dict";
}

def Exec_SlotOrderOp : Exec_ProgramPart<"slot_order", [Symbol]> {
  let summary = "the slot of memory of each micro-batch, in a buffer that several virtual stages share";
  let description = [{
    A view `by` this order has micro-batch s in slot `order[s]` of its buffer. Each virtual stage has an order of its
    own, in which no two values lie in one slot at a time.
    ```mlir
    exec.slot_order @order.1 [2, 3, 2, 3]
    ```

    Made by exec-assign-slots. Consumed by `compiler/emit`, which writes the orders as a section of the image. None is
    left after the image is written.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DenseI64ArrayAttr:$order);
  let assemblyFormat = "$sym_name $order attr-dict";
  let hasVerifier = 1;
}

def Exec_ViewOp : Exec_Op<"view", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a typed strided view of a buffer";
  let description = [{
    The view starts `offset + slot * slot_stride` bytes into the buffer; its type has the
    strides. With `mod n` the buffer has memory for n slots, and slot stands for slot mod n; with `by @order` it stands
    for the slot that the `exec.slot_order` gives the micro-batch.
    With `block d of @c` the view is the block of this rank: it starts index * size(d) *
    stride(d) elements later, where index is the rank's index in `@c`.
    ```mlir
    %x = exec.view @x[128] : memref<4x8xf32, strided<[16, 1]>>
    %ids = exec.view @ids[0 + slot * 512] : memref<64xi64>
    %saved = exec.view @saved[0 + slot * 512 mod 2] : memref<64xi64>
    %shared = exec.view @shared[0 + slot * 512 by @order.1] : memref<64xi64>
    %share = exec.view @params.0[0] block 0 of @dp : memref<8192xf32>
    ```

    Made by exec-bufferize and exec-offload-values; exec-assign-slots and exec-fold-dimensions rewrite views.
    Consumed by `compiler/emit`, which writes the op as a row of the image. None is left after the image is written.
  }];
  let arguments = (ins FlatSymbolRefAttr:$buffer, ConfinedAttr<I64Attr, [IntNonNegative]>:$offset,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$slot_stride,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$slots,
                       OptionalAttr<FlatSymbolRefAttr>:$slot_order,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$block_dim,
                       OptionalAttr<FlatSymbolRefAttr>:$block_of);
  let results = (outs AnyStaticShapeMemRef:$view);
  let assemblyFormat = [{
    $buffer `[` $offset (`+` `slot` `*` $slot_stride^)? (`mod` $slots^)? (`by` $slot_order^)? `]`
    (`block` $block_dim^ `of` $block_of)? attr-dict `:` type($view)
  }];
  let hasVerifier = 1;
}

def Exec_InputRole : I32EnumAttr<"InputRole", "what the host fills a model input with", [
    I32EnumAttrCase<"data", 0>, I32EnumAttrCase<"tokens", 1>, I32EnumAttrCase<"labels", 2>,
    I32EnumAttrCase<"documents", 3>, I32EnumAttrCase<"positions", 4>]> {
  let cppNamespace = "::dtcc::exec";
}
def Exec_InputOp : Exec_ProgramPart<"input"> {
  let summary = "a model input: the host writes this rank's shard of each micro-batch into the view";
  let description = [{
    `sizes` and `padded` are those of the whole tensor of a step. `axes` holds the mesh axes of
    each dimension, time axes included. `bounds` is [lower, upper, ignore] of an integer input.
    A model input that the step does not read has no view.

    Made by exec-bufferize. Consumed by `compiler/emit`, which writes the op as a row of the image. None is left
    after the image is written.
  }];
  let arguments = (ins StrAttr:$name, Exec_InputRole:$role, Optional<AnyStaticShapeMemRef>:$view,
                       DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$padded, ArrayAttr:$axes,
                       OptionalAttr<DenseI64ArrayAttr>:$bounds);
  let assemblyFormat = "$name $role ($view^ `:` type($view))? attr-dict";
  let hasVerifier = 1;
}

def Exec_ScalarKind : I32EnumAttr<"ScalarKind", "a scalar that the host writes before or reads after a step", [
    I32EnumAttrCase<"loss_sum", 0>, I32EnumAttrCase<"loss_count", 1>, I32EnumAttrCase<"grad_norm", 2>,
    I32EnumAttrCase<"lr", 3>, I32EnumAttrCase<"step", 4>, I32EnumAttrCase<"loss_scale", 5>,
    I32EnumAttrCase<"skipped", 6>, I32EnumAttrCase<"prediction", 7>]> {
  let cppNamespace = "::dtcc::exec";
}
def Exec_ScalarOp : Exec_ProgramPart<"scalar"> {
  let summary = "the memory of one of the scalars of dtcc_scalar";
  let description = [{
    Made by exec-bufferize. Consumed by `compiler/emit`, which writes the op as a row of the image. None is left
    after the image is written.
  }];
  let arguments = (ins Exec_ScalarKind:$kind, AnyStaticShapeMemRef:$view);
  let assemblyFormat = "$kind $view attr-dict `:` type($view)";
}

def Exec_PhaseOp : Exec_ProgramPart<"phase", [Symbol, NoTerminator, SingleBlock]> {
  let summary = "commands in order, run for slots 0 .. repeat - 1";
  let description = [{
    Made by exec-bufferize. Consumed by `compiler/emit`, which writes the op as a row of the image. None is left
    after the image is written.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$repeat);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name (`repeat` $repeat^)? attr-dict-with-keyword $body";
}

#endif // DTCC_DIALECTS_EXEC_PROGRAMOPS
