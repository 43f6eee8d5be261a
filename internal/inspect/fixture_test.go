// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/store"
	"github.com/goddard-mq/goddard/internal/store/consumequeue"
)

// Sizes of the stores that the tests write.
const (
	logFileBytes   = 32 << 10
	queueFileBytes = 50 * consumequeue.UnitSize
	batchFileBytes = 20 * consumequeue.BatchUnitSize
	indexSlots     = 100
	indexEntries   = 200
)

func testConfig(dir string) store.Config {
	cfg := store.DefaultConfig()
	cfg.Root, cfg.LogFileBytes, cfg.QueueFileBytes, cfg.BatchFileBytes = dir, logFileBytes, queueFileBytes, batchFileBytes
	cfg.Index.Slots, cfg.Index.Entries, cfg.Index.Tags = indexSlots, indexEntries, false
	return cfg
}

func levelDelay(level int) time.Duration { return time.Duration(level) * time.Minute }

var quiet = slog.New(slog.DiscardHandler)

func openStore(t *testing.T, cfg store.Config) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), cfg, store.Deps{Logger: quiet, DelayOf: levelDelay, BatchTopic: func(topic string) (batch, ok bool) { return topic == "Batches", true }})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// waiter takes the outcome of one append.
type waiter chan store.Appended

func (w waiter) Appended(a *store.Appended) { w <- *a }
func (w waiter) Flush()                     {}

func put(t *testing.T, s *store.Store, m *store.Message) store.Appended {
	t.Helper()
	w := make(waiter, 1)
	s.Append(m, w)
	s.Commit()
	a := <-w
	if a.Status != store.OK {
		t.Fatalf("append to %s: %v, %v", m.Topic, a.Status, a.Err)
	}
	return a
}

var testHost = netip.MustParseAddrPort("127.0.0.1:10911")

// testMessage is message n of a topic: unique key, a key, and every third one tags.
func testMessage(topic string, queue int32, n int) *store.Message {
	var p []byte
	p = message.AppendProperty(p, message.PropUniqueKey, fmt.Sprintf("%s-%d-%d", topic, queue, n))
	p = message.AppendProperty(p, message.PropKeys, fmt.Sprintf("K%d shared", n))
	if n%3 == 0 {
		p = message.AppendProperty(p, message.PropTags, "TagA")
	}
	if topic == "SCHEDULE_TOPIC_XXXX" {
		p = message.AppendProperty(p, message.PropDelay, fmt.Sprint(queue+1))
	}
	return &store.Message{Topic: topic, QueueID: queue, Body: fmt.Appendf(nil, "body of message %d, long enough to be damaged", n), Properties: p, BornTimestamp: 1, BornHost: testHost, StoreHost: testHost}
}

// testBatch is batch n of a topic of batch queues: three messages, but the fourth batch is a single message.
func testBatch(topic string, queue int32, n int) *store.Message {
	m := testMessage(topic, queue, n)
	if n == 3 {
		return m
	}
	m.Batch, m.InnerBatch, m.Body = true, true, nil
	for i := range 3 {
		m.Body = message.AppendBatchItem(m.Body, message.BatchItem{Body: fmt.Appendf(nil, "message %d of batch %d", i, n)})
	}
	return m
}

// records is how many fill of 120 stores.
const records = 3*120 + 30 + 30

// fill appends n messages to each of the test's queues.
func fill(t *testing.T, s *store.Store, from, n int) {
	t.Helper()
	for i := from; i < from+n; i++ {
		put(t, s, testMessage("Orders", 0, i))
		put(t, s, testMessage("Orders", 1, i))
		put(t, s, testMessage("Logs", 0, i))
		switch i % 4 {
		case 0:
			put(t, s, testMessage("SCHEDULE_TOPIC_XXXX", 2, i/4))
		case 1:
			put(t, s, testBatch("Batches", 0, i/4))
		}
	}
}

// writeStore makes a store with three log files, queues of several files and an index, and closes it.
func writeStore(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s := openStore(t, testConfig(dir))
	fill(t, s, 0, 120)
	closeStore(t, s)
	writeConfig(t, dir, "topics.json", `{"dataVersion":{"counter":1},"topicConfigTable":{"Batches":{"attributes":{"queue.type":"BatchCQ"}},"Orders":{"topicName":"Orders"},"Logs":{},"SCHEDULE_TOPIC_XXXX":{}}}`)
	writeConfig(t, dir, "consumerOffset.json", `{"offsetTable":{"Orders@G":{0:100,1:120},"Batches@G":{0:88}}}`)
	writeConfig(t, dir, "delayOffset.json", `{"offsetTable":{3:30}}`)
	return dir
}

func closeStore(t *testing.T, s *store.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func writeConfig(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, configName, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// verifyDir verifies with the settings that the tests write with.
func verifyDir(t *testing.T, dir string) *Report {
	t.Helper()
	r, err := Verify(t.Context(), options(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func options(t *testing.T, dir string) Options {
	t.Helper()
	s, err := FindStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	return Options{Store: s, DelayOf: levelDelay}
}

// wantRight checks that a report has nothing wrong.
func wantRight(t *testing.T, r *Report) {
	t.Helper()
	if r.Counts.Wrong() > 0 || r.Counts.Notes > 0 {
		t.Errorf("%+v, want nothing", r.Counts)
		for _, f := range r.Findings {
			t.Log(jsonOf(t, f))
		}
	}
}

// onDisk reads n bytes at a place of a file.
func onDisk(t *testing.T, path string, at int64, n int) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, n)
	if _, err := f.ReadAt(b, at); err != nil {
		t.Fatal(err)
	}
	return b
}

// overwrite writes b at a place of a file.
func overwrite(t *testing.T, path string, at int64, b []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// flip turns the bits of one byte of a file around.
func flip(t *testing.T, path string, at int64) {
	t.Helper()
	overwrite(t, path, at, []byte{onDisk(t, path, at, 1)[0] ^ 0xFF})
}

// place is where something lies on the disk.
type place struct {
	path     string
	at       int64
	physical int64
	size     int32
}

// unitOf finds unit n of a queue by what the format says, without the code that is tested.
func unitOf(t *testing.T, dir, topic string, queue int32, n int64) place {
	t.Helper()
	off := n * 20
	start := off - off%queueFileBytes
	p := place{path: filepath.Join(dir, "consumequeue", topic, fmt.Sprint(queue), fmt.Sprintf("%020d", start)), at: off - start}
	b := onDisk(t, p.path, p.at, 20)
	p.physical, p.size = int64(binary.BigEndian.Uint64(b)), int32(binary.BigEndian.Uint32(b[8:]))
	return p
}

// batchUnitOf finds unit n of the batch queue.
func batchUnitOf(t *testing.T, dir string, n int64) place {
	t.Helper()
	off := n * 46
	start := off - off%batchFileBytes
	return place{path: filepath.Join(dir, "batchconsumequeue", "Batches", "0", fmt.Sprintf("%020d", start)), at: off - start}
}

// recordOf finds the record of message n of a queue.
func recordOf(t *testing.T, dir, topic string, queue int32, n int64) place {
	t.Helper()
	u := unitOf(t, dir, topic, queue, n)
	start := u.physical - u.physical%logFileBytes
	return place{filepath.Join(dir, "commitlog", fmt.Sprintf("%020d", start)), u.physical - start, u.physical, u.size}
}

// firstIndexFile is the oldest index file.
func firstIndexFile(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "index", "*"))
	if err != nil || len(files) < 2 {
		t.Fatalf("index files %v, %v", files, err)
	}
	return files[0]
}

// copyTree copies a folder.
func copyTree(t *testing.T, from string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// tree is the content of all files below a folder, by path.
func tree(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := make(map[string][]byte)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if rel, _ := filepath.Rel(dir, path); rel != lockName { // Verify makes it
			files[rel] = b
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func sameTrees(a, b map[string][]byte) error {
	for path := range a {
		if _, ok := b[path]; !ok {
			return fmt.Errorf("%s is gone", path)
		}
		if !bytes.Equal(a[path], b[path]) {
			return fmt.Errorf("%s differs", path)
		}
	}
	for path := range b {
		if _, ok := a[path]; !ok {
			return fmt.Errorf("%s is new", path)
		}
	}
	return nil
}

// goldenStores unpacks the stores that Java brokers wrote; see package store.
func goldenStores(t *testing.T, test func(t *testing.T, name, dir string)) {
	archives, err := filepath.Glob("../store/testdata/golden/*/store.tar.gz")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no stores of Java brokers: %v", err)
	}
	for _, archive := range archives {
		name := filepath.Base(filepath.Dir(archive))
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := unpack(archive, dir); err != nil {
				t.Fatal(err)
			}
			test(t, name, dir)
		})
	}
}

func unpack(archive, dir string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		path := filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(h.Name, "store/")))
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), writeSparse(path, r, h.Size))
		}
		if err != nil {
			return err
		}
	}
}

// writeSparse leaves holes where there are zeros.
func writeSparse(path string, r io.Reader, size int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	err = f.Truncate(size)
	block := make([]byte, 64<<10)
	for at := int64(0); err == nil && at < size; {
		var n int
		n, err = io.ReadFull(r, block[:min(int64(len(block)), size-at)])
		if err == nil && !allZero(block[:n]) {
			_, err = f.WriteAt(block[:n], at)
		}
		at += int64(n)
	}
	return errors.Join(err, f.Close())
}
