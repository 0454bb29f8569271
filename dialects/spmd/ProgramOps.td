//===- ProgramOps.td - The program of a rank: storage and phases
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_DIALECTS_SPMD_PROGRAMOPS
#define DTCC_DIALECTS_SPMD_PROGRAMOPS

include "dialects/spmd/Spmd.td"

def Spmd_BucketOp : Spmd_Op<"bucket", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one-dimensional storage of states of one layout, or of their gradients or slots";
  let description = [{
    `length` counts the elements of the whole local bucket, padding included. With `flat`
    axes a rank stores only its shard: the contiguous range
    [i * length / n, (i + 1) * length / n) for its index i of n in these axes. `sharded` names
    the axes that shard the states in the bucket: a sum over all elements of the states must
    also be summed over these axes. States start at multiples of 16 elements, and `length` is a
    multiple of 16 n. Cells between states hold zero from the start, and only updates of whole
    buckets, which keep zeros, write them.

    `of` names the parameter bucket that a gradient or slot bucket belongs to; their cells
    correspond. `slot` numbers the buckets of optimizer state in the order of the optimizer. A
    `transient` bucket holds the gradients of a unit during a micro-batch: it has storage from
    the first `accumulate`, which overwrites in every slot, to `reduce_bucket`. A `compute`
    bucket is the copy in a narrower type that readers see; the parameter bucket then holds the
    masters, which only updates use. A `host` bucket is in host memory that the device can
    access. Masters and optimizer state may be there, because a step reads and writes them
    once. A `factors` bucket holds numbers for rows and columns of the tensors in a parameter bucket, whole on every rank.
    ```
    spmd.bucket parameter @params.0 : 123456 x f32 sharded ["tp"]
    spmd.bucket gradient @grads.0 : 123456 x f32 of @params.0 sharded ["tp"]
    spmd.bucket slot @slots.0.0 : 123456 x f32 of @params.0 slot 0 sharded ["tp"] flat ["dp"]
    spmd.bucket slot @slots.1.0 : 123456 x f32 of @params.1 slot 0 host
    spmd.bucket factors @factors.0 : 752 x f32 of @params.0
    spmd.bucket transient @work.0 : 123456 x f32 of @params.0 sharded ["tp"]
    spmd.bucket compute @compute.0 : 123456 x bf16 of @params.0 sharded ["tp"]
    spmd.bucket scalar @scalars : 16 x f32
    ```

    Made by spmd-lower-to-program. Consumed by `compiler/emit`, which writes the table of buckets of the image. None
    is left after the image is written.
  }];
  let arguments = (ins Spmd_BucketRoleAttr:$role, SymbolNameAttr:$sym_name, I64Attr:$length, TypeAttr:$element_type,
                       OptionalAttr<FlatSymbolRefAttr>:$of, OptionalAttr<I64Attr>:$slot,
                       DefaultValuedAttr<StrArrayAttr, "{}">:$sharded, DefaultValuedAttr<StrArrayAttr, "{}">:$flat,
                       UnitAttr:$host);
  let assemblyFormat = [{
    $role $sym_name `:` $length `x` $element_type (`of` $of^)? (`slot` $slot^)? (`sharded` $sharded^)? (`flat` $flat^)?
    (`host` $host^)? attr-dict
  }];
  let hasVerifier = 1;
}
def Spmd_ProgramOp : Spmd_Op<"program", [Symbol, NoTerminator, SingleBlock, IsolatedFromAbove,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one training step, as every rank runs it, or every rank of a stage";
  let description = [{
    A program holds phases, which run in order. Values are local tensors; a phase yields
    the values that later phases read. The program is the same on every rank: an op that needs
    to know its shard has axes (`row_axes`, `class_axes`, `offset_axes`), never the number of a
    rank.

    A pipeline has a program for each stage: `stage` s over an axis is the program of the ranks
    whose coordinate in that axis is s. `actions` lists what these ranks run: a phase and a
    micro-batch each. The values that a repeated phase yields are kept for the phases that run
    the same micro-batch.
    ```
    spmd.program @step.0 mesh @mesh stage 0 over "pp" actions [forward 0, backward 0, update 0] { ... }
    ```

    Made by spmd-lower-to-program. Consumed by exec-bufferize, which makes an `exec.program`. None is left after
    exec-bufferize.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$mesh, OptionalAttr<I64Attr>:$stage,
                       OptionalAttr<StrAttr>:$axis, OptionalAttr<Spmd_RunsAttr>:$actions);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `mesh` $mesh (`stage` $stage^ `over` $axis)? (`actions` $actions^)? attr-dict-with-keyword $body
  }];
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::llvm::StringRef":$mesh), [{
    build($_builder, $_state, $_builder.getStringAttr(name),
          ::mlir::FlatSymbolRefAttr::get($_builder.getContext(), mesh), ::mlir::IntegerAttr(), ::mlir::StringAttr(),
          RunsAttr());
  }]>];
  let hasRegionVerifier = 1;
}
def Spmd_PhaseOp : Spmd_Op<"phase", [HasParent<"ProgramOp">, SingleBlockImplicitTerminator<"YieldOp">,
    RecursiveMemoryEffects]> {
  let summary = "a part of the step that runs once, or once a micro-batch";
  let description = [{
    With `repeat` n the phase runs n times, as slots 0 to n - 1, which are the coordinates of
    the time axis. A repeated phase yields nothing, or, in a program with actions, values that
    phases of the same slot read. Values that outlive a slot are accumulated in buckets.
    ```
    %mask = spmd.phase @prologue { ... spmd.yield %m : tensor<..> } : tensor<..>
    spmd.phase @microbatch repeat 2 { ... }
    ```

    Made by spmd-lower-to-program. Consumed by exec-bufferize, which makes an `exec.phase`. None is left after
    exec-bufferize.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DefaultValuedAttr<I64Attr, "1">:$repeat);
  let results = (outs Variadic<Spmd_Local>:$values);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name (`repeat` $repeat^)? attr-dict-with-keyword $body (`:` type($values)^)?";
  let hasRegionVerifier = 1;
}
def Spmd_YieldOp : Spmd_Op<"yield", [Pure, Terminator, ReturnLike, HasParent<"PhaseOp">]> {
  let summary = "ends a phase with the values that later phases read";
  let description = [{
    Made by spmd-lower-to-program. Consumed by exec-bufferize. None is left after exec-bufferize.
  }];
  let arguments = (ins Variadic<Spmd_Local>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{ (void)$_builder; }]>];
}

def Spmd_InputOp : Spmd_Op<"input", [MemoryEffects<[MemRead]>]> {
  let summary = "this rank's shard of a model input, for the micro-batch of the slot";
  let description = [{
    `layout` describes the whole input, from which the loader cuts the shard. Without the time axis in it, every slot
    has the samples of all micro-batches; the same input may be read in both layouts. `role` is one of
    `exec.input`'s. `bounds`, if given, are the lower and the upper bound and the legal
    value outside of them (see runtime/abi/dtcc_rt.h).

    Made by spmd-lower-to-program. Consumed by exec-bufferize, which makes an `exec.input`. None is left after
    exec-bufferize.
  }];
  let arguments = (ins StrAttr:$name, TypeAttrOf<Spmd_TensorType>:$layout, OptionalAttr<StrAttr>:$role,
                       OptionalAttr<DenseI64ArrayAttr>:$bounds);
  let results = (outs Spmd_Local:$y);
  let assemblyFormat = "$name `of` $layout attr-dict `:` type($y)";
}

class Spmd_BucketUser<string mnemonic, list<Trait> traits = []> : Spmd_Op<mnemonic, !listconcat([
    DeclareOpInterfaceMethods<SymbolUserOpInterface>], traits)>;

/// Members of a group reduce or gather what they store of a bucket.
class Spmd_BucketExchange<string mnemonic> : Spmd_BucketUser<mnemonic, [
    MemoryEffects<[MemRead, MemWrite]>,
    DeclareOpInterfaceMethods<CommunicationOpInterface, ["describeContent"]>]>;

def Spmd_ViewOp : Spmd_BucketUser<"view", [MemoryEffects<[MemRead]>]> {
  let summary = "a range of a bucket as a tensor: storage, no copy";
  let description = [{
    The offset is in elements from the start of what this rank stores of the bucket;
    the range is dense in row-major order.
    `%w = spmd.view @params.0[1024] : tensor<768x3x6x64xf32>`

    Made by spmd-lower-to-program. Consumed by exec-bufferize. None is left after exec-bufferize.
  }];
  let arguments = (ins FlatSymbolRefAttr:$bucket, I64Attr:$offset);
  let results = (outs Spmd_Local:$y);
  let assemblyFormat = "$bucket `[` $offset `]` attr-dict `:` type($y)";
}
def Spmd_AccumulateOp : Spmd_BucketUser<"accumulate", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "adds a value to a range of a bucket; slot 0 overwrites (every slot, in a transient bucket), later slots add";
  let description = [{
    A value of a wider float type than that of a gradient bucket is rounded to nearest even; a sum is rounded once,
    behind the addition. With `again` slot 0 adds too, because an earlier op accumulates into the same range.
    `spmd.accumulate %dw into @grads.0[1024] : tensor<768x3072xf32>`

    Made by spmd-lower-to-program; exec-split-accumulation makes one for each term of a sum. Consumed by
    exec-bufferize. None is left after exec-bufferize.
  }];
  let arguments = (ins Spmd_Local:$x, FlatSymbolRefAttr:$bucket, I64Attr:$offset, UnitAttr:$again);
  let assemblyFormat = "$x `into` $bucket `[` $offset `]` (`again` $again^)? attr-dict `:` type($x)";
}
def Spmd_StoreOp : Spmd_BucketUser<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "overwrites a range of a bucket: a state without gradient, such as running statistics";
  let description = [{
    The op writes in every slot, and later slots read what earlier slots stored.
    `spmd.store %mean into @buffers.1[16] : tensor<8xf32>`

    Made by spmd-lower-to-program, for `graph.write`. Consumed by exec-bufferize. None is left after exec-bufferize.
  }];
  let arguments = (ins Spmd_Local:$x, FlatSymbolRefAttr:$bucket, I64Attr:$offset);
  let assemblyFormat = "$x `into` $bucket `[` $offset `]` attr-dict `:` type($x)";
}

#endif // DTCC_DIALECTS_SPMD_PROGRAMOPS
