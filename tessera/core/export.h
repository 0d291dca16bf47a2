#pragma once

// Marks what a shared libtessera exports; everything else is hidden. Objects are the same in a static library.
#define TSR_API __attribute__((visibility("default")))
