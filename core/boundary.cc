#include "core/boundary.h"
