#include "core/preview.h"
