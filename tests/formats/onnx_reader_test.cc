// formats/onnx_reader_test.cc
