module {
  graph.state @model.cls.predictions.decoder.weight : tensor<257x78xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.cls.predictions.decoder.weight", saved_shape = array<i64: 257, 78>, trainable = true}
  graph.state @model.bert.embeddings.token_type_embeddings.weight : tensor<2x78xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.bert.embeddings.token_type_embeddings.weight", saved_shape = array<i64: 2, 78>, trainable = true}
  graph.state @model.bert.embeddings.position_embeddings.weight : tensor<64x78xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.bert.embeddings.position_embeddings.weight", saved_shape = array<i64: 64, 78>, trainable = true}
  graph.state @model.bert.embeddings.LayerNorm.weight : tensor<78xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.bert.embeddings.LayerNorm.weight", saved_shape = array<i64: 78>, trainable = true}
  graph.state @model.bert.embeddings.LayerNorm.bias : tensor<78xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.bert.embeddings.LayerNorm.bias", saved_shape = array<i64: 78>, trainable = true}
  graph.state @val_94 : tensor<78x6x13xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_94", saved_shape = array<i64: 78, 78>, trainable = true}
  graph.state @model.bert.encoder.layer.0.attention.self.query.bias : tensor<6x13xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.bert.encoder.layer.0.attention.self.query.bias", saved_shape = array<i64: 78>, trainable = true}
  graph.state @val_102 : tensor<78x6x13xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_102", saved_shape = array<i64: 78, 78>, trainable = true}
  graph.state @model.bert.encoder.layer.0.attention.self.key.bias : tensor<6x13xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.bert.encoder.layer.0.attention.self.key.bias", saved_shape = array<i64: 78>, trainable = true}
  graph.state @val_110 : tensor<78x6x13xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_110", saved_shape = array<i64: 78, 78>, trainable = true}
  graph.state @model.bert.encoder.layer.0.attention.self.value.bias : tensor<6x13xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.bert.encoder.layer.0.attention.self.value.bias", saved_shape = array<i64: 78>, trainable = true}
  graph.state @val_156 : tensor<6x13x78xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_156", saved_shape = array<i64: 78, 78>, trainable = true}
  graph.state @model.bert.encoder.layer.0.attention.output.dense.bias : tensor<78xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.bert.encoder.layer.0.attention.output.dense.bias", saved_shape = array<i64: 78>, trainable = true}
  graph.state @model.bert.encoder.layer.0.attention.output.LayerNorm.weight : tensor<78xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.bert.encoder.layer.0.attention.output.LayerNorm.weight", saved_shape = array<i64: 78>, trainable = true}
  graph.state @model.bert.encoder.layer.0.attention.output.LayerNorm.bias : tensor<78xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.bert.encoder.layer.0.attention.output.LayerNorm.bias", saved_shape = array<i64: 78>, trainable = true}
  graph.state @val_160 : tensor<78x157xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_160", saved_shape = array<i64: 78, 157>, trainable = true}
  graph.state @model.bert.encoder.layer.0.intermediate.dense.bias : tensor<157xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.bert.encoder.layer.0.intermediate.dense.bias", saved_shape = array<i64: 157>, trainable = true}
  graph.state @val_162 : tensor<157x78xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_162", saved_shape = array<i64: 157, 78>, trainable = true}
  graph.state @model.bert.encoder.layer.0.output.dense.bias : tensor<78xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.bert.encoder.layer.0.output.dense.bias", saved_shape = array<i64: 78>, trainable = true}
  graph.state @model.bert.encoder.layer.0.output.LayerNorm.weight : tensor<78xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.bert.encoder.layer.0.output.LayerNorm.weight", saved_shape = array<i64: 78>, trainable = true}
  graph.state @model.bert.encoder.layer.0.output.LayerNorm.bias : tensor<78xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.bert.encoder.layer.0.output.LayerNorm.bias", saved_shape = array<i64: 78>, trainable = true}
  graph.state @val_166 : tensor<78x6x13xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_166", saved_shape = array<i64: 78, 78>, trainable = true}
  graph.state @model.bert.encoder.layer.1.attention.self.query.bias : tensor<6x13xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.bert.encoder.layer.1.attention.self.query.bias", saved_shape = array<i64: 78>, trainable = true}
  graph.state @val_174 : tensor<78x6x13xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_174", saved_shape = array<i64: 78, 78>, trainable = true}
  graph.state @model.bert.encoder.layer.1.attention.self.key.bias : tensor<6x13xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.bert.encoder.layer.1.attention.self.key.bias", saved_shape = array<i64: 78>, trainable = true}
  graph.state @val_182 : tensor<78x6x13xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_182", saved_shape = array<i64: 78, 78>, trainable = true}
  graph.state @model.bert.encoder.layer.1.attention.self.value.bias : tensor<6x13xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.bert.encoder.layer.1.attention.self.value.bias", saved_shape = array<i64: 78>, trainable = true}
  graph.state @val_226 : tensor<6x13x78xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_226", saved_shape = array<i64: 78, 78>, trainable = true}
  graph.state @model.bert.encoder.layer.1.attention.output.dense.bias : tensor<78xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.bert.encoder.layer.1.attention.output.dense.bias", saved_shape = array<i64: 78>, trainable = true}
  graph.state @model.bert.encoder.layer.1.attention.output.LayerNorm.weight : tensor<78xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.bert.encoder.layer.1.attention.output.LayerNorm.weight", saved_shape = array<i64: 78>, trainable = true}
  graph.state @model.bert.encoder.layer.1.attention.output.LayerNorm.bias : tensor<78xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.bert.encoder.layer.1.attention.output.LayerNorm.bias", saved_shape = array<i64: 78>, trainable = true}
  graph.state @val_230 : tensor<78x157xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_230", saved_shape = array<i64: 78, 157>, trainable = true}
  graph.state @model.bert.encoder.layer.1.intermediate.dense.bias : tensor<157xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.bert.encoder.layer.1.intermediate.dense.bias", saved_shape = array<i64: 157>, trainable = true}
  graph.state @val_232 : tensor<157x78xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_232", saved_shape = array<i64: 157, 78>, trainable = true}
  graph.state @model.bert.encoder.layer.1.output.dense.bias : tensor<78xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.bert.encoder.layer.1.output.dense.bias", saved_shape = array<i64: 78>, trainable = true}
  graph.state @model.bert.encoder.layer.1.output.LayerNorm.weight : tensor<78xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.bert.encoder.layer.1.output.LayerNorm.weight", saved_shape = array<i64: 78>, trainable = true}
  graph.state @model.bert.encoder.layer.1.output.LayerNorm.bias : tensor<78xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.bert.encoder.layer.1.output.LayerNorm.bias", saved_shape = array<i64: 78>, trainable = true}
  graph.state @val_236 : tensor<78x78xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "val_236", saved_shape = array<i64: 78, 78>, trainable = true}
  graph.state @model.cls.predictions.transform.dense.bias : tensor<78xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.cls.predictions.transform.dense.bias", saved_shape = array<i64: 78>, trainable = true}
  graph.state @model.cls.predictions.transform.LayerNorm.weight : tensor<78xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.cls.predictions.transform.LayerNorm.weight", saved_shape = array<i64: 78>, trainable = true}
  graph.state @model.cls.predictions.transform.LayerNorm.bias : tensor<78xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.cls.predictions.transform.LayerNorm.bias", saved_shape = array<i64: 78>, trainable = true}
  graph.state @model.cls.predictions.decoder.bias : tensor<257xf32> {init = #graph.init<uniform, -0.3, 0.3>, decay = true, role = #graph<role parameter>, saved_name = "model.cls.predictions.decoder.bias", saved_shape = array<i64: 257>, trainable = true}
  func.func @loss(%arg0: tensor<2x5xi64> {graph.bounds = array<i64: 0, 257, 0>, graph.name = "input_ids", graph.role = "tokens"}, %arg1: tensor<2x5xi64> {graph.name = "attention_mask", graph.role = "data"}, %arg2: tensor<2x5xi64> {graph.bounds = array<i64: 0, 257, -100>, graph.name = "labels", graph.role = "labels"}) -> (tensor<f32>, tensor<f32>) {
    %0 = graph.constant dense<-3.40282347E+38> : tensor<f32> : tensor<f32>
    %1 = graph.constant dense<0.000000e+00> : tensor<f32> : tensor<f32>
    %2 = graph.constant dense<0.526640415> : tensor<f32> : tensor<f32>
    %3 = graph.constant dense<[0, 1, 2, 3, 4]> : tensor<5xi64> : tensor<5xi64>
    %4 = graph.constant dense<0> : tensor<i64> : tensor<i64>
    %5 = graph.read @model.cls.predictions.decoder.weight : tensor<257x78xf32>
    %6 = graph.embedding %5, %arg0 : (tensor<257x78xf32>, tensor<2x5xi64>) -> tensor<2x5x78xf32>
    %7 = graph.read @model.bert.embeddings.token_type_embeddings.weight : tensor<2x78xf32>
    %8 = graph.broadcast %4 [] : (tensor<i64>) -> tensor<2x5xi64>
    %9 = graph.embedding %7, %8 : (tensor<2x78xf32>, tensor<2x5xi64>) -> tensor<2x5x78xf32>
    %10 = graph.add %6, %9 : (tensor<2x5x78xf32>, tensor<2x5x78xf32>) -> tensor<2x5x78xf32>
    %11 = graph.read @model.bert.embeddings.position_embeddings.weight : tensor<64x78xf32>
    %12 = graph.embedding %11, %3 : (tensor<64x78xf32>, tensor<5xi64>) -> tensor<5x78xf32>
    %13 = graph.broadcast %12 [1, 2] : (tensor<5x78xf32>) -> tensor<2x5x78xf32>
    %14 = graph.add %10, %13 : (tensor<2x5x78xf32>, tensor<2x5x78xf32>) -> tensor<2x5x78xf32>
    %15 = graph.read @model.bert.embeddings.LayerNorm.weight : tensor<78xf32>
    %16 = graph.read @model.bert.embeddings.LayerNorm.bias : tensor<78xf32>
    %y, %mean, %rstd = graph.layer_norm %14, %15, %16 [2] {eps = 9.999999960041972E-13 : f64} : (tensor<2x5x78xf32>, tensor<78xf32>, tensor<78xf32>) -> (tensor<2x5x78xf32>, tensor<2x5xf32>, tensor<2x5xf32>)
    %17 = graph.broadcast %4 [] : (tensor<i64>) -> tensor<2x5xi64>
    %18 = graph.compare  ne %arg1, %17 : (tensor<2x5xi64>, tensor<2x5xi64>) -> tensor<2x5xi1>
    %19 = graph.broadcast %18 [0, 2] : (tensor<2x5xi1>) -> tensor<2x5x5xi1>
    %20 = graph.read @val_94 : tensor<78x6x13xf32>
    %21 = graph.contract "abc,cde->adbe" %y, %20 : (tensor<2x5x78xf32>, tensor<78x6x13xf32>) -> tensor<2x6x5x13xf32>
    %22 = graph.read @model.bert.encoder.layer.0.attention.self.query.bias : tensor<6x13xf32>
    %23 = graph.broadcast %22 [1, 3] : (tensor<6x13xf32>) -> tensor<2x6x5x13xf32>
    %24 = graph.add %21, %23 : (tensor<2x6x5x13xf32>, tensor<2x6x5x13xf32>) -> tensor<2x6x5x13xf32>
    %25 = graph.read @val_102 : tensor<78x6x13xf32>
    %26 = graph.contract "abc,cde->adeb" %y, %25 : (tensor<2x5x78xf32>, tensor<78x6x13xf32>) -> tensor<2x6x13x5xf32>
    %27 = graph.read @model.bert.encoder.layer.0.attention.self.key.bias : tensor<6x13xf32>
    %28 = graph.broadcast %27 [1, 2] : (tensor<6x13xf32>) -> tensor<2x6x13x5xf32>
    %29 = graph.add %26, %28 : (tensor<2x6x13x5xf32>, tensor<2x6x13x5xf32>) -> tensor<2x6x13x5xf32>
    %30 = graph.read @val_110 : tensor<78x6x13xf32>
    %31 = graph.contract "abc,cde->abde" %y, %30 : (tensor<2x5x78xf32>, tensor<78x6x13xf32>) -> tensor<2x5x6x13xf32>
    %32 = graph.read @model.bert.encoder.layer.0.attention.self.value.bias : tensor<6x13xf32>
    %33 = graph.broadcast %32 [2, 3] : (tensor<6x13xf32>) -> tensor<2x5x6x13xf32>
    %34 = graph.add %31, %33 : (tensor<2x5x6x13xf32>, tensor<2x5x6x13xf32>) -> tensor<2x5x6x13xf32>
    %35 = graph.broadcast %2 [] : (tensor<f32>) -> tensor<2x6x5x13xf32>
    %36 = graph.mul %24, %35 : (tensor<2x6x5x13xf32>, tensor<2x6x5x13xf32>) -> tensor<2x6x5x13xf32>
    %37 = graph.broadcast %2 [] : (tensor<f32>) -> tensor<2x6x13x5xf32>
    %38 = graph.mul %29, %37 : (tensor<2x6x13x5xf32>, tensor<2x6x13x5xf32>) -> tensor<2x6x13x5xf32>
    %39 = graph.broadcast %1 [] : (tensor<f32>) -> tensor<2x5x5xf32>
    %40 = graph.broadcast %0 [] : (tensor<f32>) -> tensor<2x5x5xf32>
    %41 = graph.select %19, %39, %40 : (tensor<2x5x5xi1>, tensor<2x5x5xf32>, tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
    %42 = graph.contract "abcd,abde->abce" %36, %38 : (tensor<2x6x5x13xf32>, tensor<2x6x13x5xf32>) -> tensor<2x6x5x5xf32>
    %43 = graph.broadcast %41 [0, 2, 3] : (tensor<2x5x5xf32>) -> tensor<2x6x5x5xf32>
    %44 = graph.add %42, %43 : (tensor<2x6x5x5xf32>, tensor<2x6x5x5xf32>) -> tensor<2x6x5x5xf32>
    %45 = graph.softmax %44 [3] : tensor<2x6x5x5xf32>
    %46 = graph.is_nan %45 : (tensor<2x6x5x5xf32>) -> tensor<2x6x5x5xi1>
    %47 = graph.broadcast %1 [] : (tensor<f32>) -> tensor<2x6x5x5xf32>
    %48 = graph.select %46, %47, %45 : (tensor<2x6x5x5xi1>, tensor<2x6x5x5xf32>, tensor<2x6x5x5xf32>) -> tensor<2x6x5x5xf32>
    %49 = graph.contract "abcd,adbe->abce" %48, %34 : (tensor<2x6x5x5xf32>, tensor<2x5x6x13xf32>) -> tensor<2x6x5x13xf32>
    %50 = graph.read @val_156 : tensor<6x13x78xf32>
    %51 = graph.contract "acbd,cde->abe" %49, %50 : (tensor<2x6x5x13xf32>, tensor<6x13x78xf32>) -> tensor<2x5x78xf32>
    %52 = graph.read @model.bert.encoder.layer.0.attention.output.dense.bias : tensor<78xf32>
    %53 = graph.broadcast %52 [2] : (tensor<78xf32>) -> tensor<2x5x78xf32>
    %54 = graph.add %51, %53 : (tensor<2x5x78xf32>, tensor<2x5x78xf32>) -> tensor<2x5x78xf32>
    %55 = graph.add %54, %y : (tensor<2x5x78xf32>, tensor<2x5x78xf32>) -> tensor<2x5x78xf32>
    %56 = graph.read @model.bert.encoder.layer.0.attention.output.LayerNorm.weight : tensor<78xf32>
    %57 = graph.read @model.bert.encoder.layer.0.attention.output.LayerNorm.bias : tensor<78xf32>
    %y_0, %mean_1, %rstd_2 = graph.layer_norm %55, %56, %57 [2] {eps = 9.999999960041972E-13 : f64} : (tensor<2x5x78xf32>, tensor<78xf32>, tensor<78xf32>) -> (tensor<2x5x78xf32>, tensor<2x5xf32>, tensor<2x5xf32>)
    %58 = graph.read @val_160 : tensor<78x157xf32>
    %59 = graph.contract "abc,cd->abd" %y_0, %58 : (tensor<2x5x78xf32>, tensor<78x157xf32>) -> tensor<2x5x157xf32>
    %60 = graph.read @model.bert.encoder.layer.0.intermediate.dense.bias : tensor<157xf32>
    %61 = graph.broadcast %60 [2] : (tensor<157xf32>) -> tensor<2x5x157xf32>
    %62 = graph.add %59, %61 : (tensor<2x5x157xf32>, tensor<2x5x157xf32>) -> tensor<2x5x157xf32>
    %63 = graph.gelu %62 {form = #graph<gelu_form exact>} : tensor<2x5x157xf32>
    %64 = graph.read @val_162 : tensor<157x78xf32>
    %65 = graph.contract "abc,cd->abd" %63, %64 : (tensor<2x5x157xf32>, tensor<157x78xf32>) -> tensor<2x5x78xf32>
    %66 = graph.read @model.bert.encoder.layer.0.output.dense.bias : tensor<78xf32>
    %67 = graph.broadcast %66 [2] : (tensor<78xf32>) -> tensor<2x5x78xf32>
    %68 = graph.add %65, %67 : (tensor<2x5x78xf32>, tensor<2x5x78xf32>) -> tensor<2x5x78xf32>
    %69 = graph.add %68, %y_0 : (tensor<2x5x78xf32>, tensor<2x5x78xf32>) -> tensor<2x5x78xf32>
    %70 = graph.read @model.bert.encoder.layer.0.output.LayerNorm.weight : tensor<78xf32>
    %71 = graph.read @model.bert.encoder.layer.0.output.LayerNorm.bias : tensor<78xf32>
    %y_3, %mean_4, %rstd_5 = graph.layer_norm %69, %70, %71 [2] {eps = 9.999999960041972E-13 : f64} : (tensor<2x5x78xf32>, tensor<78xf32>, tensor<78xf32>) -> (tensor<2x5x78xf32>, tensor<2x5xf32>, tensor<2x5xf32>)
    %72 = graph.read @val_166 : tensor<78x6x13xf32>
    %73 = graph.contract "abc,cde->adbe" %y_3, %72 : (tensor<2x5x78xf32>, tensor<78x6x13xf32>) -> tensor<2x6x5x13xf32>
    %74 = graph.read @model.bert.encoder.layer.1.attention.self.query.bias : tensor<6x13xf32>
    %75 = graph.broadcast %74 [1, 3] : (tensor<6x13xf32>) -> tensor<2x6x5x13xf32>
    %76 = graph.add %73, %75 : (tensor<2x6x5x13xf32>, tensor<2x6x5x13xf32>) -> tensor<2x6x5x13xf32>
    %77 = graph.read @val_174 : tensor<78x6x13xf32>
    %78 = graph.contract "abc,cde->adeb" %y_3, %77 : (tensor<2x5x78xf32>, tensor<78x6x13xf32>) -> tensor<2x6x13x5xf32>
    %79 = graph.read @model.bert.encoder.layer.1.attention.self.key.bias : tensor<6x13xf32>
    %80 = graph.broadcast %79 [1, 2] : (tensor<6x13xf32>) -> tensor<2x6x13x5xf32>
    %81 = graph.add %78, %80 : (tensor<2x6x13x5xf32>, tensor<2x6x13x5xf32>) -> tensor<2x6x13x5xf32>
    %82 = graph.read @val_182 : tensor<78x6x13xf32>
    %83 = graph.contract "abc,cde->abde" %y_3, %82 : (tensor<2x5x78xf32>, tensor<78x6x13xf32>) -> tensor<2x5x6x13xf32>
    %84 = graph.read @model.bert.encoder.layer.1.attention.self.value.bias : tensor<6x13xf32>
    %85 = graph.broadcast %84 [2, 3] : (tensor<6x13xf32>) -> tensor<2x5x6x13xf32>
    %86 = graph.add %83, %85 : (tensor<2x5x6x13xf32>, tensor<2x5x6x13xf32>) -> tensor<2x5x6x13xf32>
    %87 = graph.broadcast %2 [] : (tensor<f32>) -> tensor<2x6x5x13xf32>
    %88 = graph.mul %76, %87 : (tensor<2x6x5x13xf32>, tensor<2x6x5x13xf32>) -> tensor<2x6x5x13xf32>
    %89 = graph.broadcast %2 [] : (tensor<f32>) -> tensor<2x6x13x5xf32>
    %90 = graph.mul %81, %89 : (tensor<2x6x13x5xf32>, tensor<2x6x13x5xf32>) -> tensor<2x6x13x5xf32>
    %91 = graph.contract "abcd,abde->abce" %88, %90 : (tensor<2x6x5x13xf32>, tensor<2x6x13x5xf32>) -> tensor<2x6x5x5xf32>
    %92 = graph.broadcast %41 [0, 2, 3] : (tensor<2x5x5xf32>) -> tensor<2x6x5x5xf32>
    %93 = graph.add %91, %92 : (tensor<2x6x5x5xf32>, tensor<2x6x5x5xf32>) -> tensor<2x6x5x5xf32>
    %94 = graph.softmax %93 [3] : tensor<2x6x5x5xf32>
    %95 = graph.is_nan %94 : (tensor<2x6x5x5xf32>) -> tensor<2x6x5x5xi1>
    %96 = graph.broadcast %1 [] : (tensor<f32>) -> tensor<2x6x5x5xf32>
    %97 = graph.select %95, %96, %94 : (tensor<2x6x5x5xi1>, tensor<2x6x5x5xf32>, tensor<2x6x5x5xf32>) -> tensor<2x6x5x5xf32>
    %98 = graph.contract "abcd,adbe->abce" %97, %86 : (tensor<2x6x5x5xf32>, tensor<2x5x6x13xf32>) -> tensor<2x6x5x13xf32>
    %99 = graph.read @val_226 : tensor<6x13x78xf32>
    %100 = graph.contract "acbd,cde->abe" %98, %99 : (tensor<2x6x5x13xf32>, tensor<6x13x78xf32>) -> tensor<2x5x78xf32>
    %101 = graph.read @model.bert.encoder.layer.1.attention.output.dense.bias : tensor<78xf32>
    %102 = graph.broadcast %101 [2] : (tensor<78xf32>) -> tensor<2x5x78xf32>
    %103 = graph.add %100, %102 : (tensor<2x5x78xf32>, tensor<2x5x78xf32>) -> tensor<2x5x78xf32>
    %104 = graph.add %103, %y_3 : (tensor<2x5x78xf32>, tensor<2x5x78xf32>) -> tensor<2x5x78xf32>
    %105 = graph.read @model.bert.encoder.layer.1.attention.output.LayerNorm.weight : tensor<78xf32>
    %106 = graph.read @model.bert.encoder.layer.1.attention.output.LayerNorm.bias : tensor<78xf32>
    %y_6, %mean_7, %rstd_8 = graph.layer_norm %104, %105, %106 [2] {eps = 9.999999960041972E-13 : f64} : (tensor<2x5x78xf32>, tensor<78xf32>, tensor<78xf32>) -> (tensor<2x5x78xf32>, tensor<2x5xf32>, tensor<2x5xf32>)
    %107 = graph.read @val_230 : tensor<78x157xf32>
    %108 = graph.contract "abc,cd->abd" %y_6, %107 : (tensor<2x5x78xf32>, tensor<78x157xf32>) -> tensor<2x5x157xf32>
    %109 = graph.read @model.bert.encoder.layer.1.intermediate.dense.bias : tensor<157xf32>
    %110 = graph.broadcast %109 [2] : (tensor<157xf32>) -> tensor<2x5x157xf32>
    %111 = graph.add %108, %110 : (tensor<2x5x157xf32>, tensor<2x5x157xf32>) -> tensor<2x5x157xf32>
    %112 = graph.gelu %111 {form = #graph<gelu_form exact>} : tensor<2x5x157xf32>
    %113 = graph.read @val_232 : tensor<157x78xf32>
    %114 = graph.contract "abc,cd->abd" %112, %113 : (tensor<2x5x157xf32>, tensor<157x78xf32>) -> tensor<2x5x78xf32>
    %115 = graph.read @model.bert.encoder.layer.1.output.dense.bias : tensor<78xf32>
    %116 = graph.broadcast %115 [2] : (tensor<78xf32>) -> tensor<2x5x78xf32>
    %117 = graph.add %114, %116 : (tensor<2x5x78xf32>, tensor<2x5x78xf32>) -> tensor<2x5x78xf32>
    %118 = graph.add %117, %y_6 : (tensor<2x5x78xf32>, tensor<2x5x78xf32>) -> tensor<2x5x78xf32>
    %119 = graph.read @model.bert.encoder.layer.1.output.LayerNorm.weight : tensor<78xf32>
    %120 = graph.read @model.bert.encoder.layer.1.output.LayerNorm.bias : tensor<78xf32>
    %y_9, %mean_10, %rstd_11 = graph.layer_norm %118, %119, %120 [2] {eps = 9.999999960041972E-13 : f64} : (tensor<2x5x78xf32>, tensor<78xf32>, tensor<78xf32>) -> (tensor<2x5x78xf32>, tensor<2x5xf32>, tensor<2x5xf32>)
    %121 = graph.read @val_236 : tensor<78x78xf32>
    %122 = graph.contract "abc,cd->abd" %y_9, %121 : (tensor<2x5x78xf32>, tensor<78x78xf32>) -> tensor<2x5x78xf32>
    %123 = graph.read @model.cls.predictions.transform.dense.bias : tensor<78xf32>
    %124 = graph.broadcast %123 [2] : (tensor<78xf32>) -> tensor<2x5x78xf32>
    %125 = graph.add %122, %124 : (tensor<2x5x78xf32>, tensor<2x5x78xf32>) -> tensor<2x5x78xf32>
    %126 = graph.gelu %125 {form = #graph<gelu_form exact>} : tensor<2x5x78xf32>
    %127 = graph.read @model.cls.predictions.transform.LayerNorm.weight : tensor<78xf32>
    %128 = graph.read @model.cls.predictions.transform.LayerNorm.bias : tensor<78xf32>
    %y_12, %mean_13, %rstd_14 = graph.layer_norm %126, %127, %128 [2] {eps = 9.999999960041972E-13 : f64} : (tensor<2x5x78xf32>, tensor<78xf32>, tensor<78xf32>) -> (tensor<2x5x78xf32>, tensor<2x5xf32>, tensor<2x5xf32>)
    %129 = graph.contract "abc,dc->abd" %y_12, %5 : (tensor<2x5x78xf32>, tensor<257x78xf32>) -> tensor<2x5x257xf32>
    %130 = graph.read @model.cls.predictions.decoder.bias : tensor<257xf32>
    %131 = graph.broadcast %130 [2] : (tensor<257xf32>) -> tensor<2x5x257xf32>
    %132 = graph.add %129, %131 : (tensor<2x5x257xf32>, tensor<2x5x257xf32>) -> tensor<2x5x257xf32>
    %sum, %count, %lse = graph.cross_entropy %132, %arg2 {ignore_index = -100 : i64} : (tensor<2x5x257xf32>, tensor<2x5xi64>) -> (tensor<f32>, tensor<f32>, tensor<2x5xf32>)
    return %sum, %count : tensor<f32>, tensor<f32>
  }
}
