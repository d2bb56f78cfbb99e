/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* kdat.h - <dat/kdat.h> under the name that DAT 2.0 gives it */
#include <dat/kdat.h>
