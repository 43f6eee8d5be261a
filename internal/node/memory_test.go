// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package node

import (
	"testing"
	"testing/fstest"
)

func TestContainerLimit(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{name: "no control groups"},
		{name: "version 2, no limit", files: map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"}},
		{name: "version 2, own limit", files: map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "1048576\n"}, want: 1 << 20},
		{
			name:  "version 2, the group above allows less",
			files: map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "2097152\n", "sys/fs/cgroup/a/memory.max": "1048576\n"},
			want:  1 << 20,
		},
		{
			name:  "version 2 in a container that sees the host's path",
			files: map[string]string{"proc/self/cgroup": "0::/docker/123\n", "sys/fs/cgroup/memory.max": "536870912\n"},
			want:  512 << 20,
		},
		{
			name:  "version 1",
			files: map[string]string{"proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/x\n0::/\n", "sys/fs/cgroup/memory/x/memory.limit_in_bytes": "1073741824\n"},
			want:  1 << 30,
		},
		{
			name:  "version 1, no limit",
			files: map[string]string{"proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"},
		},
		{name: "damaged", files: map[string]string{"proc/self/cgroup": "x\n0:y\n0::/a\n", "sys/fs/cgroup/a/memory.max": "lots"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := fstest.MapFS{}
			for name, text := range tt.files {
				root[name] = &fstest.MapFile{Data: []byte(text)}
			}
			if got := containerLimit(root); got != tt.want {
				t.Errorf("limit %d, want %d", got, tt.want)
			}
		})
	}
}

func TestHeapGrowth(t *testing.T) {
	for _, tt := range []struct {
		name       string
		live, want int64 // in MiB, the heap when it is collected
	}{
		{"idle", 8, 24},
		{"little in use", 30, 90},
		{"half of the aim", 56, 112},
		{"near the aim", 100, 125},
		{"much in use", 1 << 10, 1280},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at := tt.live * int64(100+growthFor(tt.live<<20)) / 100
			if at < tt.want-1 || at > tt.want {
				t.Errorf("%d MiB in use: collected at %d, want %d", tt.live, at, tt.want)
			}
		})
	}
}
