// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * main.c - kdapl_srp, an initiator of the SCSI RDMA Protocol on kDAPL
 *
 * /sys/class/kdapl_srp/initiator/add_target takes the options of ib_srp's add_target, and
 * the name of the IA. Each line makes a SCSI host, whose rport (scsi_transport_srp) has
 * the timeouts and a file to delete it.
 */
#include <linux/blk-mq.h>
#include <linux/device.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/parser.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "srp.h"

#define DEFAULT_QUEUE_SIZE	64
#define MAX_QUEUE_SIZE		1024
#define DEFAULT_MAX_SECTORS	2048
#define MAX_MAX_SECTORS		32768
#define MAX_CHANNELS		64

static unsigned int ch_count;
module_param(ch_count, uint, 0444);
MODULE_PARM_DESC(ch_count, "channels of a target, if add_target does not say; 0: one for each processor, at most 4");

static unsigned int poll_queues;
module_param(poll_queues, uint, 0444);
MODULE_PARM_DESC(poll_queues, "channels of a target that are polled, besides ch_count");

static unsigned int lmr_pages = UINT_MAX;
module_param(lmr_pages, uint, 0444);
MODULE_PARM_DESC(lmr_pages, "maximum number of pages of an LMR; a longer command takes several");

static unsigned int imm_data = SRP_MAX_IMM_DATA;
module_param(imm_data, uint, 0444);
MODULE_PARM_DESC(imm_data, "bytes that a write carries in its command, without a window; 0 to 8192");

static int set_tmo(const char *val, const struct kernel_param *kp);
static int get_tmo(char *buf, const struct kernel_param *kp);

static const struct kernel_param_ops tmo_ops = {
	.set = set_tmo,
	.get = get_tmo,
};

static int reconnect_delay = 10;
module_param_cb(reconnect_delay, &tmo_ops, &reconnect_delay, 0644);
MODULE_PARM_DESC(reconnect_delay, "seconds between attempts to connect again, or off");

static int fast_io_fail_tmo = 15;
module_param_cb(fast_io_fail_tmo, &tmo_ops, &fast_io_fail_tmo, 0644);
MODULE_PARM_DESC(fast_io_fail_tmo, "seconds without a connection until commands fail, or off");

static int dev_loss_tmo = 600;
module_param_cb(dev_loss_tmo, &tmo_ops, &dev_loss_tmo, 0644);
MODULE_PARM_DESC(dev_loss_tmo, "seconds without a connection until the host is removed, or off");

static int set_tmo(const char *val, const struct kernel_param *kp)
{
	int delay = reconnect_delay, fail = fast_io_fail_tmo, loss = dev_loss_tmo, tmo, ret;

	ret = srp_parse_tmo(&tmo, val);
	if (ret)
		return ret;
	if (kp->arg == &reconnect_delay)
		delay = tmo;
	else if (kp->arg == &fast_io_fail_tmo)
		fail = tmo;
	else
		loss = tmo;
	ret = srp_tmo_valid(delay, fail, loss);
	if (!ret)
		*(int *)kp->arg = tmo;
	return ret;
}

static int get_tmo(char *buf, const struct kernel_param *kp)
{
	int tmo = *(int *)kp->arg;

	return tmo < 0 ? sysfs_emit(buf, "off\n") : sysfs_emit(buf, "%d\n", tmo);
}

static DEFINE_MUTEX(targets_lock);
static LIST_HEAD(targets);
static struct scsi_transport_template *transport;

static int rport_reconnect(struct srp_rport *rport)
{
	struct srp_target *target = rport->lld_data;
	int ret;

	srp_transport_close(target);
	srp_finish_all(target, DID_RESET << 16);
	ret = srp_transport_open(target);
	if (!ret)
		shost_printk(KERN_INFO, target->shost, "connected again\n");
	return ret;
}

static void rport_terminate_io(struct srp_rport *rport)
{
	struct srp_target *target = rport->lld_data;

	srp_transport_close(target);
	srp_finish_all(target, DID_TRANSPORT_FAILFAST << 16);
}

/*
 * Not for reclaim, unlike srp_wq: to remove a host waits for works of the SCSI core, which
 * are in queues of the system.
 */
static struct workqueue_struct *remove_wq;

static void queue_remove(struct srp_target *target)
{
	if (!test_and_set_bit(0, &target->removing))
		queue_work(remove_wq, &target->remove_work);
}

static void rport_delete(struct srp_rport *rport)
{
	queue_remove(rport->lld_data);
}

static void remove_worker(struct work_struct *work)
{
	struct srp_target *target = container_of(work, struct srp_target, remove_work);
	struct srp_rport *rport = target->rport;
	struct Scsi_Host *shost = target->shost;

	srp_rport_get(rport);
	srp_remove_host(shost);
	scsi_remove_host(shost);
	srp_stop_rport_timers(rport);
	mutex_lock(&rport->mutex);
	srp_logout(target);
	srp_transport_close(target);
	mutex_unlock(&rport->mutex);
	srp_finish_all(target, DID_NO_CONNECT << 16);
	srp_target_destroy(target);
	shost_printk(KERN_INFO, shost, "removed\n");
	srp_rport_put(rport);
	mutex_lock(&targets_lock);
	list_del(&target->list);
	mutex_unlock(&targets_lock);
	scsi_host_put(shost);
}

static struct srp_function_template functions = {
	.has_rport_state = true,
	.reset_timer_if_blocked = true,
	.reconnect_delay = &reconnect_delay,
	.fast_io_fail_tmo = &fast_io_fail_tmo,
	.dev_loss_tmo = &dev_loss_tmo,
	.reconnect = rport_reconnect,
	.terminate_rport_io = rport_terminate_io,
	.rport_delete = rport_delete,
};

#define SHOW(name, format, ...)								\
static ssize_t name##_show(struct device *dev, struct device_attribute *attr, char *buf)	\
{											\
	struct srp_target *target = srp_target_of(class_to_shost(dev));			\
											\
	return sysfs_emit(buf, format "\n", __VA_ARGS__);				\
}											\
static DEVICE_ATTR_RO(name)

SHOW(id_ext, "0x%016llx", be64_to_cpu(target->id_ext));
SHOW(ioc_guid, "0x%016llx", be64_to_cpu(target->ioc_guid));
SHOW(initiator_ext, "0x%016llx", be64_to_cpu(target->initiator_ext));
SHOW(dest, "%pISpc", &target->address);
SHOW(ia, "%s", target->ia_name);
SHOW(ch_count, "%u", target->num_channels);
SHOW(descriptors, "%u of %u pages", target->mrs_per_req, target->lmr_pages);
SHOW(req_lim, "%d", target->ch[0].credits);

static struct attribute *host_attrs[] = {
	&dev_attr_id_ext.attr,
	&dev_attr_ioc_guid.attr,
	&dev_attr_initiator_ext.attr,
	&dev_attr_dest.attr,
	&dev_attr_ia.attr,
	&dev_attr_ch_count.attr,
	&dev_attr_descriptors.attr,
	&dev_attr_req_lim.attr,
	NULL,
};
ATTRIBUTE_GROUPS(host);

static void map_queues(struct Scsi_Host *shost)
{
	struct srp_target *target = srp_target_of(shost);
	unsigned int i;

	for (i = 0; i < shost->nr_maps; i++) {
		struct blk_mq_queue_map *map = &shost->tag_set.map[i];

		map->nr_queues = i == HCTX_TYPE_DEFAULT ? target->num_channels :
				 i == HCTX_TYPE_POLL ? target->num_polled : 0;
		map->queue_offset = i == HCTX_TYPE_POLL ? target->num_channels : 0;
		if (map->nr_queues)
			blk_mq_map_queues(map);
	}
}

static int mq_poll(struct Scsi_Host *shost, unsigned int queue)
{
	return srp_channel_poll(&srp_target_of(shost)->ch[queue]);
}

static struct scsi_host_template template = {
	.module = THIS_MODULE,
	.name = "kDAPL SRP initiator",
	.proc_name = "kdapl_srp",
	.queuecommand = srp_queuecommand,
	.change_queue_depth = scsi_change_queue_depth,
	.eh_timed_out = srp_timed_out,
	.eh_abort_handler = srp_eh_abort,
	.eh_device_reset_handler = srp_eh_reset_device,
	.eh_host_reset_handler = srp_eh_reset_host,
	.map_queues = map_queues,
	.mq_poll = mq_poll,
	.skip_settle_delay = true,
	.track_queue_depth = 1,
	.this_id = -1,
	/* The list of an LMR has no gaps within a page. */
	.virt_boundary_mask = PAGE_SIZE - 1,
	.shost_groups = host_groups,
};

enum option {
	OPT_ID_EXT,
	OPT_IOC_GUID,
	OPT_DEST,
	OPT_IA,
	OPT_INITIATOR_EXT,
	OPT_MAX_SECT,
	OPT_MAX_CMD_PER_LUN,
	OPT_QUEUE_SIZE,
	OPT_CH_COUNT,
	OPT_UNKNOWN,
};

static const match_table_t options = {
	{ OPT_ID_EXT, "id_ext=%s" },
	{ OPT_IOC_GUID, "ioc_guid=%s" },
	{ OPT_DEST, "dest=%s" },
	{ OPT_IA, "ia=%s" },
	{ OPT_INITIATOR_EXT, "initiator_ext=%s" },
	{ OPT_MAX_SECT, "max_sect=%d" },
	{ OPT_MAX_CMD_PER_LUN, "max_cmd_per_lun=%d" },
	{ OPT_QUEUE_SIZE, "queue_size=%d" },
	{ OPT_CH_COUNT, "ch_count=%d" },
	{ OPT_UNKNOWN, NULL },
};

#define NEEDED	(BIT(OPT_ID_EXT) | BIT(OPT_IOC_GUID) | BIT(OPT_DEST) | BIT(OPT_IA))

static int parse_guid(const char *text, __be64 *guid)
{
	u64 value;
	int ret = kstrtou64(text, 16, &value);

	*guid = cpu_to_be64(value);
	return ret;
}

/* IPv4:PORT or [IPv6]:PORT */
static int parse_dest(struct srp_target *target, char *text)
{
	char *port = strrchr(text, ':');
	u16 number;
	int ret;

	if (!port)
		return -EINVAL;
	*port++ = '\0';
	if (kstrtou16(port, 10, &number) || !number)
		return -EINVAL;
	if (text[0] == '[') {
		text[strcspn(text, "]")] = '\0';
		text++;
	}
	ret = inet_pton_with_scope(&init_net, AF_UNSPEC, text, port,
				   &target->address);
	target->qual = number;
	return ret;
}

static int parse_number(const substring_t *arg, unsigned int most, unsigned int *number)
{
	int value;

	if (match_int((substring_t *)arg, &value) || value < 1 || value > most)
		return -EINVAL;
	*number = value;
	return 0;
}

static int parse_option(struct srp_target *target, enum option option, substring_t *args)
{
	struct Scsi_Host *shost = target->shost;
	unsigned int number = 0;
	char *text;
	int ret;

	switch (option) {
	case OPT_MAX_SECT:
		ret = parse_number(args, MAX_MAX_SECTORS, &number);
		shost->max_sectors = number;
		return ret;
	case OPT_MAX_CMD_PER_LUN:
		ret = parse_number(args, MAX_QUEUE_SIZE, &number);
		shost->cmd_per_lun = number;
		return ret;
	case OPT_QUEUE_SIZE:
		return parse_number(args, MAX_QUEUE_SIZE, &target->queue_size);
	case OPT_CH_COUNT:
		return parse_number(args, MAX_CHANNELS, &target->num_channels);
	case OPT_UNKNOWN:
		return -EINVAL;
	default:
		break;
	}
	text = match_strdup(args);
	if (!text)
		return -ENOMEM;
	switch (option) {
	case OPT_ID_EXT:
		ret = parse_guid(text, &target->id_ext);
		break;
	case OPT_IOC_GUID:
		ret = parse_guid(text, &target->ioc_guid);
		break;
	case OPT_INITIATOR_EXT:
		ret = parse_guid(text, &target->initiator_ext);
		break;
	case OPT_DEST:
		ret = parse_dest(target, text);
		break;
	default:
		ret = strscpy(target->ia_name, text, sizeof(target->ia_name));
		ret = min(ret, 0);
		break;
	}
	kfree(text);
	return ret;
}

static int parse_options(struct srp_target *target, const char *buf)
{
	substring_t args[MAX_OPT_ARGS];
	char *copy, *rest, *word;
	unsigned long seen = 0;
	int option, ret = 0;

	copy = kstrdup(buf, GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	for (rest = copy; !ret && (word = strsep(&rest, ",\n"));) {
		if (!*word)
			continue;
		option = match_token(word, options, args);
		seen |= BIT(option);
		ret = parse_option(target, option, args);
		if (ret)
			pr_warn("kdapl_srp: add_target: '%s' is not understood\n", word);
	}
	kfree(copy);
	if (!ret && (seen & NEEDED) != NEEDED) {
		pr_warn("kdapl_srp: add_target needs id_ext, ioc_guid, dest and ia\n");
		ret = -EINVAL;
	}
	return ret;
}

/* A second login of the same initiator ends the first one. */
static bool is_known(const struct srp_target *target)
{
	const struct srp_target *t;

	lockdep_assert_held(&targets_lock);
	list_for_each_entry(t, &targets, list)
		if (!test_bit(0, &t->removing) && t->id_ext == target->id_ext &&
		    t->ioc_guid == target->ioc_guid &&
		    t->initiator_ext == target->initiator_ext &&
		    !strcmp(t->ia_name, target->ia_name))
			return true;
	return false;
}

static struct device *initiator;

static int add_host(struct srp_target *target)
{
	struct srp_rport_identifiers ids = { .roles = SRP_RPORT_ROLE_TARGET };
	struct Scsi_Host *shost = target->shost;
	struct srp_rport *rport;
	int ret;

	shost->can_queue = target->queue_size;
	shost->cmd_per_lun = min_t(int, shost->cmd_per_lun, shost->can_queue);
	shost->nr_hw_queues = srp_all_channels(target);
	shost->nr_maps = target->num_polled ? HCTX_TYPE_POLL + 1 : 1;
	ret = scsi_add_host(shost, initiator);
	if (ret)
		return ret;
	memcpy(ids.port_id, &target->id_ext, 8);
	memcpy(ids.port_id + 8, &target->ioc_guid, 8);
	rport = srp_rport_add(shost, &ids);
	if (IS_ERR(rport)) {
		scsi_remove_host(shost);
		return PTR_ERR(rport);
	}
	rport->lld_data = target;
	target->rport = rport;
	return 0;
}

/* Under targets_lock, so that the module's exit finds it whole or not at all. */
static int make_target(struct srp_target *target)
{
	int ret;

	if (is_known(target))
		return -EEXIST;
	ret = srp_target_init(target) ?: srp_transport_open(target);
	if (ret)
		return ret;
	ret = add_host(target);
	if (ret) {
		srp_transport_close(target);
		return ret;
	}
	list_add_tail(&target->list, &targets);
	/* For the scan: the port can be deleted from now on. */
	scsi_host_get(target->shost);
	/* error_worker() has ignored an end of the connection until now. */
	if (atomic_read(&target->broken))
		queue_work(srp_wq, &target->error_work);
	return 0;
}

static ssize_t add_target_store(struct device *dev, struct device_attribute *attr,
				const char *buf, size_t count)
{
	struct srp_target *target;
	struct Scsi_Host *shost;
	ssize_t ret;

	shost = scsi_host_alloc(&template, sizeof(*target));
	if (!shost)
		return -ENOMEM;
	shost->transportt = transport;
	shost->max_id = 1;
	shost->max_lun = ~0ULL;
	shost->max_cmd_len = sizeof_field(struct srp_cmd, cdb);
	shost->max_sectors = DEFAULT_MAX_SECTORS;
	shost->cmd_per_lun = DEFAULT_QUEUE_SIZE;
	target = srp_target_of(shost);
	target->shost = shost;
	target->queue_size = DEFAULT_QUEUE_SIZE;
	target->num_channels = ch_count ?: min(num_online_cpus(), 4U);
	target->num_polled = poll_queues;
	target->imm_data = imm_data;
	target->lmr_pages = max(lmr_pages, 2U);
	INIT_WORK(&target->remove_work, remove_worker);

	/* A kernel worker connects again, and it is in that namespace. */
	ret = -EOPNOTSUPP;
	if (!net_eq(current->nsproxy->net_ns, &init_net))
		goto put_host;
	ret = parse_options(target, buf);
	if (ret)
		goto put_host;
	mutex_lock(&targets_lock);
	ret = make_target(target);
	mutex_unlock(&targets_lock);
	if (ret) {
		srp_target_destroy(target);
		goto put_host;
	}
	shost_printk(KERN_INFO, shost, "connected to %pISpc: %u channels, %u commands each\n",
		     &target->address, srp_all_channels(target), target->queue_size);
	scsi_scan_target(&shost->shost_gendev, 0, 0, SCAN_WILD_CARD, SCSI_SCAN_INITIAL);
	ret = count;
put_host:
	scsi_host_put(shost);
	return ret;
}
static DEVICE_ATTR_WO(add_target);

static struct attribute *initiator_attrs[] = {
	&dev_attr_add_target.attr,
	NULL,
};
ATTRIBUTE_GROUPS(initiator);

static struct class srp_class = {
	.name = "kdapl_srp",
	.dev_groups = initiator_groups,
};

static int __init srp_init(void)
{
	int ret = -ENOMEM;

	poll_queues = min_t(unsigned int, poll_queues, MAX_CHANNELS);
	ch_count = min_t(unsigned int, ch_count, MAX_CHANNELS);
	imm_data = min_t(unsigned int, imm_data, SRP_MAX_IMM_DATA);
	srp_wq = alloc_workqueue("kdapl_srp", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!srp_wq)
		return ret;
	remove_wq = alloc_workqueue("kdapl_srp_remove", WQ_UNBOUND, 0);
	if (!remove_wq)
		goto destroy_wq;
	transport = srp_attach_transport(&functions);
	if (!transport)
		goto destroy_remove_wq;
	ret = class_register(&srp_class);
	if (ret)
		goto release_transport;
	initiator = device_create(&srp_class, NULL, 0, NULL, "initiator");
	if (!IS_ERR(initiator))
		return 0;
	ret = PTR_ERR(initiator);
	class_unregister(&srp_class);
release_transport:
	srp_release_transport(transport);
destroy_remove_wq:
	destroy_workqueue(remove_wq);
destroy_wq:
	destroy_workqueue(srp_wq);
	return ret;
}

static void __exit srp_exit(void)
{
	struct srp_target *target;

	/* From now on no target is added. */
	device_remove_file(initiator, &dev_attr_add_target);
	mutex_lock(&targets_lock);
	list_for_each_entry(target, &targets, list)
		queue_remove(target);
	mutex_unlock(&targets_lock);
	destroy_workqueue(remove_wq);
	destroy_workqueue(srp_wq);
	device_unregister(initiator);
	class_unregister(&srp_class);
	srp_release_transport(transport);
}

module_init(srp_init);
module_exit(srp_exit);
MODULE_DESCRIPTION("SRP initiator on kDAPL");
MODULE_LICENSE("Dual BSD/GPL");
