// formats/onnx_index_test.cc
