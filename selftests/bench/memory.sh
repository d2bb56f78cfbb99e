#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs in the guest: how many bytes of the kernel's memory an object is, of which calls.
#
# memory.sh SIDE COMMAND...: prints lines "CASE SIDE BYTES", and "# CASE SIDE BYTES CALLER"
# for the parts. What was not freed by the end of the program's call is counted: of slabs
# what they gave, and pages that did not go to slabs.

side=$1
shift
tracing=/sys/kernel/tracing
[ -d $tracing/events ] || mount -t tracefs none $tracing

echo 65536 >$tracing/buffer_size_kb
echo >$tracing/trace
for event in kmalloc kmem_cache_alloc kfree kmem_cache_free mm_page_alloc mm_page_free \
	mm_page_free_batched; do
	echo 1 >$tracing/events/kmem/$event/enable
done
echo stacktrace >$tracing/events/kmem/mm_page_alloc/trigger
"$@" 3>$tracing/trace_marker
rc=$?
for event in kmalloc kmem_cache_alloc kfree kmem_cache_free mm_page_alloc mm_page_free \
	mm_page_free_batched; do
	echo 0 >$tracing/events/kmem/$event/enable
done
echo '!stacktrace' >$tracing/events/kmem/mm_page_alloc/trigger
awk -v side="$side" -f "${0%/*}/memory.awk" $tracing/trace
echo >$tracing/trace
exit $rc
