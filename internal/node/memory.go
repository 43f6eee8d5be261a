// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package node

import (
	"io/fs"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
)

// How much the heap grows before it is collected, in per cent of what is in use. A broker keeps little on its heap
// (messages are in files) and makes little garbage: while little is in use, growing to three times that costs few
// megabytes and spares the tail of answers most collections. With more in use it grows to heapAim, which still makes
// them rare, and beyond that by the least share.
const (
	mostGrowth  = 200
	leastGrowth = 25
	heapAim     = 112 << 20
)

// limitShare is the part of the container's memory that the Go heap may take; the rest is for stacks, the runtime
// itself and the page cache of the log's tail.
const limitShare = 0.8

// TuneMemory sets the garbage collector, unless GOGC and GOMEMLIMIT of the environment say otherwise: the limit comes
// from the container. It returns the limit it set in bytes, 0 when none.
func TuneMemory() int64 {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(mostGrowth)
		paceCollections()
	}
	if os.Getenv("GOMEMLIMIT") != "" {
		return 0
	}
	limit := containerLimit(os.DirFS("/"))
	if limit == 0 {
		return 0
	}
	limit = int64(float64(limit) * limitShare)
	debug.SetMemoryLimit(limit)
	return limit
}

// paceCollections chooses the growth anew after each collection.
func paceCollections() {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	var watch func(growth int)
	watch = func(growth int) {
		runtime.AddCleanup(new([16]byte), func(growth int) { // garbage: the next collection finds it
			metrics.Read(sample)
			if next := growthFor(int64(sample[0].Value.Uint64())); next != growth {
				debug.SetGCPercent(next)
				growth = next
			}
			watch(growth)
		}, growth)
	}
	watch(mostGrowth)
}

// growthFor gives the growth for a heap of which live bytes are in use.
func growthFor(live int64) int {
	if live*(100+mostGrowth)/100 <= heapAim {
		return mostGrowth
	}
	return max(int((heapAim-live)*100/live), leastGrowth)
}

// unlimited is where version 1 of control groups begins to mean "no limit" (it writes the largest multiple of a page).
const unlimited = 1 << 60

// containerLimit gives the memory that the control groups of this process allow, in bytes; 0 when they do not bound it
// or cannot be read. A group is bounded by all groups above it.
func containerLimit(root fs.FS) int64 {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	lowest := int64(unlimited)
	for line := range strings.Lines(string(groups)) {
		// hierarchy-ID:controllers:path; version 2 has ID 0 and no controllers.
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		switch {
		case parts[0] == "0" && parts[1] == "":
			lowest = min(lowest, lowestLimit(root, "sys/fs/cgroup", parts[2], "memory.max"))
		case strings.Contains(","+parts[1]+",", ",memory,"):
			lowest = min(lowest, lowestLimit(root, "sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes"))
		}
	}
	if lowest == unlimited {
		return 0
	}
	return lowest
}

// lowestLimit walks from the group up to the mount. In a container the group's path is often that of the host and not
// there; the mount then is the container's own group.
func lowestLimit(root fs.FS, mount, group, file string) int64 {
	lowest := int64(unlimited)
	for dir := path.Join("/", group); ; dir = path.Dir(dir) {
		text, err := fs.ReadFile(root, path.Join(mount, dir, file))
		if err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
				lowest = min(lowest, n)
			}
		}
		if dir == "/" {
			return lowest
		}
	}
}
