// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * dev.c - /dev/dat: opened once, called, mapped
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

/* Stays open as long as the process lives; a child of fork() shares it. */
static atomic_int dev_fd = -1;
static pthread_mutex_t dev_open_lock = PTHREAD_MUTEX_INITIALIZER;

static DAT_RETURN open_errno_in(int err)
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
		return libdat_errno_in(err);
	}
}

/**
 * libdat_device - the path of the device
 *
 * /dev/dat, or what the environment names in DAT_DEVICE, which a set-user-ID
 * program ignores. Thread safe as long as nobody changes the environment.
 *
 * Return: the path, which is the environment's.
 */
const char *libdat_device(void)
{
	const char *path = secure_getenv("DAT_DEVICE");

	return path ? path : "/dev/dat";
}

/**
 * libdat_open - see to it that the device is open
 *
 * A failure is not remembered: the module may be loaded later. Thread safe.
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
			ret = open_errno_in(errno);
		else
			atomic_store_explicit(&dev_fd, fd,
					      memory_order_release);
	}
	pthread_mutex_unlock(&dev_open_lock);
	return ret;
}

/* The device was never opened, so there are no handles at all. */
static DAT_RETURN no_such_handle(unsigned long cmd)
{
	DAT_RETURN_SUBTYPE subtype;

	switch (cmd) {
	case DAT_DEV_IA_CLOSE:
	case DAT_DEV_IA_QUERY:
	case DAT_DEV_PZ_CREATE:
	case DAT_DEV_EVD_CREATE:
	case DAT_DEV_PSP_CREATE:
	case DAT_DEV_EP_CREATE:
	case DAT_DEV_LMR_CREATE:
	case DAT_DEV_LMR_SYNC:
	case DAT_DEV_PSP_CREATE_ANY:
	case DAT_DEV_RSP_CREATE:
	case DAT_DEV_SRQ_CREATE:
	case DAT_DEV_CNO_CREATE:
		subtype = DAT_INVALID_HANDLE_IA;
		break;
	case DAT_DEV_PZ_QUERY:
	case DAT_DEV_PZ_FREE:
	case DAT_DEV_RMR_CREATE:
		subtype = DAT_INVALID_HANDLE_PZ;
		break;
	case DAT_DEV_PSP_FREE:
	case DAT_DEV_PSP_QUERY:
		subtype = DAT_INVALID_HANDLE_PSP;
		break;
	case DAT_DEV_CR_QUERY:
	case DAT_DEV_CR_ACCEPT:
	case DAT_DEV_CR_REJECT:
	case DAT_DEV_CR_HANDOFF:
		subtype = DAT_INVALID_HANDLE_CR;
		break;
	case DAT_DEV_EP_QUERY:
	case DAT_DEV_EP_CONNECT:
	case DAT_DEV_EP_DISCONNECT:
	case DAT_DEV_EP_GET_STATUS:
	case DAT_DEV_EP_FREE:
	case DAT_DEV_EP_MODIFY:
	case DAT_DEV_EP_RESET:
	case DAT_DEV_EP_DUP_CONNECT:
	case DAT_DEV_EP_RECV_QUERY:
	case DAT_DEV_EP_SET_WATERMARK:
	case DAT_DEV_POST:
		subtype = DAT_INVALID_HANDLE_EP;
		break;
	case DAT_DEV_LMR_QUERY:
	case DAT_DEV_LMR_FREE:
		subtype = DAT_INVALID_HANDLE_LMR;
		break;
	case DAT_DEV_RMR_QUERY:
	case DAT_DEV_RMR_FREE:
		subtype = DAT_INVALID_HANDLE_RMR;
		break;
	case DAT_DEV_RSP_FREE:
	case DAT_DEV_RSP_QUERY:
		subtype = DAT_INVALID_HANDLE_RSP;
		break;
	case DAT_DEV_SRQ_QUERY:
	case DAT_DEV_SRQ_RESIZE:
	case DAT_DEV_SRQ_SET_LW:
	case DAT_DEV_SRQ_FREE:
		subtype = DAT_INVALID_HANDLE_SRQ;
		break;
	case DAT_DEV_CNO_QUERY:
	case DAT_DEV_CNO_WAIT:
	case DAT_DEV_CNO_SET_AGENT:
	case DAT_DEV_CNO_FREE:
		subtype = DAT_INVALID_HANDLE_CNO;
		break;
	default:
		subtype = DAT_INVALID_HANDLE1;
		break;
	}
	return DAT_ERROR(DAT_INVALID_HANDLE, subtype);
}

/**
 * libdat_call - one ioctl
 * @cmd: DAT_DEV_*
 * @arg: its structure, size and input fields filled in
 *
 * Thread safe.
 *
 * Return: the call's DAT_RETURN in DAT 1.2's numbers; DAT_INVALID_HANDLE if no
 * IA was ever opened; what libdat_errno_in() says if the ioctl itself failed.
 */
DAT_RETURN libdat_call(unsigned long cmd, void *arg)
{
	int fd = atomic_load_explicit(&dev_fd, memory_order_acquire);
	const __u32 *size_and_result = arg;

	if (fd < 0)
		return no_such_handle(cmd);
	if (ioctl(fd, cmd, arg) < 0)
		return libdat_errno_in(errno);
	return libdat_return_in(size_and_result[1]);
}

/**
 * libdat_free_call - an ioctl that takes nothing but a handle
 * @cmd: DAT_DEV_*_FREE or DAT_DEV_CR_REJECT
 * @handle: the object
 *
 * Thread safe.
 *
 * Return: as libdat_call().
 */
DAT_RETURN libdat_free_call(unsigned long cmd, DAT_HANDLE handle)
{
	struct dat_dev_free arg = {
		.size = sizeof(arg),
		.handle = libdat_handle_in(handle),
	};

	return libdat_call(cmd, &arg);
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
 * libdat_unmap_ring - the reverse of libdat_map_ring()
 * @ring: the ring
 * @entries: of the ring
 *
 * Thread safe; nobody may look at @ring any more.
 */
void libdat_unmap_ring(struct dat_dev_ring *ring, __u32 entries)
{
	munmap(ring, ring_size(entries));
}
