//===- TrainingOps.td - State and its update
//
// Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#ifndef DTCC_DIALECTS_GRAPH_TRAININGOPS
#define DTCC_DIALECTS_GRAPH_TRAININGOPS

include "dialects/graph/GraphAttrs.td"
include "mlir/IR/SymbolInterfaces.td"

def Graph_StateOp : Op<Graph_Dialect, "state", [Symbol]> {
  let summary = "a tensor that lives across steps: a parameter or a buffer";
  let description = [{
    `type` is the factored shape. The state is loaded and saved under `saved_name` and with
    `saved_shape`, by the same row-major bytes. Optimizer state is not a state of this level:
    the optimizer of the update implies it. It starts as zeros, or as `slots`, with one value
    in the saved shape for each slot. `value` is the initial value (dense or a resource), or
    `init` says how to compute one; at least one is given.

    `lr_scale` multiplies the learning rate of the state. If the state decays, `weight_decay` is used instead of the
    optimizer's. With `by_element` the state has the optimizer's rule for tensors that are not matrices.
    ```
    graph.state @wte : tensor<257x66xf32> {role = #graph<role parameter>, trainable = true, decay = true,
        saved_name = "transformer.wte.weight", saved_shape = array<i64: 257, 66>, init = #graph.init<normal, 0.0, 0.02>}
    ```

    Made by the importer; graph-differentiate adds those of a loss scale. Consumed by `compiler/emit`, which writes
    the table of states of the image. None is left after the image is written.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Graph_Tensor>:$type, Graph_StateRoleAttr:$role,
                       BoolAttr:$trainable, BoolAttr:$decay, StrAttr:$saved_name, DenseI64ArrayAttr:$saved_shape,
                       OptionalAttr<ElementsAttr>:$value, OptionalAttr<Graph_InitAttr>:$init,
                       OptionalAttr<TypedArrayAttrBase<ElementsAttr, "values of slots">>:$slots,
                       OptionalAttr<F64Attr>:$lr_scale, OptionalAttr<F64Attr>:$weight_decay, UnitAttr:$by_element);
  let assemblyFormat = "$sym_name `:` $type attr-dict";
  let hasVerifier = 1;
}
def Graph_ReadOp : Op<Graph_Dialect, "read", [MemoryEffects<[MemRead]>, DeclareOpInterfaceMethods<SymbolUserOpInterface>,
                                    DeclareOpInterfaceMethods<StateAccessOpInterface>]> {
  let summary = "the value of a state at the start of the step";
  let description = [{
    Made by the importer; graph-differentiate adds one of a loss scale. Consumed by spmd-lower-to-program, which
    makes `spmd.view` or `spmd.gather_unit`. None is left after spmd-lower-to-program.
  }];
  let arguments = (ins FlatSymbolRefAttr:$state);
  let results = (outs Graph_Tensor:$y);
  let assemblyFormat = "$state attr-dict `:` type($y)";
}
def Graph_WriteOp : Op<Graph_Dialect, "write", [MemoryEffects<[MemWrite]>, DeclareOpInterfaceMethods<SymbolUserOpInterface>,
                                      DeclareOpInterfaceMethods<StateAccessOpInterface>]> {
  let summary = "the value of a buffer at the end of the step (running statistics)";
  let description = [{
    Made by the importer. Consumed by spmd-lower-to-program, which makes `spmd.store`. None is left after
    spmd-lower-to-program.
  }];
  let arguments = (ins FlatSymbolRefAttr:$state, Graph_Tensor:$x);
  let assemblyFormat = "$state `,` $x attr-dict `:` type($x)";
}
def Graph_UpdateOp : Op<Graph_Dialect, "update", [MemoryEffects<[MemRead, MemWrite]>,
                                        DeclareOpInterfaceMethods<SymbolUserOpInterface>,
                                        DeclareOpInterfaceMethods<StateAccessOpInterface>]> {
  let summary = "one optimizer step on all trainable states";
  let description = [{
    `gradients` are those of the *sum* of the loss, one for each state of `states` and in its
    type; the update uses gradient / count. `norm` is the global norm of the gradients of the
    mean, before they are clipped to `clip` as by PyTorch's clip_grad_norm_: times
    min(1, clip / (norm + 1e-6)); 0 turns clipping off. Weight decay is an attribute of the
    states. With `loss_scale` the gradients are scaled by that state, and a step whose norm is
    not finite updates nothing. With `average` d above 0 every state also has an average a over the steps, which is one
    more slot: a = p after the first step, then a = d a + (1 - d) p, with p the updated state. With `early` a state may
    change once its own gradient is complete, which nothing that needs all gradients may then delay: neither `clip` nor
    `loss_scale`. A step whose loss is not finite still updates nothing, but gradients that are not finite may.

    Made by graph-differentiate. Consumed by spmd-lower-to-program, which makes the update phase. None is left after
    spmd-lower-to-program.
  }];
  let arguments = (ins Graph_FloatScalar:$count, Variadic<Graph_FloatTensor>:$gradients,
                       TypedArrayAttrBase<FlatSymbolRefAttr, "states">:$states, AnyAttr:$optimizer,
                       DefaultValuedAttr<F64Attr, "0.0">:$clip, OptionalAttr<Graph_LossScaleAttr>:$loss_scale,
                       DefaultValuedAttr<F64Attr, "0.0">:$average, UnitAttr:$early);
  let results = (outs Graph_FloatScalar:$norm);
  let assemblyFormat = "$count `,` `(` $gradients `)` `to` $states attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // DTCC_DIALECTS_GRAPH_TRAININGOPS
