#include "core/fusion.h"
