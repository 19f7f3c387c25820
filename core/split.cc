#include "core/split.h"
