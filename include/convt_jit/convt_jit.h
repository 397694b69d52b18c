// Everything that an application needs.
#pragma once

#include "convt_jit/cache.h"
#include "convt_jit/device.h"
#include "convt_jit/engine.h"
#include "convt_jit/error.h"
#include "convt_jit/kernel.h"
#include "convt_jit/layer.h"
#include "convt_jit/reference.h"
#include "convt_jit/tuner.h"
#include "convt_jit/tuning.h"
