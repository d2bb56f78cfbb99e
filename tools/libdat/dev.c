// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * dev.c - /dev/dat: open, ioctl, map
 *
 * The first dat_ia_open() opens the device. The file stays open as long as the process lives,
 * and the kernel frees its objects when it is closed. A child of fork() therefore closes what it
 * inherits, and opens a file of its own. tools/libdat/check replaces this file to test the rest
 * without a kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libdat.h"

static atomic_int dev_fd = -1;
static pthread_mutex_t dev_open_lock = PTHREAD_MUTEX_INITIALIZER;

/* fork() must not copy the mutex while another thread holds it. */
static void before_fork(void)
{
	pthread_mutex_lock(&dev_open_lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&dev_open_lock);
}

/* The objects of the parent end with the parent, those of the child with the child. */
static void after_fork_in_child(void)
{
	int fd = atomic_exchange_explicit(&dev_fd, -1, memory_order_relaxed);

	if (fd >= 0) {
		close(fd);
		libdat_objects_disown();
		libdat_handles_disown();
	}
	after_fork();
}

static void __attribute__((constructor(LIBDAT_FORK_DEVICE))) dev_init(void)
{
	pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

/**
 * libdat_return_from_errno - translate the errno of a failed ioctl or mmap()
 * @err: errno
 *
 * Thread safe.
 *
 * Return: DAT_INSUFFICIENT_RESOURCES for ENOMEM, DAT_INTERRUPTED_CALL for EINTR,
 * DAT_INVALID_PARAMETER for EFAULT and EINVAL, else DAT_INTERNAL_ERROR.
 */
DAT_RETURN libdat_return_from_errno(int err)
{
	switch (err) {
	case ENOMEM:
		return NO_MEMORY;
	case EINTR:
		return DAT_ERROR(DAT_INTERRUPTED_CALL, DAT_NO_SUBTYPE);
	case EFAULT:
	case EINVAL:
		return DAT_ERROR(DAT_INVALID_PARAMETER, DAT_NO_SUBTYPE);
	default:
		return DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
	}
}

static DAT_RETURN open_error(int err)
{
	switch (err) {
	case ENOENT:
	case ENXIO:
	case ENODEV:
		return DAT_ERROR(DAT_PROVIDER_NOT_FOUND,
				 DAT_NAME_NOT_REGISTERED);
	case EACCES:
	case EPERM:
		return DAT_ERROR(DAT_PROVIDER_NOT_FOUND, DAT_NO_SUBTYPE);
	case EMFILE:
	case ENFILE:
		return DAT_ERROR(DAT_INSUFFICIENT_RESOURCES,
				 DAT_RESOURCE_DEVICE);
	default:
		return libdat_return_from_errno(err);
	}
}

/**
 * libdat_device - the path of the device
 *
 * /dev/dat, or the value of DAT_DEVICE in the environment, which a set-user-ID
 * program ignores. Thread safe unless another thread changes the environment.
 *
 * Return: the path; may point into the environment.
 */
const char *libdat_device(void)
{
	const char *path = secure_getenv("DAT_DEVICE");

	return path ? path : "/dev/dat";
}

/**
 * libdat_open - open the device unless it is open
 *
 * After a failure the next call tries again, because the module may be loaded
 * meanwhile. Thread safe.
 *
 * Return: DAT_SUCCESS; DAT_PROVIDER_NOT_FOUND with DAT_NAME_NOT_REGISTERED if
 * there is no device, without subtype if the process may not open it;
 * DAT_INSUFFICIENT_RESOURCES, with DAT_RESOURCE_DEVICE if there are too many
 * open files; DAT_INTERNAL_ERROR. See dat_ia_open(3DAT).
 */
DAT_RETURN libdat_open(void)
{
	DAT_RETURN ret = DAT_SUCCESS;
	int fd;

	if (atomic_load_explicit(&dev_fd, memory_order_acquire) >= 0)
		return DAT_SUCCESS;

	pthread_mutex_lock(&dev_open_lock);
	if (atomic_load_explicit(&dev_fd, memory_order_relaxed) < 0) {
		fd = open(libdat_device(), O_RDWR | O_CLOEXEC);
		if (fd < 0)
			ret = open_error(errno);
		else
			atomic_store_explicit(&dev_fd, fd,
					      memory_order_release);
	}
	pthread_mutex_unlock(&dev_open_lock);
	return ret;
}

/* The subtype for a handle of any type and of an EVD is its argument number. */
#define DAT_INVALID_HANDLE_ANY	DAT_INVALID_HANDLE1
#define DAT_INVALID_HANDLE_EVD	DAT_INVALID_HANDLE1

/* The device was never opened, so no handle exists. */
static DAT_RETURN no_such_handle(unsigned long cmd)
{
	static const struct {
		unsigned long cmd;
		__u32 subtype;
	} first_handle[] = {
		{ DAT_DEV_IA_CLOSE, DAT_INVALID_HANDLE_IA },
		{ DAT_DEV_IA_QUERY, DAT_INVALID_HANDLE_IA },
		{ DAT_DEV_EVD_CREATE, DAT_INVALID_HANDLE_IA },
		{ DAT_DEV_EP_CREATE, DAT_INVALID_HANDLE_IA },
		{ DAT_DEV_LMR_CREATE, DAT_INVALID_HANDLE_IA },
		{ DAT_DEV_LMR_SYNC, DAT_INVALID_HANDLE_IA },
		{ DAT_DEV_CNO_CREATE, DAT_INVALID_HANDLE_IA },
		{ DAT_DEV_CR_QUERY, DAT_INVALID_HANDLE_CR },
		{ DAT_DEV_CR_ACCEPT, DAT_INVALID_HANDLE_CR },
		{ DAT_DEV_CR_REJECT, DAT_INVALID_HANDLE_CR },
		{ DAT_DEV_CR_HANDOFF, DAT_INVALID_HANDLE_CR },
		{ DAT_DEV_EP_MODIFY, DAT_INVALID_HANDLE_EP },
		{ DAT_DEV_POST, DAT_INVALID_HANDLE_EP },
		{ DAT_DEV_CNO_SET_AGENT, DAT_INVALID_HANDLE_CNO },
		{ DAT_DEV_CNO_FREE, DAT_INVALID_HANDLE_CNO },
#define CALL(...)
#define VIA(...)
#define SHIM(name, type, parameters, arguments, external, cmd, ...) \
		{ cmd, DAT_INVALID_HANDLE_ ## type },
#include "calls.def"
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(first_handle); i++)
		if (first_handle[i].cmd == cmd)
			return DAT_ERROR(DAT_INVALID_HANDLE,
					 first_handle[i].subtype);
	return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
}

/**
 * libdat_call - make one ioctl
 * @cmd: DAT_DEV_*
 * @arg: its structure, size and input fields filled in
 *
 * Thread safe.
 *
 * Return: the DAT_RETURN of the call, in the numbers of the library's DAT;
 * DAT_INVALID_HANDLE if no IA was ever opened; libdat_return_from_errno() if the
 * ioctl itself failed.
 */
DAT_RETURN libdat_call(unsigned long cmd, void *arg)
{
	int fd = atomic_load_explicit(&dev_fd, memory_order_acquire);
	const __u32 *size_and_result = arg;

	if (fd < 0)
		return no_such_handle(cmd);
	if (ioctl(fd, cmd, arg) < 0)
		return libdat_return_from_errno(errno);
	return libdat_return_from_kernel(size_and_result[1]);
}

/**
 * libdat_uring_fd - get the file for a request of io_uring
 * @cmd: the ioctl that the request executes
 * @fd: out: file descriptor of the device
 *
 * Thread safe.
 *
 * Return: DAT_SUCCESS; DAT_INVALID_HANDLE if no IA was ever opened.
 */
DAT_RETURN libdat_uring_fd(unsigned long cmd, int *fd)
{
	*fd = atomic_load_explicit(&dev_fd, memory_order_acquire);
	return *fd < 0 ? no_such_handle(cmd) : DAT_SUCCESS;
}

static size_t ring_size(__u32 entries)
{
	return sizeof(struct dat_dev_ring) +
	       (size_t)entries * sizeof(struct dat_dev_event);
}

/**
 * libdat_map_ring - map the ring of an EVD
 * @evd: the kernel's handle
 * @entries: of the ring
 *
 * Thread safe.
 *
 * Return: the ring, or NULL and errno.
 */
struct dat_dev_ring *libdat_map_ring(__u32 evd, __u32 entries)
{
	off_t offset = (off_t)evd * sysconf(_SC_PAGESIZE);
	void *ring;

	ring = mmap(NULL, ring_size(entries), PROT_READ | PROT_WRITE,
		    MAP_SHARED, atomic_load(&dev_fd), offset);
	return ring == MAP_FAILED ? NULL : ring;
}

/**
 * libdat_unmap_ring - unmap the ring of an EVD
 * @ring: the ring
 * @entries: of the ring
 *
 * Thread safe; no thread may use @ring any more.
 */
void libdat_unmap_ring(struct dat_dev_ring *ring, __u32 entries)
{
	munmap(ring, ring_size(entries));
}
