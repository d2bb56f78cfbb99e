# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# From a trace of the kernel's allocations: what is left of them between two marks.

# field NAME: its value in an event
function field(name,	i)
{
	for (i = 1; i <= NF; i++)
		if (index($i, name "=") == 1)
			return substr($i, length(name) + 2)
	return ""
}

function bytes_of(order,	bytes)
{
	for (bytes = 4096; order > 0; order--)
		bytes *= 2
	return bytes
}

function settle_pages()
{
	if (pages && who != "" && !is_theirs) {
		size["page " page] = pages
		caller["page " page] = who
	}
	pages = 0
}

function forget(key)
{
	delete size[key]
	delete caller[key]
}

function tell(	key, total, of, sum)
{
	for (key in size) {
		total += size[key]
		sum[caller[key]] += size[key]
	}
	print name, side, total + 0
	for (of in sum)
		print "# " name, side, sum[of], of
	split("", size)
	split("", caller)
}

# Who asked for pages is told behind the event, innermost first. The allocators are
# nobody; slabs are told by what they give; what a process has mapped is its own.
in_stack && /^ => / {
	if ($2 ~ /allocate_slab|new_slab|slab_alloc|kmalloc/ ||
	    $2 ~ /handle_mm_fault|faultin_page|page_fault|do_wp_page/)
		is_theirs = 1
	if (who == "" && $2 !~ /alloc_pages|folio_alloc|get_free_page|get_zeroed_page/ &&
	    $2 !~ /trace_event|event_trigger|ftrace|stack/)
		who = $2
	next
}

/<stack trace>/ {
	in_stack = 1
	next
}

{
	settle_pages()
	in_stack = 0
}

/tracing_mark_write: begin / {
	match($0, /-[0-9]+ +\[/)
	pid = substr($0, RSTART, RLENGTH)
	name = $NF
	counting = 1
	split("", size)
	next
}

/tracing_mark_write: end / {
	counting = 0
	tell()
	next
}

!counting { next }

/: (kfree|kmem_cache_free): / {
	forget("slab " field("ptr"))
	forget("pages " field("ptr"))
	next
}

/: mm_page_free(_batched)?: / {
	forget("page " field("pfn"))
	next
}

index($0, pid) == 0 { next }

/: (kmalloc|kmem_cache_alloc): / {
	key = "slab " field("ptr")
	size[key] = field("bytes_alloc")
	caller[key] = field("call_site")
	sub(/\+.*/, "", caller[key])
	# Its pages come in bulk, which is no event, but so does the array of them.
	if (caller[key] ~ /^__vmalloc_/) {
		size["pages " field("ptr")] = field("bytes_req") / 8 * 4096
		caller["pages " field("ptr")] = "vmalloc"
	}
	next
}

/: mm_page_alloc: / {
	page = field("pfn")
	pages = bytes_of(field("order"))
	who = ""
	is_theirs = 0
}
