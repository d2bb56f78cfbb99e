// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * mpi_traffic.c - five kinds of traffic between the processes of an MPI job
 *
 * Each kind checks what arrives. Prints TAP, in the process of rank 0.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS		20
#define LARGE		(256 * 1024)

static int rank, size;

static unsigned char byte_of(int from, int to, size_t at)
{
	return (unsigned char)(from * 31 + to * 7 + at);
}

static void fill(unsigned char *buf, size_t len, int from, int to)
{
	size_t i;

	for (i = 0; i < len; i++)
		buf[i] = byte_of(from, to, i);
}

static int is_filled(const unsigned char *buf, size_t len, int from, int to)
{
	size_t i;

	for (i = 0; i < len && buf[i] == byte_of(from, to, i); i++)
		;
	if (i < len)
		printf("rank %d: byte %zu of %zu from %d is %#x, not %#x\n", rank, i, len, from,
		       buf[i], byte_of(from, to, i));
	return i == len;
}

/* A number goes round, and each process adds one. */
static int ring(unsigned char *out, unsigned char *in)
{
	int next = (rank + 1) % size, last = (rank + size - 1) % size;
	int i, number = 0;

	(void)out;
	(void)in;
	for (i = 0; i < ROUNDS; i++) {
		if (rank)
			MPI_Recv(&number, 1, MPI_INT, last, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		number++;
		MPI_Send(&number, 1, MPI_INT, next, i, MPI_COMM_WORLD);
		if (!rank)
			MPI_Recv(&number, 1, MPI_INT, last, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	return rank || number == ROUNDS * size;
}

/* Neighbours exchange messages of each size. */
static int ping_pong(unsigned char *out, unsigned char *in)
{
	int other = rank ^ 1, good = 1;
	size_t len;

	if (other >= size)
		return 1;
	for (len = 1; len <= LARGE; len *= 4) {
		fill(out, len, rank, other);
		memset(in, 0, len);
		if (rank & 1) {
			MPI_Recv(in, (int)len, MPI_BYTE, other, 1, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
			MPI_Send(out, (int)len, MPI_BYTE, other, 1, MPI_COMM_WORLD);
		} else {
			MPI_Send(out, (int)len, MPI_BYTE, other, 1, MPI_COMM_WORLD);
			MPI_Recv(in, (int)len, MPI_BYTE, other, 1, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
		}
		good &= is_filled(in, len, other, rank);
	}
	return good;
}

static int all_to_all(unsigned char *out, unsigned char *in)
{
	size_t part = LARGE / (size_t)size;
	int i, good = 1;

	for (i = 0; i < size; i++)
		fill(out + i * part, part, rank, i);
	MPI_Alltoall(out, (int)part, MPI_BYTE, in, (int)part, MPI_BYTE, MPI_COMM_WORLD);
	for (i = 0; i < size; i++)
		good &= is_filled(in + i * part, part, i, rank);
	return good;
}

/* Messages that no receive waits for: rank 0 asks for them in the opposite order. */
static int unexpected(unsigned char *out, unsigned char *in)
{
	MPI_Request request = MPI_REQUEST_NULL;
	int i, from, good = 1;

	if (rank) {
		for (i = 1; i < ROUNDS; i++) {
			fill(out, 1024, rank, i);
			MPI_Send(out, 1024, MPI_BYTE, 0, i, MPI_COMM_WORLD);
		}
		fill(out, LARGE, rank, 0);
		MPI_Isend(out, LARGE, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	for (i = ROUNDS - 1; !rank && i >= 0; i--) {
		int len = i ? 1024 : LARGE;

		for (from = 1; from < size; from++) {
			MPI_Recv(in, len, MPI_BYTE, from, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			good &= is_filled(in, (size_t)len, from, i);
		}
	}
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	return good;
}

/* Each process writes into the memory of the next one, with Puts of @len bytes. */
static int put_all(MPI_Win win, const unsigned char *out, unsigned char *in, int len)
{
	int next = (rank + 1) % size, last = (rank + size - 1) % size;
	int at;

	memset(in, 0, LARGE);
	MPI_Win_fence(0, win);
	for (at = 0; at < LARGE; at += len)
		MPI_Put(out + at, len, MPI_BYTE, next, at, len, MPI_BYTE, win);
	MPI_Win_fence(0, win);
	return is_filled(in, LARGE, last, rank);
}

static int one_sided(unsigned char *out, unsigned char *in)
{
	MPI_Win win;
	int good;

	fill(out, LARGE, rank, (rank + 1) % size);
	MPI_Win_create(in, LARGE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	good = put_all(win, out, in, 4096);
	good &= put_all(win, out, in, LARGE);
	MPI_Win_free(&win);
	return good;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(unsigned char *out, unsigned char *in);
	} kinds[] = {
		{ "ring", ring },
		{ "ping_pong", ping_pong },
		{ "all_to_all", all_to_all },
		{ "unexpected", unexpected },
		{ "one_sided", one_sided },
	};
	unsigned char *out, *in;
	int good, all, failed = 0;
	size_t i;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	out = malloc(LARGE);
	in = malloc(LARGE);
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		good = out && in && kinds[i].run(out, in);
		MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
		failed |= !all;
		if (!rank)
			printf("%s %s with %d processes\n", all ? "good" : "bad", kinds[i].name,
			       size);
	}
	MPI_Finalize();
	free(out);
	free(in);
	return failed;
}
