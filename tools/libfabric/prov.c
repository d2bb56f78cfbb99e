// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * prov.c - what libfabric loads, and what all objects need
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/providers/fi_log.h>

#include "kfi.h"

static void cleanup(void)
{
}

struct fi_provider kfi_provider = {
	.version = KFI_VERSION,
	.fi_version = KFI_API_VERSION,
	.name = "kdapl",
	.getinfo = kfi_getinfo,
	.fabric = kfi_fabric,
	.cleanup = cleanup,
};

struct fi_provider *fi_prov_ini(void);

/**
 * fi_prov_ini - the entry of the provider, see fi_provider(7)
 *
 * Return: the provider.
 */
__attribute__((visibility("default"))) struct fi_provider *fi_prov_ini(void)
{
	return &kfi_provider;
}

/**
 * kfi_errno - translate a DAT_RETURN
 * @ret: the value
 *
 * Return: 0 or a negative error of fi_errno(3).
 */
int kfi_errno(DAT_RETURN ret)
{
	switch (DAT_GET_TYPE(ret)) {
	case DAT_SUCCESS:
		return 0;
	case DAT_QUEUE_EMPTY:
		return -FI_EAGAIN;
	case DAT_INSUFFICIENT_RESOURCES:
		return -FI_ENOMEM;
	case DAT_INVALID_STATE:
		return -FI_EOPBADSTATE;
	case DAT_LENGTH_ERROR:
		return -FI_EMSGSIZE;
	case DAT_PROTECTION_VIOLATION:
	case DAT_PRIVILEGES_VIOLATION:
		return -FI_EACCES;
	case DAT_CONN_QUAL_IN_USE:
		return -FI_EADDRINUSE;
	case DAT_CONN_QUAL_UNAVAILABLE:
	case DAT_INVALID_ADDRESS:
		return -FI_EADDRNOTAVAIL;
	case DAT_PROVIDER_NOT_FOUND:
	case DAT_INTERNAL_ERROR:
		return -FI_ENODEV;
	case DAT_TIMEOUT_EXPIRED:
		return -FI_ETIMEDOUT;
	case DAT_INTERRUPTED_CALL:
		return -FI_EINTR;
	case DAT_ABORT:
		return -FI_ECANCELED;
	case DAT_MODEL_NOT_SUPPORTED:
	case DAT_NOT_IMPLEMENTED:
		return -FI_ENOSYS;
	default:
		return -FI_EINVAL;
	}
}

/**
 * kfi_failed - log the result of a call of DAT, and translate it
 * @call: the name of the call
 * @ret: its value; DAT_SUCCESS is not logged
 *
 * A program or FI_LOG_LEVEL=warn shows the log.
 *
 * Return: as kfi_errno().
 */
int kfi_failed(const char *call, DAT_RETURN ret)
{
	const char *major = "", *minor = "";

	if (ret == DAT_SUCCESS)
		return 0;
	dat_strerror(ret, &major, &minor);
	FI_WARN(&kfi_provider, FI_LOG_CORE, "%s: %s %s\n", call, major, minor);
	return kfi_errno(ret);
}

/**
 * kfi_dto_errno - translate the status of a completion
 * @status: the status
 *
 * Return: 0 or a positive error of fi_errno(3).
 */
int kfi_dto_errno(DAT_DTO_COMPLETION_STATUS status)
{
	switch (status) {
	case DAT_DTO_SUCCESS:
		return 0;
	case DAT_DTO_ERR_FLUSHED:
		return FI_ECANCELED;
	case DAT_DTO_ERR_LOCAL_LENGTH:
	case DAT_DTO_ERR_PARTIAL_PACKET:
		return FI_ETRUNC;
	case DAT_DTO_ERR_LOCAL_PROTECTION:
	case DAT_DTO_ERR_REMOTE_ACCESS:
		return FI_EACCES;
	case DAT_DTO_ERR_REMOTE_RESPONDER:
		return FI_EREMOTEIO;
	case DAT_DTO_ERR_RECEIVER_NOT_READY:
		return FI_ENORX;
	default:
		return FI_EIO;
	}
}

/**
 * kfi_text - the text of an error
 * @text: the text
 * @buf: out: a copy, unless NULL
 * @len: bytes of @buf
 *
 * Return: @text.
 */
const char *kfi_text(const char *text, char *buf, size_t len)
{
	if (buf)
		snprintf(buf, len, "%s", text);
	return text;
}

/**
 * kfi_get - count a user of an object
 * @refs: its counter
 */
void kfi_get(int *refs)
{
	__atomic_add_fetch(refs, 1, __ATOMIC_RELAXED);
}

/**
 * kfi_put - uncount a user of an object
 * @refs: its counter
 */
void kfi_put(int *refs)
{
	__atomic_sub_fetch(refs, 1, __ATOMIC_RELEASE);
}

/**
 * kfi_is_used - test whether an object has users
 * @refs: its counter
 *
 * Return: true if fi_close() must fail with -FI_EBUSY.
 */
bool kfi_is_used(int *refs)
{
	return __atomic_load_n(refs, __ATOMIC_ACQUIRE);
}

/**
 * kfi_no_bind - the bind of an object that nothing is bound to
 * @fid: the object
 * @other: what to bind to it
 * @flags: flags
 *
 * Return: -FI_EINVAL.
 */
int kfi_no_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	return -FI_EINVAL;
}

/**
 * kfi_no_control - the control of an object without any
 * @fid: the object
 * @command: the command
 * @arg: its argument
 *
 * Return: -FI_ENOSYS.
 */
int kfi_no_control(struct fid *fid, int command, void *arg)
{
	return -FI_ENOSYS;
}

/**
 * kfi_no_ops_open - for objects without operations of their own
 * @fid: the object
 * @name: name of the operations
 * @flags: flags
 * @ops: out
 * @context: context
 *
 * Return: -FI_ENOSYS.
 */
int kfi_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops,
		    void *context)
{
	return -FI_ENOSYS;
}

/**
 * kfi_sockaddr_size - the size of an address
 * @addr: a struct sockaddr
 *
 * Return: bytes; 0 for a family that an IA does not have.
 */
size_t kfi_sockaddr_size(const void *addr)
{
	const struct sockaddr *sa = addr;

	switch (sa->sa_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	default:
		return 0;
	}
}

/**
 * kfi_copy_addr - copy an address
 * @addr: of a family that an IA has
 * @size: out: its bytes
 *
 * Return: the copy, for free(); NULL without memory.
 */
void *kfi_copy_addr(const void *addr, size_t *size)
{
	void *copy;

	*size = kfi_sockaddr_size(addr);
	copy = malloc(*size ?: 1);
	return copy ? memcpy(copy, addr, *size) : NULL;
}

/**
 * kfi_port - the port of an address
 * @addr: a struct sockaddr_in or sockaddr_in6
 *
 * Return: the port, in the order of the host.
 */
uint16_t kfi_port(const void *addr)
{
	const struct sockaddr *sa = addr;

	return ntohs(sa->sa_family == AF_INET6 ?
		     ((const struct sockaddr_in6 *)addr)->sin6_port :
		     ((const struct sockaddr_in *)addr)->sin_port);
}

/**
 * kfi_set_port - set the port of an address
 * @addr: a struct sockaddr_in or sockaddr_in6
 * @port: the port, in the order of the host
 */
void kfi_set_port(void *addr, uint16_t port)
{
	const struct sockaddr *sa = addr;

	if (sa->sa_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)addr)->sin_port = htons(port);
}
