// formats/onnx_shapes_test.cc
