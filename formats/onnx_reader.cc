#include "formats/onnx_reader.h"
