// The lowest room: errors, time, JSON, hashes, patterns. No I/O, no clock, no randomness, no global state.
// All of it is values and pure functions, safe from any thread.
#pragma once

#include "base/error.h"
#include "base/glob.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/time.h"
