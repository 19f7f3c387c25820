#include "formats/onnx_writer.h"
