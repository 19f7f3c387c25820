#include "formats/support_file.h"
