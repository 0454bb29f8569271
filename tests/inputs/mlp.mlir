// A classifier with one hidden layer on two data-parallel ranks and two micro-batches,
// as spmd-lower-to-program leaves it: the input of the tests of the exec level.
spmd.mesh @mesh [#spmd.axis<"mb", 2, time>, #spmd.axis<"dp", 2, rank>]
graph.state @w1 : tensor<4x16xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w1",
    saved_shape = array<i64: 4, 16>, init = #graph.init<normal, 0.0, 0.5>, spmd.layout = !spmd.tensor<4x16xf32, @mesh, [{}, {}]>,
    spmd.bucket = @params.0, spmd.offset = 0 : i64}
graph.state @b1 : tensor<16xf32> {role = #graph<role parameter>, trainable = true, decay = false, saved_name = "b1",
    saved_shape = array<i64: 16>, init = #graph.init<zero>, spmd.layout = !spmd.tensor<16xf32, @mesh, [{}]>,
    spmd.bucket = @params.0, spmd.offset = 64 : i64}
graph.state @w2 : tensor<16x3xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w2",
    saved_shape = array<i64: 16, 3>, init = #graph.init<normal, 0.0, 0.5>, spmd.layout = !spmd.tensor<16x3xf32, @mesh, [{}, {}]>,
    spmd.bucket = @params.0, spmd.offset = 80 : i64}
graph.state @b2 : tensor<3xf32> {role = #graph<role parameter>, trainable = true, decay = false, saved_name = "b2",
    saved_shape = array<i64: 3>, value = dense<[0.125, 0.0, -0.125]> : tensor<3xf32>, spmd.layout = !spmd.tensor<3xf32, @mesh, [{}]>,
    spmd.bucket = @params.0, spmd.offset = 128 : i64}
spmd.bucket parameter @params.0 : 160 x f32
spmd.bucket gradient @grads.0 : 160 x f32 of @params.0
spmd.bucket slot @slots.0.0 : 160 x f32 of @params.0 slot 0 flat ["dp"]
spmd.bucket slot @slots.0.1 : 160 x f32 of @params.0 slot 1 flat ["dp"]
spmd.bucket scalar @scalars : 16 x f32
spmd.program @step mesh @mesh {
  spmd.phase @microbatch repeat 2 {
    %x = spmd.input "x" of !spmd.tensor<8x4xf32, @mesh, [{mb,dp}, {}]> {role = "data"} : tensor<2x4xf32>
    %labels = spmd.input "labels" of !spmd.tensor<8xi64, @mesh, [{mb,dp}]> {role = "labels", bounds = array<i64: 0, 3, -100>} : tensor<2xi64>
    %w1 = spmd.view @params.0[0] : tensor<4x16xf32>
    %b1 = spmd.view @params.0[64] : tensor<16xf32>
    %w2 = spmd.view @params.0[80] : tensor<16x3xf32>
    %b2 = spmd.view @params.0[128] : tensor<3xf32>
    %p1 = graph.contract "bi,ih->bh" %x, %w1 : (tensor<2x4xf32>, tensor<4x16xf32>) -> tensor<2x16xf32>
    %b1b = graph.broadcast %b1 [1] : (tensor<16xf32>) -> tensor<2x16xf32>
    %s1 = graph.add %p1, %b1b : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x16xf32>
    %h = graph.relu %s1 : tensor<2x16xf32>
    %p2 = graph.contract "bh,hc->bc" %h, %w2 : (tensor<2x16xf32>, tensor<16x3xf32>) -> tensor<2x3xf32>
    %b2b = graph.broadcast %b2 [1] : (tensor<3xf32>) -> tensor<2x3xf32>
    %logits = graph.add %p2, %b2b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %sum, %count, %lse = graph.cross_entropy %logits, %labels {ignore_index = -100 : i64} : (tensor<2x3xf32>, tensor<2xi64>) -> (tensor<f32>, tensor<f32>, tensor<2xf32>)
    spmd.accumulate %sum into @scalars[0] : tensor<f32>
    spmd.accumulate %count into @scalars[1] : tensor<f32>
    %dl = graph.cross_entropy_grad %logits, %labels, %lse {ignore_index = -100 : i64} : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<2x3xf32>
    %db2 = graph.reduce sum %dl [0] : (tensor<2x3xf32>) -> tensor<3xf32>
    spmd.accumulate %db2 into @grads.0[128] : tensor<3xf32>
    %dw2 = graph.contract "bh,bc->hc" %h, %dl : (tensor<2x16xf32>, tensor<2x3xf32>) -> tensor<16x3xf32>
    spmd.accumulate %dw2 into @grads.0[80] : tensor<16x3xf32>
    %dh = graph.contract "bc,hc->bh" %dl, %w2 : (tensor<2x3xf32>, tensor<16x3xf32>) -> tensor<2x16xf32>
    %ds1 = graph.relu_grad %s1, %dh : tensor<2x16xf32>
    %db1 = graph.reduce sum %ds1 [0] : (tensor<2x16xf32>) -> tensor<16xf32>
    spmd.accumulate %db1 into @grads.0[64] : tensor<16xf32>
    %dw1 = graph.contract "bi,bh->ih" %x, %ds1 : (tensor<2x4xf32>, tensor<2x16xf32>) -> tensor<4x16xf32>
    spmd.accumulate %dw1 into @grads.0[0] : tensor<4x16xf32>
  }
  spmd.phase @update {
    %g = spmd.view @grads.0[0] : tensor<160xf32>
    %share = spmd.reduce_scatter sum %g dim 0 over ["dp"] : tensor<160xf32> -> tensor<80xf32>
    %local = spmd.view @scalars[0] : tensor<2xf32>
    %sums = spmd.all_reduce sum %local over ["dp"] : tensor<2xf32>
    %loss, %count = graph.unstack %sums {dim = 0 : i64} : (tensor<2xf32>) -> (tensor<f32>, tensor<f32>)
    %own = spmd.sum_squares %share : (tensor<80xf32>) -> tensor<f32>
    %squares = spmd.all_reduce sum %own over ["dp"] : tensor<f32>
    %norm, %scale = spmd.grad_scale %squares, %count {clip = 1.0} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    spmd.update_bucket @params.0, %share, %scale slots [@slots.0.0, @slots.0.1] flat ["dp"]
        optimizer(#graph.adam<lr = 0.01, beta1 = 0.9, beta2 = 0.999, eps = 1.0e-8, weight_decay = 0.01, decoupled = true>) : tensor<80xf32>, tensor<f32>
    spmd.gather_bucket @params.0 over ["dp"]
    spmd.report loss_sum %loss, count %count, grad_norm %norm : tensor<f32>, tensor<f32>, tensor<f32>
  }
}
