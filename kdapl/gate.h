/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * gate.h - opening and closing the gate of an IA; passing it is in ia.h
 */
#ifndef _KDAPL_GATE_H
#define _KDAPL_GATE_H

#include "ia.h"

void dat_ia_gate_init(struct dat_ia *ia);
void dat_ia_gate_close(struct dat_ia *ia, enum dat_ia_gate why);
void dat_ia_gate_seal(struct dat_ia *ia);
void dat_ia_gate_open(struct dat_ia *ia);

#endif /* _KDAPL_GATE_H */
