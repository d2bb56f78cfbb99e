// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * coherence.c - must consumers synchronise the memory that a device accesses?
 *
 * dat_ia_query() reports the answer as lmr_sync_req. device.c calls
 * dat_dev_needs_sync() once for each device, in process context.
 */
#include <linux/dma-map-ops.h>
#include <linux/gfp.h>
#include <linux/pci.h>

#include "dev/device.h"

/* Must the DMA API synchronise a page of ordinary memory? */
static bool probe_needs_sync(struct ib_device *ibdev)
{
	void *page = (void *)__get_free_page(GFP_KERNEL);
	bool needed = true;
	u64 dma;

	if (!page)
		return true;
	dma = ib_dma_map_single(ibdev, page, PAGE_SIZE, DMA_BIDIRECTIONAL);
	if (!ib_dma_mapping_error(ibdev, dma)) {
		needed = dma_need_sync(ibdev->dma_device, dma);
		ib_dma_unmap_single(ibdev, dma, PAGE_SIZE, DMA_BIDIRECTIONAL);
	}
	free_page((unsigned long)page);
	return needed;
}

/* The IOMMU bounces the pages that memory for such a device covers in part. */
static bool is_untrusted(struct device *dev)
{
	return dev_is_pci(dev) && to_pci_dev(dev)->untrusted;
}

/**
 * dat_dev_needs_sync - must consumers synchronise memory that peers read and write?
 * @ibdev: the device
 *
 * The answer covers all memory. It is true in these cases:
 *
 * - Caches are not coherent with the device.
 * - All mappings are bounced (swiotlb=force, confidential guests).
 * - Mappings of memory that the device cannot address are bounced.
 * - The device is at an external port, so that pages are bounced that memory covers in part.
 * - The probe fails.
 *
 * Context: process, may sleep.
 * Return: true if they must.
 */
bool dat_dev_needs_sync(struct ib_device *ibdev)
{
	if (ib_uses_virt_dma(ibdev))
		return false;
	return dma_addressing_limited(ibdev->dma_device) ||
	       is_untrusted(ibdev->dma_device) || probe_needs_sync(ibdev);
}
