#pragma once  // cuda_language.h has what of it is used
