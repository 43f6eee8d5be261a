// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// path is a file or folder of the broker's store.
func (s *server) path(parts ...string) string {
	return filepath.Join(append([]string{s.data, "store"}, parts...)...)
}

// last is the last file of a folder that something was written to.
func (s *server) last(parts ...string) string {
	s.t.Helper()
	files, err := os.ReadDir(s.path(parts...))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range slices.Backward(files) {
		path := s.path(append(parts, f.Name())...)
		if contentEnd(s.t, path) > 0 {
			return path
		}
	}
	s.t.Fatalf("%s has no file that was written to", s.path(parts...))
	return ""
}

// contentEnd is where the content of a file ends: what follows is zero.
func contentEnd(t testing.TB, path string) int64 {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return int64(len(b))
}

// spoilEnd overwrites the last bytes of a file's content, from a border of 512 bytes on, or cuts the file there.
func spoilEnd(t testing.TB, path string, with func(n int) []byte) {
	t.Helper()
	end := contentEnd(t, path)
	from := max(end-600, 0) / 512 * 512
	if with == nil {
		if err := os.Truncate(path, from); err != nil {
			t.Fatal(err)
		}
		return
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(with(int(end-from)), from); err != nil {
		t.Fatal(err)
	}
}

func remove(t testing.TB, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
}

func write(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Whatever happens to what is derived from the log, after a kill or a proper stop: the broker starts with every message
// where it was acknowledged, and after the next stop there is nothing to repair.
func TestDamagedDerivedFiles(t *testing.T) {
	t.Parallel()
	zeros := func(n int) []byte { return make([]byte, n) }
	for _, row := range []struct {
		name string
		do   func(t *testing.T, s *server)
	}{
		{"no queues", func(t *testing.T, s *server) { remove(t, s.path("consumequeue")) }},
		{"a topic's queues gone", func(t *testing.T, s *server) { remove(t, s.path("consumequeue", "load")) }},
		{"a queue gone", func(t *testing.T, s *server) { remove(t, s.path("consumequeue", "load", "1")) }},
		{"a queue's first file gone", func(t *testing.T, s *server) {
			remove(t, s.path("consumequeue", "load", "0", fmt.Sprintf("%020d", 0)))
		}},
		{"a queue's end zero", func(t *testing.T, s *server) { spoilEnd(t, s.last("consumequeue", "load", "0"), zeros) }},
		{"a queue's end noise", func(t *testing.T, s *server) { spoilEnd(t, s.last("consumequeue", "load", "0"), noise) }},
		{"a queue cut", func(t *testing.T, s *server) { spoilEnd(t, s.last("consumequeue", "load", "0"), nil) }},
		{"a queue's file empty", func(t *testing.T, s *server) { write(t, s.last("consumequeue", "load", "0"), nil) }},
		{"no index", func(t *testing.T, s *server) { remove(t, s.path("index")) }},
		{"the index's end noise", func(t *testing.T, s *server) { spoilEnd(t, s.last("index"), noise) }},
		{"the index cut", func(t *testing.T, s *server) { spoilEnd(t, s.last("index"), nil) }},
		{"no checkpoint", func(t *testing.T, s *server) { remove(t, s.path("checkpoint")) }},
		{"neither checkpoint nor abort", func(t *testing.T, s *server) { remove(t, s.path("checkpoint"), s.path("abort")) }},
		{"an empty checkpoint", func(t *testing.T, s *server) { write(t, s.path("checkpoint"), nil) }},
		{"a checkpoint of zeros", func(t *testing.T, s *server) { write(t, s.path("checkpoint"), make([]byte, 4096)) }},
		{"a checkpoint of noise", func(t *testing.T, s *server) { write(t, s.path("checkpoint"), noise(4096)) }},
		{"nothing but the log", func(t *testing.T, s *server) {
			remove(t, s.path("consumequeue"), s.path("index"), s.path("checkpoint"), s.path("abort"))
		}},
		{"files of others", func(t *testing.T, s *server) {
			for _, dir := range []string{"", "commitlog", "consumequeue", "consumequeue/load", "consumequeue/load/0", "index", "config"} {
				for _, name := range []string{"lost+found/x", ".DS_Store", fmt.Sprintf("%020d~", 0), fmt.Sprintf(".%020d.swp", 0), "#topics.json#", "copy of 0/1"} {
					write(t, s.path(dir, name), noise(50))
				}
			}
		}},
	} {
		for _, ended := range []string{"kill", "stop"} {
			t.Run(row.name+", "+ended, func(t *testing.T) {
				t.Parallel()
				const queues = 2
				set := []string{"mappedFileSizeCommitLog=65536", "mappedFileSizeConsumeQueue=2000", "maxIndexNum=200", "maxHashSlotNum=50"}
				s := start(t, setup{set: set})
				w := dial(t, s.broker)
				w.createTopic("load", queues)
				l := newLoadLedger(queues)
				send := func(from int) {
					t.Helper()
					var out []outgoing
					for i := from; i < from+250; i++ {
						body := fmt.Sprintf("message %d %0*d", i, i%300, 0)
						l.attempt(body)
						out = append(out, outgoing{topic: "load", queue: int32(i % queues), body: []byte(body), props: properties(true, "KEYS", fmt.Sprint("k", i))})
					}
					for i, place := range dial(t, s.broker).sendAll(out) {
						l.acknowledge(place, string(out[i].body))
					}
				}
				send(0)
				if ended == "kill" {
					s.restart() // so that there are queues and a checkpoint, and something above them
					send(250)
					s.kill()
				} else {
					send(250)
					s.stop()
				}
				row.do(t, s)
				s.begin()
				send(500)
				w = dial(t, s.broker)
				l.checkAll(t, w)
				for _, n := range []int{0, 123, 250, 499, 501} {
					key := fmt.Sprint("k", n)
					eventually(t, "message of "+key, func() bool { return len(w.query("load", key, 9)) == 1 })
				}
				s.stop()
				s.verify(set)
				s.begin()
				l.checkAll(t, dial(t, s.broker))
			})
		}
	}
}
