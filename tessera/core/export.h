#pragma once

// TSR_API marks what a shared libtessera exports; everything else is hidden.
#if defined(TSR_SHARED) && defined(TSR_BUILDING)
#define TSR_API __attribute__((visibility("default")))
#else
#define TSR_API
#endif
