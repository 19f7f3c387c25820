#include "core/reason.h"
