// All packings that kernels.def names.
#pragma once
#include "ops/linear/pack.h"
