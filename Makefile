# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The front door: builds the module and the tools below build/, and starts the tests.

# The kernel to build for.
KVER ?= $(shell uname -r)
KDIR ?= /lib/modules/$(KVER)/build
PREFIX ?= /usr

top := $(CURDIR)
# Not called `build` or `O`, which mean something to kbuild when given by hand.
BUILD_DIR := $(top)/build
# What the kernel at KDIR calls itself; nothing if there is none. Debian's 6.1
# headers tell it only here: their kernel.release says something else.
release := $(shell sed -n 's/.*UTS_RELEASE "\(.*\)".*/\1/p' $(KDIR)/include/generated/utsrelease.h 2>/dev/null)
out := $(BUILD_DIR)/$(release)

# CROSS_COMPILE applies to programs as it does to the module. The scripts of tools/vm set
# KDAPL_CCACHE, and KDAPL_CC, another compiler for modules.
ifneq ($(CROSS_COMPILE)$(KDAPL_CCACHE),)
export CC := $(strip $(KDAPL_CCACHE) $(CROSS_COMPILE)gcc $(SYSROOT:%=--sysroot=%))
endif

ifneq ($(KDAPL_CC),)
# Asked once: ccache would ask the compiler at each of the hundreds of calls.
export CCACHE_COMPILERCHECK := string:$(firstword \
	$(shell CROSS_COMPILE=$(CROSS_COMPILE) $(KDAPL_CC) --identity | sha1sum))
endif

ifneq ($(KDAPL_CCACHE)$(KDAPL_CC),)
kbuild_cc := CC="$(strip $(KDAPL_CCACHE) $(or $(KDAPL_CC),$(CROSS_COMPILE)gcc))"
endif

.PHONY: all modules tools demo-programs selftests selftest-modules storage demo test check bench
.PHONY: selftest-variants test-all test-status flaky fuzz soak
.PHONY: install modules_install html deb dist test-packages clean mirror

all: modules tools

# Kbuild puts objects next to the sources. So that kernels can be built for side
# by side, each has a tree of its own, made of links to the sources. Links whose
# source is gone are removed.
mirror:
	@[ -n "$(release)" ] || { echo "no kernel build directory $(KDIR):" \
		"install linux-headers-$(KVER), or name another with KDIR=" >&2; exit 1; }
	@mkdir -p $(out)
	@cp -rsf $(wildcard $(addprefix $(top)/,Kbuild kdapl chardev uapi selftests)) $(out)
	@find -L $(out) -type l -delete

modules: mirror
	$(MAKE) -C $(KDIR) M=$(out) $(kbuild_cc) modules

selftest-modules: modules
	@cd $(out)/selftests/modules && for example in kdapl guide; do \
		$(top)/tools/check/example.sh $$example >$(out)/example.new || exit; \
		cmp -s $(out)/example.new example_$$example.c || \
			cp $(out)/example.new example_$$example.c || exit; \
	done
	$(MAKE) -C $(KDIR) M=$(out)/selftests/modules $(kbuild_cc) \
		KBUILD_EXTRA_SYMBOLS=$(out)/Module.symvers modules
	+$(if $(filter tests bench,$(or $(KDAPL_WANTED),tests)),$(build_storage) modules)

# A storage driver on kDAPL: selftests/storage/
build_storage = $(MAKE) -C $(KDIR) M=$(out)/selftests/storage $(kbuild_cc) \
	KBUILD_EXTRA_SYMBOLS=$(out)/Module.symvers

storage: modules
	+$(build_storage) modules

# The provider needs the headers of Debian's libdapl-dev.
has_dat2 := $(wildcard $(SYSROOT)/usr/include/dat2/udat.h)
# That of libfabric needs libfabric-dev.
has_libfabric := $(wildcard $(SYSROOT)/usr/include/rdma/providers/fi_prov.h)

tools:
	$(MAKE) -C tools/libdat O=$(BUILD_DIR)/libdat
	$(if $(has_dat2),$(MAKE) -C tools/libdaplkdat O=$(BUILD_DIR)/libdaplkdat)
	$(if $(has_libfabric),$(MAKE) -C tools/libfabric O=$(BUILD_DIR)/libfabric \
		LIBDAT=$(BUILD_DIR)/libdat)
	$(MAKE) -C tools/dat-info O=$(BUILD_DIR)/dat-info LIBDAT=$(BUILD_DIR)/libdat
	$(MAKE) -C tools/dat-perf O=$(BUILD_DIR)/dat-perf LIBDAT=$(BUILD_DIR)/libdat

selftests: goal := all
selftest-variants: goal := all variants
selftests selftest-variants: tools
	kselftest=$${KSELFTEST:-$$(tools/vm/borrow.sh)} && \
	$(MAKE) -C selftests O=$(BUILD_DIR)/selftests LIBDAT=$(BUILD_DIR)/libdat \
		LIBDAPLKDAT=$(BUILD_DIR)/libdaplkdat LIBFABRIC=$(BUILD_DIR)/libfabric \
		KSELFTEST=$$kselftest $(goal)

demo-programs: tools
	$(MAKE) -C tools/demo O=$(BUILD_DIR)/demo LIBDAT=$(BUILD_DIR)/libdat

demo:
	@tools/vm/demo.sh

test:
	tools/vm/run-tests.sh

# Sanitizers, models of adapters, loss and load, in parts: tools/vm/parts. TIME in seconds
# begins no part that would end later; without it all parts run.
PART ?=
test-all:
	tools/vm/test-all.sh $(PART:%=--part %) $(if $(PART),,$(TIME:%=--time %))

test-status:
	@tools/vm/test-all.sh --status

# What was flaky on this machine, and how often
flaky:
	@tools/vm/flaky.sh

# Seconds that the fuzzer runs, and further arguments of fuzz.sh.
FUZZ ?=
fuzz:
	tools/vm/fuzz.sh --time $(or $(TIME),600) $(FUZZ)

# Hours of hundreds of consumers, and further arguments of soak.sh.
HOURS ?= 1
SOAK ?=
soak:
	tools/vm/soak.sh --hours $(HOURS) $(SOAK)

check:
	@tools/check/check.sh

bench:
	tools/vm/bench.sh 6.1 6.12

# Needs python3-sphinx.
html:
	sphinx-build -q -n -b html -d $(BUILD_DIR)/doctrees Documentation $(BUILD_DIR)/html
	@echo "html: $(BUILD_DIR)/html/index.html"

# Debian packages, and a tarball of the sources that builds, below build/.
deb:
	@tools/deb.sh
dist:
	@tools/dist.sh
test-packages:
	tools/vm/run-tests.sh 6.1 -- packages

install: tools
	$(MAKE) -C tools/libdat O=$(BUILD_DIR)/libdat DESTDIR=$(DESTDIR) PREFIX=$(PREFIX) install
	$(if $(has_dat2),$(MAKE) -C tools/libdaplkdat O=$(BUILD_DIR)/libdaplkdat \
		DESTDIR=$(DESTDIR) PREFIX=$(PREFIX) install)
	$(if $(has_libfabric),$(MAKE) -C tools/libfabric O=$(BUILD_DIR)/libfabric \
		LIBDAT=$(BUILD_DIR)/libdat DESTDIR=$(DESTDIR) PREFIX=$(PREFIX) install)
	$(MAKE) -C tools/dat-info O=$(BUILD_DIR)/dat-info LIBDAT=$(BUILD_DIR)/libdat \
		DESTDIR=$(DESTDIR) PREFIX=$(PREFIX) install
	$(MAKE) -C tools/dat-perf O=$(BUILD_DIR)/dat-perf LIBDAT=$(BUILD_DIR)/libdat \
		DESTDIR=$(DESTDIR) PREFIX=$(PREFIX) install
	install -D -m 644 tools/udev/70-kdapl.rules \
		$(DESTDIR)$(PREFIX)/lib/udev/rules.d/70-kdapl.rules
	install -D -m 644 tools/limits.d/kdapl.conf.example \
		$(DESTDIR)$(PREFIX)/share/doc/kdapl/limits.conf.example
	install -d $(DESTDIR)$(PREFIX)/src/kdapl/include/dat
	install -m 644 $(wildcard kdapl/include/dat/*.h kdapl/include/dat/*.def) \
		$(DESTDIR)$(PREFIX)/src/kdapl/include/dat
	install -d $(DESTDIR)$(PREFIX)/src/kdapl/include/dat2
	install -m 644 kdapl/include/dat2/kdat.h $(DESTDIR)$(PREFIX)/src/kdapl/include/dat2

# What drivers need to be built against the module goes beside its headers.
# Into somebody else's tree, a package for instance, depmod comes later.
# STORAGE=1 also installs kdapl_srp.ko.
modules_install: modules $(if $(STORAGE),storage)
	$(MAKE) -C $(KDIR) M=$(out) INSTALL_MOD_DIR=extra modules_install
	$(if $(STORAGE),$(build_storage) INSTALL_MOD_DIR=extra modules_install)
	install -D -m 644 $(out)/Module.symvers \
		$(INSTALL_MOD_PATH)$(PREFIX)/src/kdapl/$(release)/Module.symvers
	$(if $(INSTALL_MOD_PATH),,depmod $(release))

clean:
	rm -rf $(BUILD_DIR)
