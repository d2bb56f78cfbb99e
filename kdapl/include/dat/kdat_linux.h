/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * kdat_linux.h - calls that kdapl adds to the kernel API, in no specification
 */
#ifndef _KDAT_LINUX_H
#define _KDAT_LINUX_H

#include <dat/kdat.h>

DAT_RETURN dat_cr_reject_no_room(DAT_CR_HANDLE cr_handle);
DAT_RETURN dat_evd_flush_upcalls(DAT_EVD_HANDLE evd_handle);

/**
 * struct dat_completion - a completion that succeeded
 * @number: event number: DAT_DTO_COMPLETION_EVENT or DAT_IB_DTO_EVENT
 * @operation: as in the event
 * @transfered_length: as in the event, in bytes
 * @rmr_context: as in the event; of a DAT_IB_DTO_EVENT the immediate data
 * @ep_context: consumer context of the EP, see dat_set_consumer_context()
 * @user_cookie: the cookie of the DTO
 */
struct dat_completion {
	DAT_EVENT_NUMBER number;
	DAT_DTOS operation;
	DAT_VLEN transfered_length;
	DAT_RMR_CONTEXT rmr_context;
	DAT_CONTEXT ep_context;
	DAT_DTO_COOKIE user_cookie;
};

/**
 * typedef DAT_COMPLETION_FUNC - takes a completion instead of the upcall of an EVD
 * @instance_data: instance_data of the upcall
 * @completion: the completion
 *
 * Context: process or softirq, bottom halves off, the lock of the EVD held: must not sleep
 * and must not call any dat_ function, because a post may take that lock.
 */
typedef void (*DAT_COMPLETION_FUNC)(DAT_PVOID instance_data,
				    const struct dat_completion *completion);

DAT_RETURN dat_evd_set_completion(DAT_EVD_HANDLE evd_handle, DAT_COMPLETION_FUNC func);
DAT_RETURN dat_rmr_renew(DAT_RMR_HANDLE rmr_handle);
DAT_RETURN dat_ia_max_user_lmr(DAT_IA_HANDLE ia_handle, DAT_VLEN *max_length);

struct dat_account;

/**
 * struct dat_account_ops - operations of an account
 * @charge: charge the account for bytes that kdapl and the device are about to
 *	allocate; false rejects the allocation. Any context, must not sleep.
 * @uncharge: uncharge bytes that have been freed. Any context, must not sleep.
 * @get: take a reference. Process context.
 * @put: drop a reference. Any context, must not sleep.
 * @renews: the consumer calls dat_rmr_renew() and binds again after a bind that returns
 *	DAT_RESOURCE_MEMORY_REGION. An RMR of the IA then begins with one MR and a short
 *	page list; a bind that needs the second MR or a longer list returns this error
 *	once, and charges for the list.
 */
struct dat_account_ops {
	bool (*charge)(struct dat_account *account, size_t bytes);
	void (*uncharge)(struct dat_account *account, size_t bytes);
	void (*get)(struct dat_account *account);
	void (*put)(struct dat_account *account);
	bool renews;
};

/**
 * struct dat_account - account for the memory of an IA's objects
 * @ops: operations of the account
 *
 * Embedded in a structure of the consumer.
 */
struct dat_account {
	const struct dat_account_ops *ops;
};

DAT_RETURN dat_ia_set_account(DAT_IA_HANDLE ia_handle,
			      struct dat_account *account);
bool dat_account_charge(struct dat_account *account, size_t bytes);

#endif /* _KDAT_LINUX_H */
