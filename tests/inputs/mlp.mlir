// A classifier with one hidden layer on two data-parallel ranks and two micro-batches,
// as dist-lower-to-program leaves it: the input of the tests of the exec level.
dist.mesh @mesh [#dist.axis<"mb", 2, time>, #dist.axis<"dp", 2, rank>]
graph.state @w1 : tensor<4x16xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w1",
    saved_shape = array<i64: 4, 16>, init = #graph.init<normal, 0.0, 0.5>, dist.layout = !dist.tensor<4x16xf32, @mesh, [{}, {}]>,
    dist.bucket = @params.0, dist.offset = 0 : i64}
graph.state @b1 : tensor<16xf32> {role = #graph<role parameter>, trainable = true, decay = false, saved_name = "b1",
    saved_shape = array<i64: 16>, init = #graph.init<zero>, dist.layout = !dist.tensor<16xf32, @mesh, [{}]>,
    dist.bucket = @params.0, dist.offset = 64 : i64}
graph.state @w2 : tensor<16x3xf32> {role = #graph<role parameter>, trainable = true, decay = true, saved_name = "w2",
    saved_shape = array<i64: 16, 3>, init = #graph.init<normal, 0.0, 0.5>, dist.layout = !dist.tensor<16x3xf32, @mesh, [{}, {}]>,
    dist.bucket = @params.0, dist.offset = 80 : i64}
graph.state @b2 : tensor<3xf32> {role = #graph<role parameter>, trainable = true, decay = false, saved_name = "b2",
    saved_shape = array<i64: 3>, value = dense<[0.125, 0.0, -0.125]> : tensor<3xf32>, dist.layout = !dist.tensor<3xf32, @mesh, [{}]>,
    dist.bucket = @params.0, dist.offset = 128 : i64}
dist.bucket parameter @params.0 : 160 x f32
dist.bucket gradient @grads.0 : 160 x f32 of @params.0
dist.bucket slot @slots.0.0 : 160 x f32 of @params.0 slot 0 flat ["dp"]
dist.bucket slot @slots.0.1 : 160 x f32 of @params.0 slot 1 flat ["dp"]
dist.bucket scalar @scalars : 16 x f32
dist.program @step mesh @mesh {
  dist.phase @microbatch repeat 2 {
    %x = dist.input "x" of !dist.tensor<8x4xf32, @mesh, [{mb,dp}, {}]> {role = "data"} : tensor<2x4xf32>
    %labels = dist.input "labels" of !dist.tensor<8xi64, @mesh, [{mb,dp}]> {role = "labels", bounds = array<i64: 0, 3, -100>} : tensor<2xi64>
    %w1 = dist.view @params.0[0] : tensor<4x16xf32>
    %b1 = dist.view @params.0[64] : tensor<16xf32>
    %w2 = dist.view @params.0[80] : tensor<16x3xf32>
    %b2 = dist.view @params.0[128] : tensor<3xf32>
    %p1 = graph.contract "bi,ih->bh" %x, %w1 : (tensor<2x4xf32>, tensor<4x16xf32>) -> tensor<2x16xf32>
    %b1b = graph.broadcast %b1 [1] : (tensor<16xf32>) -> tensor<2x16xf32>
    %s1 = graph.add %p1, %b1b : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x16xf32>
    %h = graph.relu %s1 : tensor<2x16xf32>
    %p2 = graph.contract "bh,hc->bc" %h, %w2 : (tensor<2x16xf32>, tensor<16x3xf32>) -> tensor<2x3xf32>
    %b2b = graph.broadcast %b2 [1] : (tensor<3xf32>) -> tensor<2x3xf32>
    %logits = graph.add %p2, %b2b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %sum, %count, %lse = graph.cross_entropy %logits, %labels {ignore_index = -100 : i64} : (tensor<2x3xf32>, tensor<2xi64>) -> (tensor<f32>, tensor<f32>, tensor<2xf32>)
    dist.accumulate %sum into @scalars[0] : tensor<f32>
    dist.accumulate %count into @scalars[1] : tensor<f32>
    %dl = graph.cross_entropy_grad %logits, %labels, %lse {ignore_index = -100 : i64} : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<2x3xf32>
    %db2 = graph.reduce sum %dl [0] : (tensor<2x3xf32>) -> tensor<3xf32>
    dist.accumulate %db2 into @grads.0[128] : tensor<3xf32>
    %dw2 = graph.contract "bh,bc->hc" %h, %dl : (tensor<2x16xf32>, tensor<2x3xf32>) -> tensor<16x3xf32>
    dist.accumulate %dw2 into @grads.0[80] : tensor<16x3xf32>
    %dh = graph.contract "bc,hc->bh" %dl, %w2 : (tensor<2x3xf32>, tensor<16x3xf32>) -> tensor<2x16xf32>
    %ds1 = graph.relu_grad %s1, %dh : tensor<2x16xf32>
    %db1 = graph.reduce sum %ds1 [0] : (tensor<2x16xf32>) -> tensor<16xf32>
    dist.accumulate %db1 into @grads.0[64] : tensor<16xf32>
    %dw1 = graph.contract "bi,bh->ih" %x, %ds1 : (tensor<2x4xf32>, tensor<2x16xf32>) -> tensor<4x16xf32>
    dist.accumulate %dw1 into @grads.0[0] : tensor<4x16xf32>
  }
  dist.phase @update {
    %g = dist.view @grads.0[0] : tensor<160xf32>
    %share = dist.reduce_scatter sum %g dim 0 over ["dp"] : tensor<160xf32> -> tensor<80xf32>
    %local = dist.view @scalars[0] : tensor<2xf32>
    %sums = dist.all_reduce sum %local over ["dp"] : tensor<2xf32>
    %loss, %count = graph.unstack %sums {dim = 0 : i64} : (tensor<2xf32>) -> (tensor<f32>, tensor<f32>)
    %own = dist.sum_squares %share : (tensor<80xf32>) -> tensor<f32>
    %squares = dist.all_reduce sum %own over ["dp"] : tensor<f32>
    %norm, %scale = dist.grad_scale %squares, %count {clip = 1.0} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    dist.update_bucket @params.0, %share, %scale slots [@slots.0.0, @slots.0.1] flat ["dp"]
        optimizer(#graph.adam<lr = 0.01, beta1 = 0.9, beta2 = 0.999, eps = 1.0e-8, weight_decay = 0.01, decoupled = true>) : tensor<80xf32>, tensor<f32>
    dist.gather_bucket @params.0 over ["dp"]
    dist.report loss_sum %loss, count %count, grad_norm %norm : tensor<f32>, tensor<f32>, tensor<f32>
  }
}
