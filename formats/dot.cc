#include "formats/dot.h"
