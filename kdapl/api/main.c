// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * main.c - loads and unloads the module
 *
 * Initialises the parts of the module in the order in which they depend on each other,
 * and undoes this at unload. Runs in process context.
 */
#include <linux/init.h>
#include <linux/module.h>
#include <linux/workqueue.h>
#include <dat/version.h>

#include "../../chardev/chardev.h"
#include "api/debugfs.h"
#include "api/ext.h"
#include "base/workqueue.h"
#include "base/object.h"
#include "dev/addr.h"
#include "dev/device.h"
#include "dev/linger.h"
#include "queue/dto.h"

static int __init kdapl_init(void)
{
	int ret;

	ret = dat_dev_model_init();
	if (ret)
		return ret;
	ret = dat_workqueue_init();
	if (ret)
		return ret;
	ret = dat_registry_init();
	if (ret)
		goto exit_workqueue;
	ret = dat_addr_register();
	if (ret)
		goto exit_registry;
	ret = dat_dev_register_client();
	if (ret)
		goto unregister_addr;
	ret = dat_chardev_init();
	if (ret)
		goto unregister_client;
	dat_debugfs_init();
	return 0;

unregister_client:
	dat_dev_unregister_client();
unregister_addr:
	dat_addr_unregister();
exit_registry:
	dat_registry_exit();
exit_workqueue:
	dat_workqueue_exit();
	return ret;
}

static void __exit kdapl_exit(void)
{
	dat_debugfs_exit();
	dat_chardev_exit();
	dat_dev_unregister_client();
	dat_addr_unregister();
	dat_registry_exit();
	dat_linger_exit();
	/* A work item frees a user after its last IA: destroy the work queue last. */
	dat_object_table_destroy();
	dat_workq_exit();
	dat_workqueue_exit();
}

module_init(kdapl_init);
module_exit(kdapl_exit);

MODULE_DESCRIPTION("Direct Access Transport API (kDAPL, and uDAPL by /dev/dat)");
MODULE_AUTHOR("The kdapl developers");
MODULE_VERSION(DAT_KDAPL_VERSION);
MODULE_INFO(tested, DAT_KDAPL_KERNELS);
MODULE_LICENSE("Dual BSD/GPL");
