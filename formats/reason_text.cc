#include "formats/reason_text.h"
