// All packings that kernels.def names.
#pragma once
#include "ops/linear/pack.h"
#include "ops/linear/pack_dsp.h"
#include "ops/linear/pack_mve.h"
#include "ops/linear/pack_scalar.h"
