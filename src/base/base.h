// The ground floor: errors, time, JSON, hashes, patterns. No I/O, no clock, no randomness, nothing global.
// Everything here is a value or a pure function and safe from any thread.
#pragma once

#include "base/error.h"
#include "base/glob.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/time.h"
