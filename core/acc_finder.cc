#include "core/acc_finder.h"
