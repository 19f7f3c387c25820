#include "core/graph.h"
