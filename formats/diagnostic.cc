#include "formats/diagnostic.h"
