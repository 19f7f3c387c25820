#include "core/subgraphs.h"
