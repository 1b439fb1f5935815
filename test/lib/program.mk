# Copyright (c) 2026 fuselink contributors. BSD-3-Clause, see LICENSE.
#
# A test program of the sources in `here` and of lib/harness, built in the
# folder that make is called from. To be included by a makefile that sets
# here, program, libraries, and BUILD by its caller. Plain makefiles, because
# the programs are no part of `make`: only the stages of contrib/check need
# them.

top := $(abspath $(here)/../..)
ifndef BUILD
$(error BUILD is to name the folder of a finished build of fuselink)
endif

# As configure found them.
from_build = $(shell sed -n 's/^$(1) = //p' $(BUILD)/Makefile)
CXX := $(call from_build,CXX)
prefix := $(call from_build,UCX_PREFIX)
libdir := $(call from_build,UCX_LIBDIR)

# Optimised is only what looks at every byte: it takes twice as long to compile.
CXXFLAGS ?= -g1 -O0
harness/pattern.o: CXXFLAGS += -O2
flags := -Wall -Wextra -Wno-missing-field-initializers \
    $(if $(filter-out /usr,$(prefix)),-isystem $(prefix)/include) \
    -I$(top)/test/lib -I$(top)/src/uct/fuselink -MMD -MP
link := -L$(libdir) -Wl,-rpath,$(libdir) $(libraries) -lpthread

harness := $(patsubst $(top)/test/lib/%.cc,%.o,\
    $(wildcard $(top)/test/lib/harness/*.cc))
own := $(patsubst $(here)/%.cc,%.o,$(wildcard $(here)/*.cc $(here)/*/*.cc))
objects := $(own) $(harness)

$(program): $(objects) $(archives)
	$(CXX) $(CXXFLAGS) -o $@ $^ $(link)

makefiles := $(here)/Makefile $(top)/test/lib/program.mk

$(own): %.o: $(here)/%.cc $(makefiles)
	@mkdir -p $(dir $@)
	$(CXX) $(CXXFLAGS) $(flags) -c -o $@ $<

$(harness): %.o: $(top)/test/lib/%.cc $(makefiles)
	@mkdir -p $(dir $@)
	$(CXX) $(CXXFLAGS) $(flags) -c -o $@ $<

-include $(objects:.o=.d)
