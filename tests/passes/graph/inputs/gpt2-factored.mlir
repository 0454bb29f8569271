module {
  graph.state @model.lm_head.weight : tensor<257x66xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.lm_head.weight", saved_shape = array<i64: 257, 66>, trainable = true}
  graph.state @model.transformer.wpe.weight : tensor<64x66xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.transformer.wpe.weight", saved_shape = array<i64: 64, 66>, trainable = true}
  graph.state @model.transformer.h.0.ln_1.weight : tensor<66xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.transformer.h.0.ln_1.weight", saved_shape = array<i64: 66>, trainable = true}
  graph.state @model.transformer.h.0.ln_1.bias : tensor<66xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.transformer.h.0.ln_1.bias", saved_shape = array<i64: 66>, trainable = true}
  graph.state @model.transformer.h.0.attn.c_attn.weight : tensor<66x3x6x11xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.transformer.h.0.attn.c_attn.weight", saved_shape = array<i64: 66, 198>, trainable = true}
  graph.state @model.transformer.h.0.attn.c_attn.bias : tensor<3x6x11xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.transformer.h.0.attn.c_attn.bias", saved_shape = array<i64: 198>, trainable = true}
  graph.state @model.transformer.h.0.attn.c_proj.weight : tensor<6x11x66xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.transformer.h.0.attn.c_proj.weight", saved_shape = array<i64: 66, 66>, trainable = true}
  graph.state @model.transformer.h.0.attn.c_proj.bias : tensor<66xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.transformer.h.0.attn.c_proj.bias", saved_shape = array<i64: 66>, trainable = true}
  graph.state @model.transformer.h.0.ln_2.weight : tensor<66xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.transformer.h.0.ln_2.weight", saved_shape = array<i64: 66>, trainable = true}
  graph.state @model.transformer.h.0.ln_2.bias : tensor<66xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.transformer.h.0.ln_2.bias", saved_shape = array<i64: 66>, trainable = true}
  graph.state @model.transformer.h.0.mlp.c_fc.weight : tensor<66x264xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.transformer.h.0.mlp.c_fc.weight", saved_shape = array<i64: 66, 264>, trainable = true}
  graph.state @model.transformer.h.0.mlp.c_fc.bias : tensor<264xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.transformer.h.0.mlp.c_fc.bias", saved_shape = array<i64: 264>, trainable = true}
  graph.state @model.transformer.h.0.mlp.c_proj.weight : tensor<264x66xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.transformer.h.0.mlp.c_proj.weight", saved_shape = array<i64: 264, 66>, trainable = true}
  graph.state @model.transformer.h.0.mlp.c_proj.bias : tensor<66xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.transformer.h.0.mlp.c_proj.bias", saved_shape = array<i64: 66>, trainable = true}
  graph.state @model.transformer.h.1.ln_1.weight : tensor<66xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.transformer.h.1.ln_1.weight", saved_shape = array<i64: 66>, trainable = true}
  graph.state @model.transformer.h.1.ln_1.bias : tensor<66xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.transformer.h.1.ln_1.bias", saved_shape = array<i64: 66>, trainable = true}
  graph.state @model.transformer.h.1.attn.c_attn.weight : tensor<66x3x6x11xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.transformer.h.1.attn.c_attn.weight", saved_shape = array<i64: 66, 198>, trainable = true}
  graph.state @model.transformer.h.1.attn.c_attn.bias : tensor<3x6x11xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.transformer.h.1.attn.c_attn.bias", saved_shape = array<i64: 198>, trainable = true}
  graph.state @model.transformer.h.1.attn.c_proj.weight : tensor<6x11x66xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.transformer.h.1.attn.c_proj.weight", saved_shape = array<i64: 66, 66>, trainable = true}
  graph.state @model.transformer.h.1.attn.c_proj.bias : tensor<66xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.transformer.h.1.attn.c_proj.bias", saved_shape = array<i64: 66>, trainable = true}
  graph.state @model.transformer.h.1.ln_2.weight : tensor<66xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.transformer.h.1.ln_2.weight", saved_shape = array<i64: 66>, trainable = true}
  graph.state @model.transformer.h.1.ln_2.bias : tensor<66xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.transformer.h.1.ln_2.bias", saved_shape = array<i64: 66>, trainable = true}
  graph.state @model.transformer.h.1.mlp.c_fc.weight : tensor<66x264xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.transformer.h.1.mlp.c_fc.weight", saved_shape = array<i64: 66, 264>, trainable = true}
  graph.state @model.transformer.h.1.mlp.c_fc.bias : tensor<264xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.transformer.h.1.mlp.c_fc.bias", saved_shape = array<i64: 264>, trainable = true}
  graph.state @model.transformer.h.1.mlp.c_proj.weight : tensor<264x66xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.transformer.h.1.mlp.c_proj.weight", saved_shape = array<i64: 264, 66>, trainable = true}
  graph.state @model.transformer.h.1.mlp.c_proj.bias : tensor<66xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.transformer.h.1.mlp.c_proj.bias", saved_shape = array<i64: 66>, trainable = true}
  graph.state @model.transformer.ln_f.weight : tensor<66xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.transformer.ln_f.weight", saved_shape = array<i64: 66>, trainable = true}
  graph.state @model.transformer.ln_f.bias : tensor<66xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.transformer.ln_f.bias", saved_shape = array<i64: 66>, trainable = true}
  func.func @loss(%arg0: tensor<2x5xi64> {graph.bounds = array<i64: 0, 257, 0>, graph.name = "input_ids", graph.role = "tokens"}, %arg1: tensor<2x5xi64> {graph.bounds = array<i64: 0, 257, -100>, graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
    %0 = graph.constant dense<1.000000e+00> : tensor<f32> : tensor<f32>
    %1 = graph.constant dense<0.797884583> : tensor<f32> : tensor<f32>
    %2 = graph.constant dense<4.471500e-02> : tensor<f32> : tensor<f32>
    %3 = graph.constant dense<3.000000e+00> : tensor<f32> : tensor<f32>
    %4 = graph.constant dense<5.000000e-01> : tensor<f32> : tensor<f32>
    %5 = graph.constant dense<-3.40282347E+38> : tensor<f32> : tensor<f32>
    %6 = graph.constant dense<0.000000e+00> : tensor<f32> : tensor<f32>
    %7 = graph.constant dense<0.549100518> : tensor<f32> : tensor<f32>
    %8 = graph.read @model.lm_head.weight : tensor<257x66xf32>
    %9 = graph.embedding %8, %arg0 : (tensor<257x66xf32>, tensor<2x5xi64>) -> tensor<2x5x66xf32>
    %10 = graph.read @model.transformer.wpe.weight : tensor<64x66xf32>
    %11 = graph.iota {dim = 0 : i64} : tensor<5xi64>
    %12 = graph.embedding %10, %11 : (tensor<64x66xf32>, tensor<5xi64>) -> tensor<5x66xf32>
    %13 = graph.broadcast %12 [1, 2] : (tensor<5x66xf32>) -> tensor<2x5x66xf32>
    %14 = graph.add %9, %13 : (tensor<2x5x66xf32>, tensor<2x5x66xf32>) -> tensor<2x5x66xf32>
    %15 = graph.iota {dim = 1 : i64} : tensor<5x5xi64>
    %16 = graph.iota {dim = 0 : i64} : tensor<5x5xi64>
    %17 = graph.compare  le %15, %16 : (tensor<5x5xi64>, tensor<5x5xi64>) -> tensor<5x5xi1>
    %18 = graph.broadcast %17 [1, 2] : (tensor<5x5xi1>) -> tensor<2x5x5xi1>
    %19 = graph.read @model.transformer.h.0.ln_1.weight : tensor<66xf32>
    %20 = graph.read @model.transformer.h.0.ln_1.bias : tensor<66xf32>
    %y, %mean, %rstd = graph.layer_norm %14, %19, %20 [2] {eps = 9.9999997473787516E-6 : f64} : (tensor<2x5x66xf32>, tensor<66xf32>, tensor<66xf32>) -> (tensor<2x5x66xf32>, tensor<2x5xf32>, tensor<2x5xf32>)
    %21 = graph.read @model.transformer.h.0.attn.c_attn.weight : tensor<66x3x6x11xf32>
    %22 = graph.read @model.transformer.h.0.attn.c_attn.bias : tensor<3x6x11xf32>
    %23 = graph.contract "abc,cdef->abdef" %y, %21 : (tensor<2x5x66xf32>, tensor<66x3x6x11xf32>) -> tensor<2x5x3x6x11xf32>
    %24 = graph.broadcast %22 [2, 3, 4] : (tensor<3x6x11xf32>) -> tensor<2x5x3x6x11xf32>
    %25 = graph.add %23, %24 : (tensor<2x5x3x6x11xf32>, tensor<2x5x3x6x11xf32>) -> tensor<2x5x3x6x11xf32>
    %26:3 = graph.unstack %25 {dim = 2 : i64} : (tensor<2x5x3x6x11xf32>) -> (tensor<2x5x6x11xf32>, tensor<2x5x6x11xf32>, tensor<2x5x6x11xf32>)
    %27 = graph.transpose %26#0 [0, 2, 1, 3] : (tensor<2x5x6x11xf32>) -> tensor<2x6x5x11xf32>
    %28 = graph.transpose %26#1 [0, 2, 3, 1] : (tensor<2x5x6x11xf32>) -> tensor<2x6x11x5xf32>
    %29 = graph.broadcast %7 [] : (tensor<f32>) -> tensor<2x6x5x11xf32>
    %30 = graph.mul %27, %29 : (tensor<2x6x5x11xf32>, tensor<2x6x5x11xf32>) -> tensor<2x6x5x11xf32>
    %31 = graph.broadcast %7 [] : (tensor<f32>) -> tensor<2x6x11x5xf32>
    %32 = graph.mul %28, %31 : (tensor<2x6x11x5xf32>, tensor<2x6x11x5xf32>) -> tensor<2x6x11x5xf32>
    %33 = graph.broadcast %6 [] : (tensor<f32>) -> tensor<2x5x5xf32>
    %34 = graph.broadcast %5 [] : (tensor<f32>) -> tensor<2x5x5xf32>
    %35 = graph.select %18, %33, %34 : (tensor<2x5x5xi1>, tensor<2x5x5xf32>, tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
    %36 = graph.contract "abcd,abde->abce" %30, %32 : (tensor<2x6x5x11xf32>, tensor<2x6x11x5xf32>) -> tensor<2x6x5x5xf32>
    %37 = graph.broadcast %35 [0, 2, 3] : (tensor<2x5x5xf32>) -> tensor<2x6x5x5xf32>
    %38 = graph.add %36, %37 : (tensor<2x6x5x5xf32>, tensor<2x6x5x5xf32>) -> tensor<2x6x5x5xf32>
    %39 = graph.softmax %38 [3] : tensor<2x6x5x5xf32>
    %40 = graph.is_nan %39 : (tensor<2x6x5x5xf32>) -> tensor<2x6x5x5xi1>
    %41 = graph.broadcast %6 [] : (tensor<f32>) -> tensor<2x6x5x5xf32>
    %42 = graph.select %40, %41, %39 : (tensor<2x6x5x5xi1>, tensor<2x6x5x5xf32>, tensor<2x6x5x5xf32>) -> tensor<2x6x5x5xf32>
    %43 = graph.contract "abcd,adbe->abce" %42, %26#2 : (tensor<2x6x5x5xf32>, tensor<2x5x6x11xf32>) -> tensor<2x6x5x11xf32>
    %44 = graph.read @model.transformer.h.0.attn.c_proj.weight : tensor<6x11x66xf32>
    %45 = graph.read @model.transformer.h.0.attn.c_proj.bias : tensor<66xf32>
    %46 = graph.contract "acbd,cde->abe" %43, %44 : (tensor<2x6x5x11xf32>, tensor<6x11x66xf32>) -> tensor<2x5x66xf32>
    %47 = graph.broadcast %45 [2] : (tensor<66xf32>) -> tensor<2x5x66xf32>
    %48 = graph.add %46, %47 : (tensor<2x5x66xf32>, tensor<2x5x66xf32>) -> tensor<2x5x66xf32>
    %49 = graph.add %48, %14 : (tensor<2x5x66xf32>, tensor<2x5x66xf32>) -> tensor<2x5x66xf32>
    %50 = graph.read @model.transformer.h.0.ln_2.weight : tensor<66xf32>
    %51 = graph.read @model.transformer.h.0.ln_2.bias : tensor<66xf32>
    %y_0, %mean_1, %rstd_2 = graph.layer_norm %49, %50, %51 [2] {eps = 9.9999997473787516E-6 : f64} : (tensor<2x5x66xf32>, tensor<66xf32>, tensor<66xf32>) -> (tensor<2x5x66xf32>, tensor<2x5xf32>, tensor<2x5xf32>)
    %52 = graph.read @model.transformer.h.0.mlp.c_fc.weight : tensor<66x264xf32>
    %53 = graph.read @model.transformer.h.0.mlp.c_fc.bias : tensor<264xf32>
    %54 = graph.contract "abc,cd->abd" %y_0, %52 : (tensor<2x5x66xf32>, tensor<66x264xf32>) -> tensor<2x5x264xf32>
    %55 = graph.broadcast %53 [2] : (tensor<264xf32>) -> tensor<2x5x264xf32>
    %56 = graph.add %54, %55 : (tensor<2x5x264xf32>, tensor<2x5x264xf32>) -> tensor<2x5x264xf32>
    %57 = graph.broadcast %4 [] : (tensor<f32>) -> tensor<2x5x264xf32>
    %58 = graph.mul %56, %57 : (tensor<2x5x264xf32>, tensor<2x5x264xf32>) -> tensor<2x5x264xf32>
    %59 = graph.broadcast %3 [] : (tensor<f32>) -> tensor<2x5x264xf32>
    %60 = graph.pow %56, %59 : (tensor<2x5x264xf32>, tensor<2x5x264xf32>) -> tensor<2x5x264xf32>
    %61 = graph.broadcast %2 [] : (tensor<f32>) -> tensor<2x5x264xf32>
    %62 = graph.mul %60, %61 : (tensor<2x5x264xf32>, tensor<2x5x264xf32>) -> tensor<2x5x264xf32>
    %63 = graph.add %56, %62 : (tensor<2x5x264xf32>, tensor<2x5x264xf32>) -> tensor<2x5x264xf32>
    %64 = graph.broadcast %1 [] : (tensor<f32>) -> tensor<2x5x264xf32>
    %65 = graph.mul %63, %64 : (tensor<2x5x264xf32>, tensor<2x5x264xf32>) -> tensor<2x5x264xf32>
    %66 = graph.tanh %65 : tensor<2x5x264xf32>
    %67 = graph.broadcast %0 [] : (tensor<f32>) -> tensor<2x5x264xf32>
    %68 = graph.add %66, %67 : (tensor<2x5x264xf32>, tensor<2x5x264xf32>) -> tensor<2x5x264xf32>
    %69 = graph.mul %58, %68 : (tensor<2x5x264xf32>, tensor<2x5x264xf32>) -> tensor<2x5x264xf32>
    %70 = graph.read @model.transformer.h.0.mlp.c_proj.weight : tensor<264x66xf32>
    %71 = graph.read @model.transformer.h.0.mlp.c_proj.bias : tensor<66xf32>
    %72 = graph.contract "abc,cd->abd" %69, %70 : (tensor<2x5x264xf32>, tensor<264x66xf32>) -> tensor<2x5x66xf32>
    %73 = graph.broadcast %71 [2] : (tensor<66xf32>) -> tensor<2x5x66xf32>
    %74 = graph.add %72, %73 : (tensor<2x5x66xf32>, tensor<2x5x66xf32>) -> tensor<2x5x66xf32>
    %75 = graph.add %49, %74 : (tensor<2x5x66xf32>, tensor<2x5x66xf32>) -> tensor<2x5x66xf32>
    %76 = graph.read @model.transformer.h.1.ln_1.weight : tensor<66xf32>
    %77 = graph.read @model.transformer.h.1.ln_1.bias : tensor<66xf32>
    %y_3, %mean_4, %rstd_5 = graph.layer_norm %75, %76, %77 [2] {eps = 9.9999997473787516E-6 : f64} : (tensor<2x5x66xf32>, tensor<66xf32>, tensor<66xf32>) -> (tensor<2x5x66xf32>, tensor<2x5xf32>, tensor<2x5xf32>)
    %78 = graph.read @model.transformer.h.1.attn.c_attn.weight : tensor<66x3x6x11xf32>
    %79 = graph.read @model.transformer.h.1.attn.c_attn.bias : tensor<3x6x11xf32>
    %80 = graph.contract "abc,cdef->abdef" %y_3, %78 : (tensor<2x5x66xf32>, tensor<66x3x6x11xf32>) -> tensor<2x5x3x6x11xf32>
    %81 = graph.broadcast %79 [2, 3, 4] : (tensor<3x6x11xf32>) -> tensor<2x5x3x6x11xf32>
    %82 = graph.add %80, %81 : (tensor<2x5x3x6x11xf32>, tensor<2x5x3x6x11xf32>) -> tensor<2x5x3x6x11xf32>
    %83:3 = graph.unstack %82 {dim = 2 : i64} : (tensor<2x5x3x6x11xf32>) -> (tensor<2x5x6x11xf32>, tensor<2x5x6x11xf32>, tensor<2x5x6x11xf32>)
    %84 = graph.transpose %83#0 [0, 2, 1, 3] : (tensor<2x5x6x11xf32>) -> tensor<2x6x5x11xf32>
    %85 = graph.transpose %83#1 [0, 2, 3, 1] : (tensor<2x5x6x11xf32>) -> tensor<2x6x11x5xf32>
    %86 = graph.broadcast %7 [] : (tensor<f32>) -> tensor<2x6x5x11xf32>
    %87 = graph.mul %84, %86 : (tensor<2x6x5x11xf32>, tensor<2x6x5x11xf32>) -> tensor<2x6x5x11xf32>
    %88 = graph.broadcast %7 [] : (tensor<f32>) -> tensor<2x6x11x5xf32>
    %89 = graph.mul %85, %88 : (tensor<2x6x11x5xf32>, tensor<2x6x11x5xf32>) -> tensor<2x6x11x5xf32>
    %90 = graph.contract "abcd,abde->abce" %87, %89 : (tensor<2x6x5x11xf32>, tensor<2x6x11x5xf32>) -> tensor<2x6x5x5xf32>
    %91 = graph.broadcast %35 [0, 2, 3] : (tensor<2x5x5xf32>) -> tensor<2x6x5x5xf32>
    %92 = graph.add %90, %91 : (tensor<2x6x5x5xf32>, tensor<2x6x5x5xf32>) -> tensor<2x6x5x5xf32>
    %93 = graph.softmax %92 [3] : tensor<2x6x5x5xf32>
    %94 = graph.is_nan %93 : (tensor<2x6x5x5xf32>) -> tensor<2x6x5x5xi1>
    %95 = graph.broadcast %6 [] : (tensor<f32>) -> tensor<2x6x5x5xf32>
    %96 = graph.select %94, %95, %93 : (tensor<2x6x5x5xi1>, tensor<2x6x5x5xf32>, tensor<2x6x5x5xf32>) -> tensor<2x6x5x5xf32>
    %97 = graph.contract "abcd,adbe->abce" %96, %83#2 : (tensor<2x6x5x5xf32>, tensor<2x5x6x11xf32>) -> tensor<2x6x5x11xf32>
    %98 = graph.read @model.transformer.h.1.attn.c_proj.weight : tensor<6x11x66xf32>
    %99 = graph.read @model.transformer.h.1.attn.c_proj.bias : tensor<66xf32>
    %100 = graph.contract "acbd,cde->abe" %97, %98 : (tensor<2x6x5x11xf32>, tensor<6x11x66xf32>) -> tensor<2x5x66xf32>
    %101 = graph.broadcast %99 [2] : (tensor<66xf32>) -> tensor<2x5x66xf32>
    %102 = graph.add %100, %101 : (tensor<2x5x66xf32>, tensor<2x5x66xf32>) -> tensor<2x5x66xf32>
    %103 = graph.add %102, %75 : (tensor<2x5x66xf32>, tensor<2x5x66xf32>) -> tensor<2x5x66xf32>
    %104 = graph.read @model.transformer.h.1.ln_2.weight : tensor<66xf32>
    %105 = graph.read @model.transformer.h.1.ln_2.bias : tensor<66xf32>
    %y_6, %mean_7, %rstd_8 = graph.layer_norm %103, %104, %105 [2] {eps = 9.9999997473787516E-6 : f64} : (tensor<2x5x66xf32>, tensor<66xf32>, tensor<66xf32>) -> (tensor<2x5x66xf32>, tensor<2x5xf32>, tensor<2x5xf32>)
    %106 = graph.read @model.transformer.h.1.mlp.c_fc.weight : tensor<66x264xf32>
    %107 = graph.read @model.transformer.h.1.mlp.c_fc.bias : tensor<264xf32>
    %108 = graph.contract "abc,cd->abd" %y_6, %106 : (tensor<2x5x66xf32>, tensor<66x264xf32>) -> tensor<2x5x264xf32>
    %109 = graph.broadcast %107 [2] : (tensor<264xf32>) -> tensor<2x5x264xf32>
    %110 = graph.add %108, %109 : (tensor<2x5x264xf32>, tensor<2x5x264xf32>) -> tensor<2x5x264xf32>
    %111 = graph.broadcast %4 [] : (tensor<f32>) -> tensor<2x5x264xf32>
    %112 = graph.mul %110, %111 : (tensor<2x5x264xf32>, tensor<2x5x264xf32>) -> tensor<2x5x264xf32>
    %113 = graph.broadcast %3 [] : (tensor<f32>) -> tensor<2x5x264xf32>
    %114 = graph.pow %110, %113 : (tensor<2x5x264xf32>, tensor<2x5x264xf32>) -> tensor<2x5x264xf32>
    %115 = graph.broadcast %2 [] : (tensor<f32>) -> tensor<2x5x264xf32>
    %116 = graph.mul %114, %115 : (tensor<2x5x264xf32>, tensor<2x5x264xf32>) -> tensor<2x5x264xf32>
    %117 = graph.add %110, %116 : (tensor<2x5x264xf32>, tensor<2x5x264xf32>) -> tensor<2x5x264xf32>
    %118 = graph.broadcast %1 [] : (tensor<f32>) -> tensor<2x5x264xf32>
    %119 = graph.mul %117, %118 : (tensor<2x5x264xf32>, tensor<2x5x264xf32>) -> tensor<2x5x264xf32>
    %120 = graph.tanh %119 : tensor<2x5x264xf32>
    %121 = graph.broadcast %0 [] : (tensor<f32>) -> tensor<2x5x264xf32>
    %122 = graph.add %120, %121 : (tensor<2x5x264xf32>, tensor<2x5x264xf32>) -> tensor<2x5x264xf32>
    %123 = graph.mul %112, %122 : (tensor<2x5x264xf32>, tensor<2x5x264xf32>) -> tensor<2x5x264xf32>
    %124 = graph.read @model.transformer.h.1.mlp.c_proj.weight : tensor<264x66xf32>
    %125 = graph.read @model.transformer.h.1.mlp.c_proj.bias : tensor<66xf32>
    %126 = graph.contract "abc,cd->abd" %123, %124 : (tensor<2x5x264xf32>, tensor<264x66xf32>) -> tensor<2x5x66xf32>
    %127 = graph.broadcast %125 [2] : (tensor<66xf32>) -> tensor<2x5x66xf32>
    %128 = graph.add %126, %127 : (tensor<2x5x66xf32>, tensor<2x5x66xf32>) -> tensor<2x5x66xf32>
    %129 = graph.add %103, %128 : (tensor<2x5x66xf32>, tensor<2x5x66xf32>) -> tensor<2x5x66xf32>
    %130 = graph.read @model.transformer.ln_f.weight : tensor<66xf32>
    %131 = graph.read @model.transformer.ln_f.bias : tensor<66xf32>
    %y_9, %mean_10, %rstd_11 = graph.layer_norm %129, %130, %131 [2] {eps = 9.9999997473787516E-6 : f64} : (tensor<2x5x66xf32>, tensor<66xf32>, tensor<66xf32>) -> (tensor<2x5x66xf32>, tensor<2x5xf32>, tensor<2x5xf32>)
    %132 = graph.contract "abc,dc->abd" %y_9, %8 : (tensor<2x5x66xf32>, tensor<257x66xf32>) -> tensor<2x5x257xf32>
    %133 = graph.shift %arg1 {amount = 1 : i64, dim = 1 : i64, fill = -100 : i64} : tensor<2x5xi64>
    %sum, %count, %lse = graph.cross_entropy %132, %133 {ignore_index = -100 : i64} : (tensor<2x5x257xf32>, tensor<2x5xi64>) -> (tensor<f32>, tensor<f32>, tensor<2x5xf32>)
    return %sum, %count : tensor<f32>, tensor<f32>
  }
}
