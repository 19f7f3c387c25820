// formats/onnx_shape_rules.cc
