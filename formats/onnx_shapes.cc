#include "formats/onnx_shapes.h"
