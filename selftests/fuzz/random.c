// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * random.c - datfuzz: random numbers that depend on the seed alone (splitmix64)
 */
#include "fuzz.h"

static uint64_t state;

/**
 * rnd_seed - begin with a seed
 * @seed: the seed
 */
void rnd_seed(uint64_t seed)
{
	state = seed;
}

/**
 * rnd64 - a random number of 64 bits
 */
uint64_t rnd64(void)
{
	uint64_t z = (state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/**
 * rnd - a random number
 * @limit: more than the largest
 */
unsigned int rnd(unsigned int limit)
{
	return rnd64() % limit;
}

/**
 * one_in - true once in a number of calls, at random
 * @n: the number
 */
bool one_in(unsigned int n)
{
	return !rnd(n);
}
