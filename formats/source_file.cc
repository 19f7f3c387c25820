#include "formats/source_file.h"
