/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * process.h - child processes, random numbers and descriptors, for stress tests
 */
#ifndef SELFTESTS_PROCESS_H
#define SELFTESTS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/**
 * struct servant - a child that carries out tasks
 * @pid: the child
 * @to: pipe for the tasks
 * @from: pipe for the answers
 */
struct servant {
	pid_t pid;
	int to;
	int from;
};

int rounds(int few, int many);
unsigned int random_seed(void);
unsigned int random_below(unsigned int limit);

bool kernel_is_before(unsigned int major, unsigned int minor);

pid_t fork_child(void);
bool kill_child(pid_t pid);

bool servant_start(struct servant *servant, bool (*begin)(const void *arg),
		   int (*carry_out)(int what), const void *arg);
int servant_tell(const struct servant *servant, int what);
void servant_end(struct servant *servant);

bool send_fd(int socket, int fd, const void *data, size_t len);
int receive_fd(int socket, void *data, size_t len);

bool is_filled_with(const unsigned char *buf, size_t len, unsigned char value);

#endif /* SELFTESTS_PROCESS_H */
