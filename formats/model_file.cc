#include "formats/model_file.h"
