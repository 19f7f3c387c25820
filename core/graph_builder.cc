#include "core/graph_builder.h"
