module {
  graph.state @model.model.embed_tokens.weight : tensor<509x84xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.model.embed_tokens.weight", saved_shape = array<i64: 509, 84>, trainable = true}
  graph.state @model.model.layers.0.input_layernorm.weight : tensor<84xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.model.layers.0.input_layernorm.weight", saved_shape = array<i64: 84>, trainable = true}
  graph.state @val_154 : tensor<84x2x3x2x7xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_154", saved_shape = array<i64: 84, 84>, trainable = true}
  graph.state @val_161 : tensor<84x2x2x7xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_161", saved_shape = array<i64: 84, 28>, trainable = true}
  graph.state @val_168 : tensor<84x2x14xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_168", saved_shape = array<i64: 84, 28>, trainable = true}
  graph.state @val_320 : tensor<2x3x14x84xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_320", saved_shape = array<i64: 84, 84>, trainable = true}
  graph.state @model.model.layers.0.post_attention_layernorm.weight : tensor<84xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.model.layers.0.post_attention_layernorm.weight", saved_shape = array<i64: 84>, trainable = true}
  graph.state @val_325 : tensor<84x173xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_325", saved_shape = array<i64: 84, 173>, trainable = true}
  graph.state @val_327 : tensor<84x173xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_327", saved_shape = array<i64: 84, 173>, trainable = true}
  graph.state @val_328 : tensor<173x84xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_328", saved_shape = array<i64: 173, 84>, trainable = true}
  graph.state @model.model.layers.1.input_layernorm.weight : tensor<84xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.model.layers.1.input_layernorm.weight", saved_shape = array<i64: 84>, trainable = true}
  graph.state @val_333 : tensor<84x2x3x2x7xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_333", saved_shape = array<i64: 84, 84>, trainable = true}
  graph.state @val_340 : tensor<84x2x2x7xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_340", saved_shape = array<i64: 84, 28>, trainable = true}
  graph.state @val_347 : tensor<84x2x14xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_347", saved_shape = array<i64: 84, 28>, trainable = true}
  graph.state @val_496 : tensor<2x3x14x84xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_496", saved_shape = array<i64: 84, 84>, trainable = true}
  graph.state @model.model.layers.1.post_attention_layernorm.weight : tensor<84xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.model.layers.1.post_attention_layernorm.weight", saved_shape = array<i64: 84>, trainable = true}
  graph.state @val_501 : tensor<84x173xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_501", saved_shape = array<i64: 84, 173>, trainable = true}
  graph.state @val_503 : tensor<84x173xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_503", saved_shape = array<i64: 84, 173>, trainable = true}
  graph.state @val_504 : tensor<173x84xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_504", saved_shape = array<i64: 173, 84>, trainable = true}
  graph.state @model.model.layers.2.input_layernorm.weight : tensor<84xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.model.layers.2.input_layernorm.weight", saved_shape = array<i64: 84>, trainable = true}
  graph.state @val_509 : tensor<84x2x3x2x7xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_509", saved_shape = array<i64: 84, 84>, trainable = true}
  graph.state @val_516 : tensor<84x2x2x7xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_516", saved_shape = array<i64: 84, 28>, trainable = true}
  graph.state @val_523 : tensor<84x2x14xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_523", saved_shape = array<i64: 84, 28>, trainable = true}
  graph.state @val_672 : tensor<2x3x14x84xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_672", saved_shape = array<i64: 84, 84>, trainable = true}
  graph.state @model.model.layers.2.post_attention_layernorm.weight : tensor<84xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.model.layers.2.post_attention_layernorm.weight", saved_shape = array<i64: 84>, trainable = true}
  graph.state @val_677 : tensor<84x173xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_677", saved_shape = array<i64: 84, 173>, trainable = true}
  graph.state @val_679 : tensor<84x173xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_679", saved_shape = array<i64: 84, 173>, trainable = true}
  graph.state @val_680 : tensor<173x84xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_680", saved_shape = array<i64: 173, 84>, trainable = true}
  graph.state @model.model.norm.weight : tensor<84xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.model.norm.weight", saved_shape = array<i64: 84>, trainable = true}
  graph.state @val_705 : tensor<84x509xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_705", saved_shape = array<i64: 84, 509>, trainable = true}
  func.func @loss(%arg0: tensor<2x5xi64> {graph.bounds = array<i64: 0, 509, 0>, graph.name = "input_ids", graph.role = "tokens"}, %arg1: tensor<2x5xi64> {graph.bounds = array<i64: 0, 509, -100>, graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
    %0 = graph.constant dense<-3.40282347E+38> : tensor<f32> : tensor<f32>
    %1 = graph.constant dense<0.000000e+00> : tensor<f32> : tensor<f32>
    %2 = graph.constant dense<0.516973138> : tensor<f32> : tensor<f32>
    %3 = graph.constant dense<9.99999997E-7> : tensor<f32> : tensor<f32>
    %4 = graph.constant dense<8.400000e+01> : tensor<f32> : tensor<f32>
    %5 = graph.constant dense<2.000000e+00> : tensor<f32> : tensor<f32>
    %6 = graph.constant dense<[1.000000e+00, 0.268269569, 0.0719685555, 0.0193069763, 0.0051794732, 0.00138949521, 3.72759328E-4]> : tensor<7xf32> : tensor<7xf32>
    %7 = graph.read @model.model.embed_tokens.weight : tensor<509x84xf32>
    %8 = graph.embedding %7, %arg0 : (tensor<509x84xf32>, tensor<2x5xi64>) -> tensor<2x5x84xf32>
    %9 = graph.iota {dim = 1 : i64} : tensor<5x5xi64>
    %10 = graph.iota {dim = 0 : i64} : tensor<5x5xi64>
    %11 = graph.compare  le %9, %10 : (tensor<5x5xi64>, tensor<5x5xi64>) -> tensor<5x5xi1>
    %12 = graph.broadcast %11 [1, 2] : (tensor<5x5xi1>) -> tensor<2x5x5xi1>
    %13 = graph.iota {dim = 0 : i64} : tensor<5xi64>
    %14 = graph.cast %13 : (tensor<5xi64>) -> tensor<5xf32>
    %15 = graph.broadcast %14 [0] : (tensor<5xf32>) -> tensor<5x7xf32>
    %16 = graph.broadcast %6 [1] : (tensor<7xf32>) -> tensor<5x7xf32>
    %17 = graph.mul %15, %16 : (tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x7xf32>
    %18 = graph.stack %17, %17 {dim = 1 : i64} : (tensor<5x7xf32>, tensor<5x7xf32>) -> tensor<5x2x7xf32>
    %19 = graph.cos %18 : tensor<5x2x7xf32>
    %20 = graph.sin %18 : tensor<5x2x7xf32>
    %21 = graph.broadcast %5 [] : (tensor<f32>) -> tensor<2x5x84xf32>
    %22 = graph.pow %8, %21 : (tensor<2x5x84xf32>, tensor<2x5x84xf32>) -> tensor<2x5x84xf32>
    %23 = graph.reduce  sum %22 [2] : (tensor<2x5x84xf32>) -> tensor<2x5xf32>
    %24 = graph.broadcast %4 [] : (tensor<f32>) -> tensor<2x5xf32>
    %25 = graph.div %23, %24 : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
    %26 = graph.broadcast %3 [] : (tensor<f32>) -> tensor<2x5xf32>
    %27 = graph.add %25, %26 : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
    %28 = graph.rsqrt %27 : tensor<2x5xf32>
    %29 = graph.broadcast %28 [0, 1] : (tensor<2x5xf32>) -> tensor<2x5x84xf32>
    %30 = graph.mul %8, %29 : (tensor<2x5x84xf32>, tensor<2x5x84xf32>) -> tensor<2x5x84xf32>
    %31 = graph.read @model.model.layers.0.input_layernorm.weight : tensor<84xf32>
    %32 = graph.broadcast %31 [2] : (tensor<84xf32>) -> tensor<2x5x84xf32>
    %33 = graph.mul %32, %30 : (tensor<2x5x84xf32>, tensor<2x5x84xf32>) -> tensor<2x5x84xf32>
    %34 = graph.read @val_154 : tensor<84x2x3x2x7xf32>
    %35 = graph.contract "abc,cdefg->adebfg" %33, %34 : (tensor<2x5x84xf32>, tensor<84x2x3x2x7xf32>) -> tensor<2x2x3x5x2x7xf32>
    %36 = graph.read @val_161 : tensor<84x2x2x7xf32>
    %37 = graph.contract "abc,cdef->adbef" %33, %36 : (tensor<2x5x84xf32>, tensor<84x2x2x7xf32>) -> tensor<2x2x5x2x7xf32>
    %38 = graph.read @val_168 : tensor<84x2x14xf32>
    %39 = graph.contract "abc,cde->adbe" %33, %38 : (tensor<2x5x84xf32>, tensor<84x2x14xf32>) -> tensor<2x2x5x14xf32>
    %40 = graph.broadcast %19 [3, 4, 5] : (tensor<5x2x7xf32>) -> tensor<2x2x3x5x2x7xf32>
    %41 = graph.mul %35, %40 : (tensor<2x2x3x5x2x7xf32>, tensor<2x2x3x5x2x7xf32>) -> tensor<2x2x3x5x2x7xf32>
    %42:2 = graph.unstack %35 {dim = 4 : i64} : (tensor<2x2x3x5x2x7xf32>) -> (tensor<2x2x3x5x7xf32>, tensor<2x2x3x5x7xf32>)
    %43 = graph.neg %42#1 : tensor<2x2x3x5x7xf32>
    %44 = graph.stack %43, %42#0 {dim = 4 : i64} : (tensor<2x2x3x5x7xf32>, tensor<2x2x3x5x7xf32>) -> tensor<2x2x3x5x2x7xf32>
    %45 = graph.broadcast %20 [3, 4, 5] : (tensor<5x2x7xf32>) -> tensor<2x2x3x5x2x7xf32>
    %46 = graph.mul %44, %45 : (tensor<2x2x3x5x2x7xf32>, tensor<2x2x3x5x2x7xf32>) -> tensor<2x2x3x5x2x7xf32>
    %47 = graph.add %41, %46 : (tensor<2x2x3x5x2x7xf32>, tensor<2x2x3x5x2x7xf32>) -> tensor<2x2x3x5x2x7xf32>
    %48 = graph.broadcast %19 [2, 3, 4] : (tensor<5x2x7xf32>) -> tensor<2x2x5x2x7xf32>
    %49 = graph.mul %37, %48 : (tensor<2x2x5x2x7xf32>, tensor<2x2x5x2x7xf32>) -> tensor<2x2x5x2x7xf32>
    %50:2 = graph.unstack %37 {dim = 3 : i64} : (tensor<2x2x5x2x7xf32>) -> (tensor<2x2x5x7xf32>, tensor<2x2x5x7xf32>)
    %51 = graph.neg %50#1 : tensor<2x2x5x7xf32>
    %52 = graph.stack %51, %50#0 {dim = 3 : i64} : (tensor<2x2x5x7xf32>, tensor<2x2x5x7xf32>) -> tensor<2x2x5x2x7xf32>
    %53 = graph.broadcast %20 [2, 3, 4] : (tensor<5x2x7xf32>) -> tensor<2x2x5x2x7xf32>
    %54 = graph.mul %52, %53 : (tensor<2x2x5x2x7xf32>, tensor<2x2x5x2x7xf32>) -> tensor<2x2x5x2x7xf32>
    %55 = graph.add %49, %54 : (tensor<2x2x5x2x7xf32>, tensor<2x2x5x2x7xf32>) -> tensor<2x2x5x2x7xf32>
    %56 = graph.broadcast %39 [0, 1, 3, 4] : (tensor<2x2x5x14xf32>) -> tensor<2x2x3x5x14xf32>
    %57 = graph.transpose %55 [0, 1, 3, 4, 2] : (tensor<2x2x5x2x7xf32>) -> tensor<2x2x2x7x5xf32>
    %58 = graph.broadcast %57 [0, 1, 3, 4, 5] : (tensor<2x2x2x7x5xf32>) -> tensor<2x2x3x2x7x5xf32>
    %59 = graph.broadcast %2 [] : (tensor<f32>) -> tensor<2x2x3x5x2x7xf32>
    %60 = graph.mul %47, %59 : (tensor<2x2x3x5x2x7xf32>, tensor<2x2x3x5x2x7xf32>) -> tensor<2x2x3x5x2x7xf32>
    %61 = graph.broadcast %2 [] : (tensor<f32>) -> tensor<2x2x3x2x7x5xf32>
    %62 = graph.mul %58, %61 : (tensor<2x2x3x2x7x5xf32>, tensor<2x2x3x2x7x5xf32>) -> tensor<2x2x3x2x7x5xf32>
    %63 = graph.broadcast %1 [] : (tensor<f32>) -> tensor<2x5x5xf32>
    %64 = graph.broadcast %0 [] : (tensor<f32>) -> tensor<2x5x5xf32>
    %65 = graph.select %12, %63, %64 : (tensor<2x5x5xi1>, tensor<2x5x5xf32>, tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
    %66 = graph.contract "abcdef,abcefg->abcdg" %60, %62 : (tensor<2x2x3x5x2x7xf32>, tensor<2x2x3x2x7x5xf32>) -> tensor<2x2x3x5x5xf32>
    %67 = graph.broadcast %65 [0, 3, 4] : (tensor<2x5x5xf32>) -> tensor<2x2x3x5x5xf32>
    %68 = graph.add %66, %67 : (tensor<2x2x3x5x5xf32>, tensor<2x2x3x5x5xf32>) -> tensor<2x2x3x5x5xf32>
    %69 = graph.softmax %68 [4] : tensor<2x2x3x5x5xf32>
    %70 = graph.is_nan %69 : (tensor<2x2x3x5x5xf32>) -> tensor<2x2x3x5x5xi1>
    %71 = graph.broadcast %1 [] : (tensor<f32>) -> tensor<2x2x3x5x5xf32>
    %72 = graph.select %70, %71, %69 : (tensor<2x2x3x5x5xi1>, tensor<2x2x3x5x5xf32>, tensor<2x2x3x5x5xf32>) -> tensor<2x2x3x5x5xf32>
    %73 = graph.contract "abcde,abcef->abcdf" %72, %56 : (tensor<2x2x3x5x5xf32>, tensor<2x2x3x5x14xf32>) -> tensor<2x2x3x5x14xf32>
    %74 = graph.read @val_320 : tensor<2x3x14x84xf32>
    %75 = graph.contract "acdbe,cdef->abf" %73, %74 : (tensor<2x2x3x5x14xf32>, tensor<2x3x14x84xf32>) -> tensor<2x5x84xf32>
    %76 = graph.add %8, %75 : (tensor<2x5x84xf32>, tensor<2x5x84xf32>) -> tensor<2x5x84xf32>
    %77 = graph.broadcast %5 [] : (tensor<f32>) -> tensor<2x5x84xf32>
    %78 = graph.pow %76, %77 : (tensor<2x5x84xf32>, tensor<2x5x84xf32>) -> tensor<2x5x84xf32>
    %79 = graph.reduce  sum %78 [2] : (tensor<2x5x84xf32>) -> tensor<2x5xf32>
    %80 = graph.broadcast %4 [] : (tensor<f32>) -> tensor<2x5xf32>
    %81 = graph.div %79, %80 : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
    %82 = graph.broadcast %3 [] : (tensor<f32>) -> tensor<2x5xf32>
    %83 = graph.add %81, %82 : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
    %84 = graph.rsqrt %83 : tensor<2x5xf32>
    %85 = graph.broadcast %84 [0, 1] : (tensor<2x5xf32>) -> tensor<2x5x84xf32>
    %86 = graph.mul %76, %85 : (tensor<2x5x84xf32>, tensor<2x5x84xf32>) -> tensor<2x5x84xf32>
    %87 = graph.read @model.model.layers.0.post_attention_layernorm.weight : tensor<84xf32>
    %88 = graph.broadcast %87 [2] : (tensor<84xf32>) -> tensor<2x5x84xf32>
    %89 = graph.mul %88, %86 : (tensor<2x5x84xf32>, tensor<2x5x84xf32>) -> tensor<2x5x84xf32>
    %90 = graph.read @val_325 : tensor<84x173xf32>
    %91 = graph.contract "abc,cd->abd" %89, %90 : (tensor<2x5x84xf32>, tensor<84x173xf32>) -> tensor<2x5x173xf32>
    %92 = graph.logistic %91 : tensor<2x5x173xf32>
    %93 = graph.mul %91, %92 : (tensor<2x5x173xf32>, tensor<2x5x173xf32>) -> tensor<2x5x173xf32>
    %94 = graph.read @val_327 : tensor<84x173xf32>
    %95 = graph.contract "abc,cd->abd" %89, %94 : (tensor<2x5x84xf32>, tensor<84x173xf32>) -> tensor<2x5x173xf32>
    %96 = graph.mul %93, %95 : (tensor<2x5x173xf32>, tensor<2x5x173xf32>) -> tensor<2x5x173xf32>
    %97 = graph.read @val_328 : tensor<173x84xf32>
    %98 = graph.contract "abc,cd->abd" %96, %97 : (tensor<2x5x173xf32>, tensor<173x84xf32>) -> tensor<2x5x84xf32>
    %99 = graph.add %76, %98 : (tensor<2x5x84xf32>, tensor<2x5x84xf32>) -> tensor<2x5x84xf32>
    %100 = graph.broadcast %5 [] : (tensor<f32>) -> tensor<2x5x84xf32>
    %101 = graph.pow %99, %100 : (tensor<2x5x84xf32>, tensor<2x5x84xf32>) -> tensor<2x5x84xf32>
    %102 = graph.reduce  sum %101 [2] : (tensor<2x5x84xf32>) -> tensor<2x5xf32>
    %103 = graph.broadcast %4 [] : (tensor<f32>) -> tensor<2x5xf32>
    %104 = graph.div %102, %103 : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
    %105 = graph.broadcast %3 [] : (tensor<f32>) -> tensor<2x5xf32>
    %106 = graph.add %104, %105 : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
    %107 = graph.rsqrt %106 : tensor<2x5xf32>
    %108 = graph.broadcast %107 [0, 1] : (tensor<2x5xf32>) -> tensor<2x5x84xf32>
    %109 = graph.mul %99, %108 : (tensor<2x5x84xf32>, tensor<2x5x84xf32>) -> tensor<2x5x84xf32>
    %110 = graph.read @model.model.layers.1.input_layernorm.weight : tensor<84xf32>
    %111 = graph.broadcast %110 [2] : (tensor<84xf32>) -> tensor<2x5x84xf32>
    %112 = graph.mul %111, %109 : (tensor<2x5x84xf32>, tensor<2x5x84xf32>) -> tensor<2x5x84xf32>
    %113 = graph.read @val_333 : tensor<84x2x3x2x7xf32>
    %114 = graph.contract "abc,cdefg->adebfg" %112, %113 : (tensor<2x5x84xf32>, tensor<84x2x3x2x7xf32>) -> tensor<2x2x3x5x2x7xf32>
    %115 = graph.read @val_340 : tensor<84x2x2x7xf32>
    %116 = graph.contract "abc,cdef->adbef" %112, %115 : (tensor<2x5x84xf32>, tensor<84x2x2x7xf32>) -> tensor<2x2x5x2x7xf32>
    %117 = graph.read @val_347 : tensor<84x2x14xf32>
    %118 = graph.contract "abc,cde->adbe" %112, %117 : (tensor<2x5x84xf32>, tensor<84x2x14xf32>) -> tensor<2x2x5x14xf32>
    %119 = graph.broadcast %19 [3, 4, 5] : (tensor<5x2x7xf32>) -> tensor<2x2x3x5x2x7xf32>
    %120 = graph.mul %114, %119 : (tensor<2x2x3x5x2x7xf32>, tensor<2x2x3x5x2x7xf32>) -> tensor<2x2x3x5x2x7xf32>
    %121:2 = graph.unstack %114 {dim = 4 : i64} : (tensor<2x2x3x5x2x7xf32>) -> (tensor<2x2x3x5x7xf32>, tensor<2x2x3x5x7xf32>)
    %122 = graph.neg %121#1 : tensor<2x2x3x5x7xf32>
    %123 = graph.stack %122, %121#0 {dim = 4 : i64} : (tensor<2x2x3x5x7xf32>, tensor<2x2x3x5x7xf32>) -> tensor<2x2x3x5x2x7xf32>
    %124 = graph.broadcast %20 [3, 4, 5] : (tensor<5x2x7xf32>) -> tensor<2x2x3x5x2x7xf32>
    %125 = graph.mul %123, %124 : (tensor<2x2x3x5x2x7xf32>, tensor<2x2x3x5x2x7xf32>) -> tensor<2x2x3x5x2x7xf32>
    %126 = graph.add %120, %125 : (tensor<2x2x3x5x2x7xf32>, tensor<2x2x3x5x2x7xf32>) -> tensor<2x2x3x5x2x7xf32>
    %127 = graph.broadcast %19 [2, 3, 4] : (tensor<5x2x7xf32>) -> tensor<2x2x5x2x7xf32>
    %128 = graph.mul %116, %127 : (tensor<2x2x5x2x7xf32>, tensor<2x2x5x2x7xf32>) -> tensor<2x2x5x2x7xf32>
    %129:2 = graph.unstack %116 {dim = 3 : i64} : (tensor<2x2x5x2x7xf32>) -> (tensor<2x2x5x7xf32>, tensor<2x2x5x7xf32>)
    %130 = graph.neg %129#1 : tensor<2x2x5x7xf32>
    %131 = graph.stack %130, %129#0 {dim = 3 : i64} : (tensor<2x2x5x7xf32>, tensor<2x2x5x7xf32>) -> tensor<2x2x5x2x7xf32>
    %132 = graph.broadcast %20 [2, 3, 4] : (tensor<5x2x7xf32>) -> tensor<2x2x5x2x7xf32>
    %133 = graph.mul %131, %132 : (tensor<2x2x5x2x7xf32>, tensor<2x2x5x2x7xf32>) -> tensor<2x2x5x2x7xf32>
    %134 = graph.add %128, %133 : (tensor<2x2x5x2x7xf32>, tensor<2x2x5x2x7xf32>) -> tensor<2x2x5x2x7xf32>
    %135 = graph.broadcast %118 [0, 1, 3, 4] : (tensor<2x2x5x14xf32>) -> tensor<2x2x3x5x14xf32>
    %136 = graph.transpose %134 [0, 1, 3, 4, 2] : (tensor<2x2x5x2x7xf32>) -> tensor<2x2x2x7x5xf32>
    %137 = graph.broadcast %136 [0, 1, 3, 4, 5] : (tensor<2x2x2x7x5xf32>) -> tensor<2x2x3x2x7x5xf32>
    %138 = graph.broadcast %2 [] : (tensor<f32>) -> tensor<2x2x3x5x2x7xf32>
    %139 = graph.mul %126, %138 : (tensor<2x2x3x5x2x7xf32>, tensor<2x2x3x5x2x7xf32>) -> tensor<2x2x3x5x2x7xf32>
    %140 = graph.broadcast %2 [] : (tensor<f32>) -> tensor<2x2x3x2x7x5xf32>
    %141 = graph.mul %137, %140 : (tensor<2x2x3x2x7x5xf32>, tensor<2x2x3x2x7x5xf32>) -> tensor<2x2x3x2x7x5xf32>
    %142 = graph.contract "abcdef,abcefg->abcdg" %139, %141 : (tensor<2x2x3x5x2x7xf32>, tensor<2x2x3x2x7x5xf32>) -> tensor<2x2x3x5x5xf32>
    %143 = graph.broadcast %65 [0, 3, 4] : (tensor<2x5x5xf32>) -> tensor<2x2x3x5x5xf32>
    %144 = graph.add %142, %143 : (tensor<2x2x3x5x5xf32>, tensor<2x2x3x5x5xf32>) -> tensor<2x2x3x5x5xf32>
    %145 = graph.softmax %144 [4] : tensor<2x2x3x5x5xf32>
    %146 = graph.is_nan %145 : (tensor<2x2x3x5x5xf32>) -> tensor<2x2x3x5x5xi1>
    %147 = graph.broadcast %1 [] : (tensor<f32>) -> tensor<2x2x3x5x5xf32>
    %148 = graph.select %146, %147, %145 : (tensor<2x2x3x5x5xi1>, tensor<2x2x3x5x5xf32>, tensor<2x2x3x5x5xf32>) -> tensor<2x2x3x5x5xf32>
    %149 = graph.contract "abcde,abcef->abcdf" %148, %135 : (tensor<2x2x3x5x5xf32>, tensor<2x2x3x5x14xf32>) -> tensor<2x2x3x5x14xf32>
    %150 = graph.read @val_496 : tensor<2x3x14x84xf32>
    %151 = graph.contract "acdbe,cdef->abf" %149, %150 : (tensor<2x2x3x5x14xf32>, tensor<2x3x14x84xf32>) -> tensor<2x5x84xf32>
    %152 = graph.add %99, %151 : (tensor<2x5x84xf32>, tensor<2x5x84xf32>) -> tensor<2x5x84xf32>
    %153 = graph.broadcast %5 [] : (tensor<f32>) -> tensor<2x5x84xf32>
    %154 = graph.pow %152, %153 : (tensor<2x5x84xf32>, tensor<2x5x84xf32>) -> tensor<2x5x84xf32>
    %155 = graph.reduce  sum %154 [2] : (tensor<2x5x84xf32>) -> tensor<2x5xf32>
    %156 = graph.broadcast %4 [] : (tensor<f32>) -> tensor<2x5xf32>
    %157 = graph.div %155, %156 : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
    %158 = graph.broadcast %3 [] : (tensor<f32>) -> tensor<2x5xf32>
    %159 = graph.add %157, %158 : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
    %160 = graph.rsqrt %159 : tensor<2x5xf32>
    %161 = graph.broadcast %160 [0, 1] : (tensor<2x5xf32>) -> tensor<2x5x84xf32>
    %162 = graph.mul %152, %161 : (tensor<2x5x84xf32>, tensor<2x5x84xf32>) -> tensor<2x5x84xf32>
    %163 = graph.read @model.model.layers.1.post_attention_layernorm.weight : tensor<84xf32>
    %164 = graph.broadcast %163 [2] : (tensor<84xf32>) -> tensor<2x5x84xf32>
    %165 = graph.mul %164, %162 : (tensor<2x5x84xf32>, tensor<2x5x84xf32>) -> tensor<2x5x84xf32>
    %166 = graph.read @val_501 : tensor<84x173xf32>
    %167 = graph.contract "abc,cd->abd" %165, %166 : (tensor<2x5x84xf32>, tensor<84x173xf32>) -> tensor<2x5x173xf32>
    %168 = graph.logistic %167 : tensor<2x5x173xf32>
    %169 = graph.mul %167, %168 : (tensor<2x5x173xf32>, tensor<2x5x173xf32>) -> tensor<2x5x173xf32>
    %170 = graph.read @val_503 : tensor<84x173xf32>
    %171 = graph.contract "abc,cd->abd" %165, %170 : (tensor<2x5x84xf32>, tensor<84x173xf32>) -> tensor<2x5x173xf32>
    %172 = graph.mul %169, %171 : (tensor<2x5x173xf32>, tensor<2x5x173xf32>) -> tensor<2x5x173xf32>
    %173 = graph.read @val_504 : tensor<173x84xf32>
    %174 = graph.contract "abc,cd->abd" %172, %173 : (tensor<2x5x173xf32>, tensor<173x84xf32>) -> tensor<2x5x84xf32>
    %175 = graph.add %152, %174 : (tensor<2x5x84xf32>, tensor<2x5x84xf32>) -> tensor<2x5x84xf32>
    %176 = graph.broadcast %5 [] : (tensor<f32>) -> tensor<2x5x84xf32>
    %177 = graph.pow %175, %176 : (tensor<2x5x84xf32>, tensor<2x5x84xf32>) -> tensor<2x5x84xf32>
    %178 = graph.reduce  sum %177 [2] : (tensor<2x5x84xf32>) -> tensor<2x5xf32>
    %179 = graph.broadcast %4 [] : (tensor<f32>) -> tensor<2x5xf32>
    %180 = graph.div %178, %179 : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
    %181 = graph.broadcast %3 [] : (tensor<f32>) -> tensor<2x5xf32>
    %182 = graph.add %180, %181 : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
    %183 = graph.rsqrt %182 : tensor<2x5xf32>
    %184 = graph.broadcast %183 [0, 1] : (tensor<2x5xf32>) -> tensor<2x5x84xf32>
    %185 = graph.mul %175, %184 : (tensor<2x5x84xf32>, tensor<2x5x84xf32>) -> tensor<2x5x84xf32>
    %186 = graph.read @model.model.layers.2.input_layernorm.weight : tensor<84xf32>
    %187 = graph.broadcast %186 [2] : (tensor<84xf32>) -> tensor<2x5x84xf32>
    %188 = graph.mul %187, %185 : (tensor<2x5x84xf32>, tensor<2x5x84xf32>) -> tensor<2x5x84xf32>
    %189 = graph.read @val_509 : tensor<84x2x3x2x7xf32>
    %190 = graph.contract "abc,cdefg->adebfg" %188, %189 : (tensor<2x5x84xf32>, tensor<84x2x3x2x7xf32>) -> tensor<2x2x3x5x2x7xf32>
    %191 = graph.read @val_516 : tensor<84x2x2x7xf32>
    %192 = graph.contract "abc,cdef->adbef" %188, %191 : (tensor<2x5x84xf32>, tensor<84x2x2x7xf32>) -> tensor<2x2x5x2x7xf32>
    %193 = graph.read @val_523 : tensor<84x2x14xf32>
    %194 = graph.contract "abc,cde->adbe" %188, %193 : (tensor<2x5x84xf32>, tensor<84x2x14xf32>) -> tensor<2x2x5x14xf32>
    %195 = graph.broadcast %19 [3, 4, 5] : (tensor<5x2x7xf32>) -> tensor<2x2x3x5x2x7xf32>
    %196 = graph.mul %190, %195 : (tensor<2x2x3x5x2x7xf32>, tensor<2x2x3x5x2x7xf32>) -> tensor<2x2x3x5x2x7xf32>
    %197:2 = graph.unstack %190 {dim = 4 : i64} : (tensor<2x2x3x5x2x7xf32>) -> (tensor<2x2x3x5x7xf32>, tensor<2x2x3x5x7xf32>)
    %198 = graph.neg %197#1 : tensor<2x2x3x5x7xf32>
    %199 = graph.stack %198, %197#0 {dim = 4 : i64} : (tensor<2x2x3x5x7xf32>, tensor<2x2x3x5x7xf32>) -> tensor<2x2x3x5x2x7xf32>
    %200 = graph.broadcast %20 [3, 4, 5] : (tensor<5x2x7xf32>) -> tensor<2x2x3x5x2x7xf32>
    %201 = graph.mul %199, %200 : (tensor<2x2x3x5x2x7xf32>, tensor<2x2x3x5x2x7xf32>) -> tensor<2x2x3x5x2x7xf32>
    %202 = graph.add %196, %201 : (tensor<2x2x3x5x2x7xf32>, tensor<2x2x3x5x2x7xf32>) -> tensor<2x2x3x5x2x7xf32>
    %203 = graph.broadcast %19 [2, 3, 4] : (tensor<5x2x7xf32>) -> tensor<2x2x5x2x7xf32>
    %204 = graph.mul %192, %203 : (tensor<2x2x5x2x7xf32>, tensor<2x2x5x2x7xf32>) -> tensor<2x2x5x2x7xf32>
    %205:2 = graph.unstack %192 {dim = 3 : i64} : (tensor<2x2x5x2x7xf32>) -> (tensor<2x2x5x7xf32>, tensor<2x2x5x7xf32>)
    %206 = graph.neg %205#1 : tensor<2x2x5x7xf32>
    %207 = graph.stack %206, %205#0 {dim = 3 : i64} : (tensor<2x2x5x7xf32>, tensor<2x2x5x7xf32>) -> tensor<2x2x5x2x7xf32>
    %208 = graph.broadcast %20 [2, 3, 4] : (tensor<5x2x7xf32>) -> tensor<2x2x5x2x7xf32>
    %209 = graph.mul %207, %208 : (tensor<2x2x5x2x7xf32>, tensor<2x2x5x2x7xf32>) -> tensor<2x2x5x2x7xf32>
    %210 = graph.add %204, %209 : (tensor<2x2x5x2x7xf32>, tensor<2x2x5x2x7xf32>) -> tensor<2x2x5x2x7xf32>
    %211 = graph.broadcast %194 [0, 1, 3, 4] : (tensor<2x2x5x14xf32>) -> tensor<2x2x3x5x14xf32>
    %212 = graph.transpose %210 [0, 1, 3, 4, 2] : (tensor<2x2x5x2x7xf32>) -> tensor<2x2x2x7x5xf32>
    %213 = graph.broadcast %212 [0, 1, 3, 4, 5] : (tensor<2x2x2x7x5xf32>) -> tensor<2x2x3x2x7x5xf32>
    %214 = graph.broadcast %2 [] : (tensor<f32>) -> tensor<2x2x3x5x2x7xf32>
    %215 = graph.mul %202, %214 : (tensor<2x2x3x5x2x7xf32>, tensor<2x2x3x5x2x7xf32>) -> tensor<2x2x3x5x2x7xf32>
    %216 = graph.broadcast %2 [] : (tensor<f32>) -> tensor<2x2x3x2x7x5xf32>
    %217 = graph.mul %213, %216 : (tensor<2x2x3x2x7x5xf32>, tensor<2x2x3x2x7x5xf32>) -> tensor<2x2x3x2x7x5xf32>
    %218 = graph.contract "abcdef,abcefg->abcdg" %215, %217 : (tensor<2x2x3x5x2x7xf32>, tensor<2x2x3x2x7x5xf32>) -> tensor<2x2x3x5x5xf32>
    %219 = graph.broadcast %65 [0, 3, 4] : (tensor<2x5x5xf32>) -> tensor<2x2x3x5x5xf32>
    %220 = graph.add %218, %219 : (tensor<2x2x3x5x5xf32>, tensor<2x2x3x5x5xf32>) -> tensor<2x2x3x5x5xf32>
    %221 = graph.softmax %220 [4] : tensor<2x2x3x5x5xf32>
    %222 = graph.is_nan %221 : (tensor<2x2x3x5x5xf32>) -> tensor<2x2x3x5x5xi1>
    %223 = graph.broadcast %1 [] : (tensor<f32>) -> tensor<2x2x3x5x5xf32>
    %224 = graph.select %222, %223, %221 : (tensor<2x2x3x5x5xi1>, tensor<2x2x3x5x5xf32>, tensor<2x2x3x5x5xf32>) -> tensor<2x2x3x5x5xf32>
    %225 = graph.contract "abcde,abcef->abcdf" %224, %211 : (tensor<2x2x3x5x5xf32>, tensor<2x2x3x5x14xf32>) -> tensor<2x2x3x5x14xf32>
    %226 = graph.read @val_672 : tensor<2x3x14x84xf32>
    %227 = graph.contract "acdbe,cdef->abf" %225, %226 : (tensor<2x2x3x5x14xf32>, tensor<2x3x14x84xf32>) -> tensor<2x5x84xf32>
    %228 = graph.add %175, %227 : (tensor<2x5x84xf32>, tensor<2x5x84xf32>) -> tensor<2x5x84xf32>
    %229 = graph.broadcast %5 [] : (tensor<f32>) -> tensor<2x5x84xf32>
    %230 = graph.pow %228, %229 : (tensor<2x5x84xf32>, tensor<2x5x84xf32>) -> tensor<2x5x84xf32>
    %231 = graph.reduce  sum %230 [2] : (tensor<2x5x84xf32>) -> tensor<2x5xf32>
    %232 = graph.broadcast %4 [] : (tensor<f32>) -> tensor<2x5xf32>
    %233 = graph.div %231, %232 : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
    %234 = graph.broadcast %3 [] : (tensor<f32>) -> tensor<2x5xf32>
    %235 = graph.add %233, %234 : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
    %236 = graph.rsqrt %235 : tensor<2x5xf32>
    %237 = graph.broadcast %236 [0, 1] : (tensor<2x5xf32>) -> tensor<2x5x84xf32>
    %238 = graph.mul %228, %237 : (tensor<2x5x84xf32>, tensor<2x5x84xf32>) -> tensor<2x5x84xf32>
    %239 = graph.read @model.model.layers.2.post_attention_layernorm.weight : tensor<84xf32>
    %240 = graph.broadcast %239 [2] : (tensor<84xf32>) -> tensor<2x5x84xf32>
    %241 = graph.mul %240, %238 : (tensor<2x5x84xf32>, tensor<2x5x84xf32>) -> tensor<2x5x84xf32>
    %242 = graph.read @val_677 : tensor<84x173xf32>
    %243 = graph.contract "abc,cd->abd" %241, %242 : (tensor<2x5x84xf32>, tensor<84x173xf32>) -> tensor<2x5x173xf32>
    %244 = graph.logistic %243 : tensor<2x5x173xf32>
    %245 = graph.mul %243, %244 : (tensor<2x5x173xf32>, tensor<2x5x173xf32>) -> tensor<2x5x173xf32>
    %246 = graph.read @val_679 : tensor<84x173xf32>
    %247 = graph.contract "abc,cd->abd" %241, %246 : (tensor<2x5x84xf32>, tensor<84x173xf32>) -> tensor<2x5x173xf32>
    %248 = graph.mul %245, %247 : (tensor<2x5x173xf32>, tensor<2x5x173xf32>) -> tensor<2x5x173xf32>
    %249 = graph.read @val_680 : tensor<173x84xf32>
    %250 = graph.contract "abc,cd->abd" %248, %249 : (tensor<2x5x173xf32>, tensor<173x84xf32>) -> tensor<2x5x84xf32>
    %251 = graph.add %228, %250 : (tensor<2x5x84xf32>, tensor<2x5x84xf32>) -> tensor<2x5x84xf32>
    %252 = graph.broadcast %5 [] : (tensor<f32>) -> tensor<2x5x84xf32>
    %253 = graph.pow %251, %252 : (tensor<2x5x84xf32>, tensor<2x5x84xf32>) -> tensor<2x5x84xf32>
    %254 = graph.reduce  sum %253 [2] : (tensor<2x5x84xf32>) -> tensor<2x5xf32>
    %255 = graph.broadcast %4 [] : (tensor<f32>) -> tensor<2x5xf32>
    %256 = graph.div %254, %255 : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
    %257 = graph.broadcast %3 [] : (tensor<f32>) -> tensor<2x5xf32>
    %258 = graph.add %256, %257 : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
    %259 = graph.rsqrt %258 : tensor<2x5xf32>
    %260 = graph.broadcast %259 [0, 1] : (tensor<2x5xf32>) -> tensor<2x5x84xf32>
    %261 = graph.mul %251, %260 : (tensor<2x5x84xf32>, tensor<2x5x84xf32>) -> tensor<2x5x84xf32>
    %262 = graph.read @model.model.norm.weight : tensor<84xf32>
    %263 = graph.broadcast %262 [2] : (tensor<84xf32>) -> tensor<2x5x84xf32>
    %264 = graph.mul %263, %261 : (tensor<2x5x84xf32>, tensor<2x5x84xf32>) -> tensor<2x5x84xf32>
    %265 = graph.read @val_705 : tensor<84x509xf32>
    %266 = graph.contract "abc,cd->abd" %264, %265 : (tensor<2x5x84xf32>, tensor<84x509xf32>) -> tensor<2x5x509xf32>
    %267 = graph.shift %arg1 {amount = 1 : i64, dim = 1 : i64, fill = -100 : i64} : tensor<2x5xi64>
    %sum, %count, %lse = graph.cross_entropy %266, %267 {ignore_index = -100 : i64} : (tensor<2x5x509xf32>, tensor<2x5xi64>) -> (tensor<f32>, tensor<f32>, tensor<2x5xf32>)
    return %sum, %count : tensor<f32>, tensor<f32>
  }
}
