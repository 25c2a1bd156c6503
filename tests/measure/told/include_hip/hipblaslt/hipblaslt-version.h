#pragma once

/// As hipblaslt.h beside it.

#define HIPBLASLT_VERSION_MAJOR 1
#define HIPBLASLT_VERSION_MINOR 1
#define HIPBLASLT_VERSION_PATCH 0
