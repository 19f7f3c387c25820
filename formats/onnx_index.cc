// formats/onnx_index.cc
