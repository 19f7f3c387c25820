#include "core/support.h"
