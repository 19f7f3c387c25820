#include "formats/output_folder.h"
