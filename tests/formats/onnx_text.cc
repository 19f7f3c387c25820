// formats/onnx_text.cc
