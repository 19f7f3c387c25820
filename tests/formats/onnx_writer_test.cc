// formats/onnx_writer_test.cc
