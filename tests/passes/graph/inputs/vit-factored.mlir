module {
  graph.state @model.vit.embeddings.patch_embeddings.projection.weight : tensor<90x3x6x6xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.vit.embeddings.patch_embeddings.projection.weight", saved_shape = array<i64: 90, 3, 6, 6>, trainable = true}
  graph.state @model.vit.embeddings.patch_embeddings.projection.bias : tensor<90xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.vit.embeddings.patch_embeddings.projection.bias", saved_shape = array<i64: 90>, trainable = true}
  graph.state @model.vit.embeddings.cls_token : tensor<90xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.vit.embeddings.cls_token", saved_shape = array<i64: 1, 1, 90>, trainable = true}
  graph.state @model.vit.embeddings.position_embeddings : tensor<26x90xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.vit.embeddings.position_embeddings", saved_shape = array<i64: 1, 26, 90>, trainable = true}
  graph.state @model.vit.layers.0.layernorm_before.weight : tensor<90xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.vit.layers.0.layernorm_before.weight", saved_shape = array<i64: 90>, trainable = true}
  graph.state @model.vit.layers.0.layernorm_before.bias : tensor<90xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.vit.layers.0.layernorm_before.bias", saved_shape = array<i64: 90>, trainable = true}
  graph.state @val_29 : tensor<90x6x15xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_29", saved_shape = array<i64: 90, 90>, trainable = true}
  graph.state @model.vit.layers.0.attention.q_proj.bias : tensor<6x15xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.vit.layers.0.attention.q_proj.bias", saved_shape = array<i64: 90>, trainable = true}
  graph.state @val_37 : tensor<90x6x15xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_37", saved_shape = array<i64: 90, 90>, trainable = true}
  graph.state @model.vit.layers.0.attention.k_proj.bias : tensor<6x15xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.vit.layers.0.attention.k_proj.bias", saved_shape = array<i64: 90>, trainable = true}
  graph.state @val_45 : tensor<90x6x15xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_45", saved_shape = array<i64: 90, 90>, trainable = true}
  graph.state @model.vit.layers.0.attention.v_proj.bias : tensor<6x15xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.vit.layers.0.attention.v_proj.bias", saved_shape = array<i64: 90>, trainable = true}
  graph.state @val_92 : tensor<6x15x90xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_92", saved_shape = array<i64: 90, 90>, trainable = true}
  graph.state @model.vit.layers.0.attention.o_proj.bias : tensor<90xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.vit.layers.0.attention.o_proj.bias", saved_shape = array<i64: 90>, trainable = true}
  graph.state @model.vit.layers.0.layernorm_after.weight : tensor<90xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.vit.layers.0.layernorm_after.weight", saved_shape = array<i64: 90>, trainable = true}
  graph.state @model.vit.layers.0.layernorm_after.bias : tensor<90xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.vit.layers.0.layernorm_after.bias", saved_shape = array<i64: 90>, trainable = true}
  graph.state @val_96 : tensor<90x149xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_96", saved_shape = array<i64: 90, 149>, trainable = true}
  graph.state @model.vit.layers.0.mlp.fc1.bias : tensor<149xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.vit.layers.0.mlp.fc1.bias", saved_shape = array<i64: 149>, trainable = true}
  graph.state @val_98 : tensor<149x90xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_98", saved_shape = array<i64: 149, 90>, trainable = true}
  graph.state @model.vit.layers.0.mlp.fc2.bias : tensor<90xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.vit.layers.0.mlp.fc2.bias", saved_shape = array<i64: 90>, trainable = true}
  graph.state @model.vit.layers.1.layernorm_before.weight : tensor<90xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.vit.layers.1.layernorm_before.weight", saved_shape = array<i64: 90>, trainable = true}
  graph.state @model.vit.layers.1.layernorm_before.bias : tensor<90xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.vit.layers.1.layernorm_before.bias", saved_shape = array<i64: 90>, trainable = true}
  graph.state @val_102 : tensor<90x6x15xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_102", saved_shape = array<i64: 90, 90>, trainable = true}
  graph.state @model.vit.layers.1.attention.q_proj.bias : tensor<6x15xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.vit.layers.1.attention.q_proj.bias", saved_shape = array<i64: 90>, trainable = true}
  graph.state @val_110 : tensor<90x6x15xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_110", saved_shape = array<i64: 90, 90>, trainable = true}
  graph.state @model.vit.layers.1.attention.k_proj.bias : tensor<6x15xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.vit.layers.1.attention.k_proj.bias", saved_shape = array<i64: 90>, trainable = true}
  graph.state @val_118 : tensor<90x6x15xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_118", saved_shape = array<i64: 90, 90>, trainable = true}
  graph.state @model.vit.layers.1.attention.v_proj.bias : tensor<6x15xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.vit.layers.1.attention.v_proj.bias", saved_shape = array<i64: 90>, trainable = true}
  graph.state @val_162 : tensor<6x15x90xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_162", saved_shape = array<i64: 90, 90>, trainable = true}
  graph.state @model.vit.layers.1.attention.o_proj.bias : tensor<90xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.vit.layers.1.attention.o_proj.bias", saved_shape = array<i64: 90>, trainable = true}
  graph.state @model.vit.layers.1.layernorm_after.weight : tensor<90xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.vit.layers.1.layernorm_after.weight", saved_shape = array<i64: 90>, trainable = true}
  graph.state @model.vit.layers.1.layernorm_after.bias : tensor<90xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.vit.layers.1.layernorm_after.bias", saved_shape = array<i64: 90>, trainable = true}
  graph.state @val_166 : tensor<90x149xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_166", saved_shape = array<i64: 90, 149>, trainable = true}
  graph.state @model.vit.layers.1.mlp.fc1.bias : tensor<149xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.vit.layers.1.mlp.fc1.bias", saved_shape = array<i64: 149>, trainable = true}
  graph.state @val_168 : tensor<149x90xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_168", saved_shape = array<i64: 149, 90>, trainable = true}
  graph.state @model.vit.layers.1.mlp.fc2.bias : tensor<90xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.vit.layers.1.mlp.fc2.bias", saved_shape = array<i64: 90>, trainable = true}
  graph.state @model.vit.layernorm.weight : tensor<90xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.vit.layernorm.weight", saved_shape = array<i64: 90>, trainable = true}
  graph.state @model.vit.layernorm.bias : tensor<90xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.vit.layernorm.bias", saved_shape = array<i64: 90>, trainable = true}
  graph.state @model.classifier.weight : tensor<13x90xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.classifier.weight", saved_shape = array<i64: 13, 90>, trainable = true}
  graph.state @model.classifier.bias : tensor<13xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.classifier.bias", saved_shape = array<i64: 13>, trainable = true}
  func.func @loss(%arg0: tensor<2x3x30x30xf32> {graph.name = "pixel_values", graph.role = "data"}, %arg1: tensor<2xi64> {graph.bounds = array<i64: 0, 13, -100>, graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
    %0 = graph.constant dense<0.000000e+00> : tensor<f32> : tensor<f32>
    %1 = graph.constant dense<0.508132756> : tensor<f32> : tensor<f32>
    %2 = graph.reshape %arg0 : (tensor<2x3x30x30xf32>) -> tensor<2x3x5x6x5x6xf32>
    %3 = graph.read @model.vit.embeddings.patch_embeddings.projection.weight : tensor<90x3x6x6xf32>
    %4 = graph.read @model.vit.embeddings.patch_embeddings.projection.bias : tensor<90xf32>
    %5 = graph.contract "abcdef,gbdf->aceg" %2, %3 : (tensor<2x3x5x6x5x6xf32>, tensor<90x3x6x6xf32>) -> tensor<2x5x5x90xf32>
    %6 = graph.broadcast %4 [3] : (tensor<90xf32>) -> tensor<2x5x5x90xf32>
    %7 = graph.add %5, %6 : (tensor<2x5x5x90xf32>, tensor<2x5x5x90xf32>) -> tensor<2x5x5x90xf32>
    %8 = graph.read @model.vit.embeddings.cls_token : tensor<90xf32>
    %9 = graph.broadcast %8 [1] : (tensor<90xf32>) -> tensor<2x90xf32>
    %10 = graph.reshape %9 : (tensor<2x90xf32>) -> tensor<2x1x90xf32>
    %11 = graph.reshape %7 : (tensor<2x5x5x90xf32>) -> tensor<2x25x90xf32>
    %12 = graph.concat %10, %11 {dim = 1 : i64} : (tensor<2x1x90xf32>, tensor<2x25x90xf32>) -> tensor<2x26x90xf32>
    %13 = graph.read @model.vit.embeddings.position_embeddings : tensor<26x90xf32>
    %14 = graph.broadcast %13 [1, 2] : (tensor<26x90xf32>) -> tensor<2x26x90xf32>
    %15 = graph.add %12, %14 : (tensor<2x26x90xf32>, tensor<2x26x90xf32>) -> tensor<2x26x90xf32>
    %16 = graph.read @model.vit.layers.0.layernorm_before.weight : tensor<90xf32>
    %17 = graph.read @model.vit.layers.0.layernorm_before.bias : tensor<90xf32>
    %y, %mean, %rstd = graph.layer_norm %15, %16, %17 [2] {eps = 9.999999960041972E-13 : f64} : (tensor<2x26x90xf32>, tensor<90xf32>, tensor<90xf32>) -> (tensor<2x26x90xf32>, tensor<2x26xf32>, tensor<2x26xf32>)
    %18 = graph.read @val_29 : tensor<90x6x15xf32>
    %19 = graph.contract "abc,cde->adbe" %y, %18 : (tensor<2x26x90xf32>, tensor<90x6x15xf32>) -> tensor<2x6x26x15xf32>
    %20 = graph.read @model.vit.layers.0.attention.q_proj.bias : tensor<6x15xf32>
    %21 = graph.broadcast %20 [1, 3] : (tensor<6x15xf32>) -> tensor<2x6x26x15xf32>
    %22 = graph.add %19, %21 : (tensor<2x6x26x15xf32>, tensor<2x6x26x15xf32>) -> tensor<2x6x26x15xf32>
    %23 = graph.read @val_37 : tensor<90x6x15xf32>
    %24 = graph.contract "abc,cde->adeb" %y, %23 : (tensor<2x26x90xf32>, tensor<90x6x15xf32>) -> tensor<2x6x15x26xf32>
    %25 = graph.read @model.vit.layers.0.attention.k_proj.bias : tensor<6x15xf32>
    %26 = graph.broadcast %25 [1, 2] : (tensor<6x15xf32>) -> tensor<2x6x15x26xf32>
    %27 = graph.add %24, %26 : (tensor<2x6x15x26xf32>, tensor<2x6x15x26xf32>) -> tensor<2x6x15x26xf32>
    %28 = graph.read @val_45 : tensor<90x6x15xf32>
    %29 = graph.contract "abc,cde->abde" %y, %28 : (tensor<2x26x90xf32>, tensor<90x6x15xf32>) -> tensor<2x26x6x15xf32>
    %30 = graph.read @model.vit.layers.0.attention.v_proj.bias : tensor<6x15xf32>
    %31 = graph.broadcast %30 [2, 3] : (tensor<6x15xf32>) -> tensor<2x26x6x15xf32>
    %32 = graph.add %29, %31 : (tensor<2x26x6x15xf32>, tensor<2x26x6x15xf32>) -> tensor<2x26x6x15xf32>
    %33 = graph.broadcast %1 [] : (tensor<f32>) -> tensor<2x6x26x15xf32>
    %34 = graph.mul %22, %33 : (tensor<2x6x26x15xf32>, tensor<2x6x26x15xf32>) -> tensor<2x6x26x15xf32>
    %35 = graph.broadcast %1 [] : (tensor<f32>) -> tensor<2x6x15x26xf32>
    %36 = graph.mul %27, %35 : (tensor<2x6x15x26xf32>, tensor<2x6x15x26xf32>) -> tensor<2x6x15x26xf32>
    %37 = graph.contract "abcd,abde->abce" %34, %36 : (tensor<2x6x26x15xf32>, tensor<2x6x15x26xf32>) -> tensor<2x6x26x26xf32>
    %38 = graph.softmax %37 [3] : tensor<2x6x26x26xf32>
    %39 = graph.is_nan %38 : (tensor<2x6x26x26xf32>) -> tensor<2x6x26x26xi1>
    %40 = graph.broadcast %0 [] : (tensor<f32>) -> tensor<2x6x26x26xf32>
    %41 = graph.select %39, %40, %38 : (tensor<2x6x26x26xi1>, tensor<2x6x26x26xf32>, tensor<2x6x26x26xf32>) -> tensor<2x6x26x26xf32>
    %42 = graph.contract "abcd,adbe->abce" %41, %32 : (tensor<2x6x26x26xf32>, tensor<2x26x6x15xf32>) -> tensor<2x6x26x15xf32>
    %43 = graph.read @val_92 : tensor<6x15x90xf32>
    %44 = graph.contract "acbd,cde->abe" %42, %43 : (tensor<2x6x26x15xf32>, tensor<6x15x90xf32>) -> tensor<2x26x90xf32>
    %45 = graph.read @model.vit.layers.0.attention.o_proj.bias : tensor<90xf32>
    %46 = graph.broadcast %45 [2] : (tensor<90xf32>) -> tensor<2x26x90xf32>
    %47 = graph.add %44, %46 : (tensor<2x26x90xf32>, tensor<2x26x90xf32>) -> tensor<2x26x90xf32>
    %48 = graph.add %47, %15 : (tensor<2x26x90xf32>, tensor<2x26x90xf32>) -> tensor<2x26x90xf32>
    %49 = graph.read @model.vit.layers.0.layernorm_after.weight : tensor<90xf32>
    %50 = graph.read @model.vit.layers.0.layernorm_after.bias : tensor<90xf32>
    %y_0, %mean_1, %rstd_2 = graph.layer_norm %48, %49, %50 [2] {eps = 9.999999960041972E-13 : f64} : (tensor<2x26x90xf32>, tensor<90xf32>, tensor<90xf32>) -> (tensor<2x26x90xf32>, tensor<2x26xf32>, tensor<2x26xf32>)
    %51 = graph.read @val_96 : tensor<90x149xf32>
    %52 = graph.contract "abc,cd->abd" %y_0, %51 : (tensor<2x26x90xf32>, tensor<90x149xf32>) -> tensor<2x26x149xf32>
    %53 = graph.read @model.vit.layers.0.mlp.fc1.bias : tensor<149xf32>
    %54 = graph.broadcast %53 [2] : (tensor<149xf32>) -> tensor<2x26x149xf32>
    %55 = graph.add %52, %54 : (tensor<2x26x149xf32>, tensor<2x26x149xf32>) -> tensor<2x26x149xf32>
    %56 = graph.gelu %55 {form = #graph<gelu_form exact>} : tensor<2x26x149xf32>
    %57 = graph.read @val_98 : tensor<149x90xf32>
    %58 = graph.contract "abc,cd->abd" %56, %57 : (tensor<2x26x149xf32>, tensor<149x90xf32>) -> tensor<2x26x90xf32>
    %59 = graph.read @model.vit.layers.0.mlp.fc2.bias : tensor<90xf32>
    %60 = graph.broadcast %59 [2] : (tensor<90xf32>) -> tensor<2x26x90xf32>
    %61 = graph.add %58, %60 : (tensor<2x26x90xf32>, tensor<2x26x90xf32>) -> tensor<2x26x90xf32>
    %62 = graph.add %61, %48 : (tensor<2x26x90xf32>, tensor<2x26x90xf32>) -> tensor<2x26x90xf32>
    %63 = graph.read @model.vit.layers.1.layernorm_before.weight : tensor<90xf32>
    %64 = graph.read @model.vit.layers.1.layernorm_before.bias : tensor<90xf32>
    %y_3, %mean_4, %rstd_5 = graph.layer_norm %62, %63, %64 [2] {eps = 9.999999960041972E-13 : f64} : (tensor<2x26x90xf32>, tensor<90xf32>, tensor<90xf32>) -> (tensor<2x26x90xf32>, tensor<2x26xf32>, tensor<2x26xf32>)
    %65 = graph.read @val_102 : tensor<90x6x15xf32>
    %66 = graph.contract "abc,cde->adbe" %y_3, %65 : (tensor<2x26x90xf32>, tensor<90x6x15xf32>) -> tensor<2x6x26x15xf32>
    %67 = graph.read @model.vit.layers.1.attention.q_proj.bias : tensor<6x15xf32>
    %68 = graph.broadcast %67 [1, 3] : (tensor<6x15xf32>) -> tensor<2x6x26x15xf32>
    %69 = graph.add %66, %68 : (tensor<2x6x26x15xf32>, tensor<2x6x26x15xf32>) -> tensor<2x6x26x15xf32>
    %70 = graph.read @val_110 : tensor<90x6x15xf32>
    %71 = graph.contract "abc,cde->adeb" %y_3, %70 : (tensor<2x26x90xf32>, tensor<90x6x15xf32>) -> tensor<2x6x15x26xf32>
    %72 = graph.read @model.vit.layers.1.attention.k_proj.bias : tensor<6x15xf32>
    %73 = graph.broadcast %72 [1, 2] : (tensor<6x15xf32>) -> tensor<2x6x15x26xf32>
    %74 = graph.add %71, %73 : (tensor<2x6x15x26xf32>, tensor<2x6x15x26xf32>) -> tensor<2x6x15x26xf32>
    %75 = graph.read @val_118 : tensor<90x6x15xf32>
    %76 = graph.contract "abc,cde->abde" %y_3, %75 : (tensor<2x26x90xf32>, tensor<90x6x15xf32>) -> tensor<2x26x6x15xf32>
    %77 = graph.read @model.vit.layers.1.attention.v_proj.bias : tensor<6x15xf32>
    %78 = graph.broadcast %77 [2, 3] : (tensor<6x15xf32>) -> tensor<2x26x6x15xf32>
    %79 = graph.add %76, %78 : (tensor<2x26x6x15xf32>, tensor<2x26x6x15xf32>) -> tensor<2x26x6x15xf32>
    %80 = graph.broadcast %1 [] : (tensor<f32>) -> tensor<2x6x26x15xf32>
    %81 = graph.mul %69, %80 : (tensor<2x6x26x15xf32>, tensor<2x6x26x15xf32>) -> tensor<2x6x26x15xf32>
    %82 = graph.broadcast %1 [] : (tensor<f32>) -> tensor<2x6x15x26xf32>
    %83 = graph.mul %74, %82 : (tensor<2x6x15x26xf32>, tensor<2x6x15x26xf32>) -> tensor<2x6x15x26xf32>
    %84 = graph.contract "abcd,abde->abce" %81, %83 : (tensor<2x6x26x15xf32>, tensor<2x6x15x26xf32>) -> tensor<2x6x26x26xf32>
    %85 = graph.softmax %84 [3] : tensor<2x6x26x26xf32>
    %86 = graph.is_nan %85 : (tensor<2x6x26x26xf32>) -> tensor<2x6x26x26xi1>
    %87 = graph.broadcast %0 [] : (tensor<f32>) -> tensor<2x6x26x26xf32>
    %88 = graph.select %86, %87, %85 : (tensor<2x6x26x26xi1>, tensor<2x6x26x26xf32>, tensor<2x6x26x26xf32>) -> tensor<2x6x26x26xf32>
    %89 = graph.contract "abcd,adbe->abce" %88, %79 : (tensor<2x6x26x26xf32>, tensor<2x26x6x15xf32>) -> tensor<2x6x26x15xf32>
    %90 = graph.read @val_162 : tensor<6x15x90xf32>
    %91 = graph.contract "acbd,cde->abe" %89, %90 : (tensor<2x6x26x15xf32>, tensor<6x15x90xf32>) -> tensor<2x26x90xf32>
    %92 = graph.read @model.vit.layers.1.attention.o_proj.bias : tensor<90xf32>
    %93 = graph.broadcast %92 [2] : (tensor<90xf32>) -> tensor<2x26x90xf32>
    %94 = graph.add %91, %93 : (tensor<2x26x90xf32>, tensor<2x26x90xf32>) -> tensor<2x26x90xf32>
    %95 = graph.add %94, %62 : (tensor<2x26x90xf32>, tensor<2x26x90xf32>) -> tensor<2x26x90xf32>
    %96 = graph.read @model.vit.layers.1.layernorm_after.weight : tensor<90xf32>
    %97 = graph.read @model.vit.layers.1.layernorm_after.bias : tensor<90xf32>
    %y_6, %mean_7, %rstd_8 = graph.layer_norm %95, %96, %97 [2] {eps = 9.999999960041972E-13 : f64} : (tensor<2x26x90xf32>, tensor<90xf32>, tensor<90xf32>) -> (tensor<2x26x90xf32>, tensor<2x26xf32>, tensor<2x26xf32>)
    %98 = graph.read @val_166 : tensor<90x149xf32>
    %99 = graph.contract "abc,cd->abd" %y_6, %98 : (tensor<2x26x90xf32>, tensor<90x149xf32>) -> tensor<2x26x149xf32>
    %100 = graph.read @model.vit.layers.1.mlp.fc1.bias : tensor<149xf32>
    %101 = graph.broadcast %100 [2] : (tensor<149xf32>) -> tensor<2x26x149xf32>
    %102 = graph.add %99, %101 : (tensor<2x26x149xf32>, tensor<2x26x149xf32>) -> tensor<2x26x149xf32>
    %103 = graph.gelu %102 {form = #graph<gelu_form exact>} : tensor<2x26x149xf32>
    %104 = graph.read @val_168 : tensor<149x90xf32>
    %105 = graph.contract "abc,cd->abd" %103, %104 : (tensor<2x26x149xf32>, tensor<149x90xf32>) -> tensor<2x26x90xf32>
    %106 = graph.read @model.vit.layers.1.mlp.fc2.bias : tensor<90xf32>
    %107 = graph.broadcast %106 [2] : (tensor<90xf32>) -> tensor<2x26x90xf32>
    %108 = graph.add %105, %107 : (tensor<2x26x90xf32>, tensor<2x26x90xf32>) -> tensor<2x26x90xf32>
    %109 = graph.add %108, %95 : (tensor<2x26x90xf32>, tensor<2x26x90xf32>) -> tensor<2x26x90xf32>
    %110 = graph.read @model.vit.layernorm.weight : tensor<90xf32>
    %111 = graph.read @model.vit.layernorm.bias : tensor<90xf32>
    %y_9, %mean_10, %rstd_11 = graph.layer_norm %109, %110, %111 [2] {eps = 9.999999960041972E-13 : f64} : (tensor<2x26x90xf32>, tensor<90xf32>, tensor<90xf32>) -> (tensor<2x26x90xf32>, tensor<2x26xf32>, tensor<2x26xf32>)
    %112 = graph.slice %y_9 [0, 0, 0] [1, 1, 1] : (tensor<2x26x90xf32>) -> tensor<2x1x90xf32>
    %113 = graph.reshape %112 : (tensor<2x1x90xf32>) -> tensor<2x90xf32>
    %114 = graph.read @model.classifier.weight : tensor<13x90xf32>
    %115 = graph.read @model.classifier.bias : tensor<13xf32>
    %116 = graph.contract "ab,cb->ac" %113, %114 : (tensor<2x90xf32>, tensor<13x90xf32>) -> tensor<2x13xf32>
    %117 = graph.broadcast %115 [1] : (tensor<13xf32>) -> tensor<2x13xf32>
    %118 = graph.add %116, %117 : (tensor<2x13xf32>, tensor<2x13xf32>) -> tensor<2x13xf32>
    %sum, %count, %lse = graph.cross_entropy %118, %arg1 {ignore_index = -100 : i64} : (tensor<2x13xf32>, tensor<2xi64>) -> (tensor<f32>, tensor<f32>, tensor<2xf32>)
    return %sum, %count : tensor<f32>, tensor<f32>
  }
}
