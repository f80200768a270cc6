// All packings that kernels.def names.
#pragma once
#include "ops/conv2d/pack.h"
#include "ops/conv2d/pack_dsp.h"
#include "ops/conv2d/pack_mve.h"
#include "ops/conv2d/pack_mve_depthwise.h"
#include "ops/conv2d/pack_scalar.h"
