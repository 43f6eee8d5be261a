// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/store/commitlog"
)

// manifest is what a Java broker answered about its store.
type manifest struct {
	Topics []struct {
		Topic     string
		QueueID   int32 `json:"queueId"`
		MinOffset int64
		MaxOffset int64
		Messages  []goldenMessage
		ByTime    [][2]int64 `json:"offsetByTime"`
		Earliest  int64      `json:"earliestStoreTime"`
	}
	KeyQueries []struct {
		Topic, Key string
		Offsets    []int64 `json:"commitLogOffsets"`
	}
}

type goldenMessage struct {
	QueueOffset, CommitLogOffset, BornTimestamp, StoreTimestamp, PreparedTransactionOffset int64
	Size, SysFlag, Flag, ReconsumeTimes                                                    int32
	StoredBodyCRC                                                                          uint32
	BornHost, StoreHost                                                                    string
	Properties                                                                             map[string]string
}

// goldenFolders are the stores to open: those in testdata, or those that GODDARD_GOLDEN_STORES names.
func goldenFolders(t testing.TB) []string {
	root := "testdata/golden"
	if dir := os.Getenv("GODDARD_GOLDEN_STORES"); dir != "" {
		root = dir
	}
	folders, err := filepath.Glob(filepath.Join(root, "*", "store.tar.gz"))
	if err != nil || len(folders) == 0 {
		t.Fatalf("no golden stores in %s: %v", root, err)
	}
	for i, f := range folders {
		folders[i] = filepath.Dir(f)
	}
	return folders
}

// unpack gives the configuration of a copy of a golden store.
func unpack(t testing.TB, folder string) Config {
	t.Helper()
	dir := t.TempDir()
	f, err := os.Open(filepath.Join(folder, "store.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(h.Name, "store/")))
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), writeFile(path, r))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cfg := DefaultConfig()
	cfg.Root, cfg.LogFileBytes, cfg.QueueFileBytes, cfg.MaxMessageBytes = dir, 262144, 2000, 131072
	cfg.Index.Slots, cfg.Index.Entries = 100, 200
	return cfg
}

func writeFile(path string, r io.Reader) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

func readManifest(t testing.TB, folder string) manifest {
	t.Helper()
	f, err := os.Open(filepath.Join(folder, "manifest.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := json.NewDecoder(z).Decode(&m); err != nil {
		t.Fatal(err)
	}
	return m
}

func eachGolden(t *testing.T, test func(t *testing.T, folder string, m manifest)) {
	for _, folder := range goldenFolders(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) { test(t, folder, readManifest(t, folder)) })
	}
}

func TestOpenJavaStore(t *testing.T) {
	eachGolden(t, func(t *testing.T, folder string, m manifest) {
		cfg := unpack(t, folder)
		s := open(t, cfg)
		checkGolden(t, s, m, !strings.HasPrefix(filepath.Base(folder), "4."))

		if _, err := os.Stat(filepath.Join(cfg.Root, "consumequeue", "S_BCQ")); err == nil {
			t.Error("a topic of batch queues got a simple one")
		}
		before := s.Info().LogMax
		put(t, s, msg("S_Normal", 0, "ours"))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, cfg)
		if got := readAll(t, s, "S_Normal", 0, 0); string(got[len(got)-1].Body) != "ours" || got[len(got)-1].PhysicalOffset < before {
			t.Errorf("the last message is not ours: %q at %d, the log ended at %d", got[len(got)-1].Body, got[len(got)-1].PhysicalOffset, before)
		}
	})
}

// checkGolden compares a store with its manifest. byTime: the look-ups by time, too; 4.9 answers them by another rule.
func checkGolden(t *testing.T, s *Store, m manifest, byTime bool) {
	t.Helper()
	messages := 0
	for _, q := range m.Topics {
		low, end := s.QueueRange(q.Topic, q.QueueID)
		if low != q.MinOffset || end != q.MaxOffset {
			t.Errorf("%s/%d: range %d..%d, want %d..%d", q.Topic, q.QueueID, low, end, q.MinOffset, q.MaxOffset)
		}
		at := map[int64]message.Record{}
		light := strings.HasPrefix(q.Topic, "%LMQ%") // its records have the offsets of their own topics
		for i, r := range readAll(t, s, q.Topic, q.QueueID, low) {
			if light {
				at[low+int64(i)] = r
				continue
			}
			unwrap(t, r, at)
		}
		for i, want := range q.Messages {
			messages++
			r, ok := at[want.QueueOffset]
			if light {
				r, ok = at[low+int64(i)]
			}
			if !ok {
				t.Errorf("%s/%d: no message at %d", q.Topic, q.QueueID, want.QueueOffset)
				continue
			}
			compareGolden(t, &r, &want)
		}
		for _, x := range q.ByTime {
			if got := s.OffsetByTime(q.Topic, q.QueueID, x[0], false); byTime && got != x[1] {
				t.Errorf("%s/%d: offset at %d is %d, want %d", q.Topic, q.QueueID, x[0], got, x[1])
			}
		}
		if got := s.EarliestTime(q.Topic, q.QueueID); q.MaxOffset > 0 && got != q.Earliest {
			t.Errorf("%s/%d: earliest time %d, want %d", q.Topic, q.QueueID, got, q.Earliest)
		}
	}
	if messages < 500 {
		t.Errorf("only %d messages in the manifest", messages)
	}
	for _, k := range m.KeyQueries {
		res, err := s.Query(k.Topic, k.Key, 64, 0, 1<<62)
		if err != nil {
			t.Fatal(err)
		}
		records, err := message.DecodeAll(res.Records)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, r := range records {
			got = append(got, r.PhysicalOffset)
		}
		want := slices.Sorted(slices.Values(k.Offsets))
		if !slices.Equal(got[max(len(got)-len(want), 0):], want) { // the manifest has the newest 32
			t.Errorf("key %s of %s: %v, want %v", k.Key, k.Topic, got, want)
		}
	}
}

// unwrap adds a record, or the messages of its inner batch as consumers see them.
func unwrap(t *testing.T, r message.Record, at map[int64]message.Record) {
	t.Helper()
	if r.SysFlag&message.FlagInnerBatch == 0 {
		at[r.QueueOffset] = r
		return
	}
	for it := range items(t, r.Body) {
		inner := r
		inner.Size, inner.Body, inner.BodyCRC, inner.Flag, inner.Properties = 0, it.Body, 0, it.Flag, it.Properties
		at[r.QueueOffset] = inner
		r.QueueOffset++
	}
}

func items(t *testing.T, batch []byte) iter.Seq[message.BatchItem] {
	return func(yield func(message.BatchItem) bool) {
		t.Helper()
		if err := message.EachBatchItem(batch, func(it message.BatchItem) error {
			if !yield(it) {
				return io.EOF
			}
			return nil
		}); err != nil && err != io.EOF {
			t.Error(err)
		}
	}
}

func compareGolden(t *testing.T, r *message.Record, want *goldenMessage) {
	t.Helper()
	got := goldenMessage{
		QueueOffset: r.QueueOffset, CommitLogOffset: r.PhysicalOffset, Size: r.Size, SysFlag: want.SysFlag, Flag: r.Flag,
		ReconsumeTimes: r.ReconsumeTimes, PreparedTransactionOffset: r.PreparedOffset, BornTimestamp: r.BornTimestamp,
		StoreTimestamp: r.StoreTimestamp, BornHost: r.BornHost.String(), StoreHost: r.StoreHost.String(), StoredBodyCRC: r.BodyCRC,
	}
	properties := message.ParseProperties(r.Properties)
	w := *want
	w.Properties = nil
	if jsonText(t, got) != jsonText(t, w) || jsonText(t, properties) != jsonText(t, want.Properties) || r.Size > 0 && message.BodyCRC(r.Body) != r.BodyCRC {
		t.Errorf("message differs:\n got %s %v\nwant %s %v", jsonText(t, got), properties, jsonText(t, w), want.Properties)
	}
}

func jsonText(t *testing.T, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Records that Java wrote are encoded again to the same bytes.
func TestEncodeAsJava(t *testing.T) {
	eachGolden(t, func(t *testing.T, folder string, _ manifest) {
		s := open(t, unpack(t, folder))
		sc := s.log.Scan(0, s.log.Confirmed(), commitlog.CheckBody)
		defer sc.Close()
		for n := 0; ; n++ {
			var r message.Record
			want, err := sc.Next(&r)
			if err == io.EOF && n > 500 {
				return
			}
			if err != nil {
				t.Fatalf("after %d records: %v", n, err)
			}
			if got := message.AppendRecord(nil, &r); !bytes.Equal(got, want) {
				t.Fatalf("record at %d:\n got %x\nwant %x", r.PhysicalOffset, got, want)
			}
		}
	})
}

// What we make of Java's log is, byte for byte, what Java made of it.
func TestRebuildAsJava(t *testing.T) {
	eachGolden(t, func(t *testing.T, folder string, m manifest) {
		cfg := unpack(t, folder)
		for _, dir := range []string{"consumequeue", "batchconsumequeue", "index"} {
			if err := os.Rename(filepath.Join(cfg.Root, dir), filepath.Join(cfg.Root, dir+".java")); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
		cfg.Index.Tags = !strings.HasPrefix(filepath.Base(folder), "4.")
		if strings.Contains(filepath.Base(folder), "lmq") {
			cfg = lit(cfg)
		}
		s := open(t, cfg, func(d *Deps) {
			d.BatchTopic = func(topic string) (bool, bool) { return topic == "S_BCQ", true }
			d.DelayOf = func(level int) time.Duration {
				return map[int]time.Duration{1: time.Second, 18: 2 * time.Hour}[level]
			}
		})
		checkGolden(t, s, m, !strings.HasPrefix(filepath.Base(folder), "4."))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if compared := compareFiles(t, filepath.Join(cfg.Root, "consumequeue")); compared < 20 {
			t.Errorf("%d queue files compared", compared)
		}
		if _, err := os.Stat(filepath.Join(cfg.Root, "batchconsumequeue.java", "S_BCQ")); err == nil {
			if compared := compareFiles(t, filepath.Join(cfg.Root, "batchconsumequeue")); compared != 2 {
				t.Errorf("%d files of batch queues compared", compared)
			}
		}
		if strings.HasSuffix(folder, "-killed") {
			return // the killed broker had lost and rebuilt part of its index: the same entries, in other files
		}
		java, ours := sortedFiles(t, filepath.Join(cfg.Root, "index.java")), sortedFiles(t, filepath.Join(cfg.Root, "index"))
		if len(java) != len(ours) || len(java) < 2 {
			t.Fatalf("%d index files, want %d", len(ours), len(java))
		}
		for i := range java {
			if !bytes.Equal(java[i], ours[i]) {
				t.Errorf("index file %d differs:\n got %x\nwant %x", i, ours[i][:40], java[i][:40])
			}
		}
	})
}

// compareFiles compares the queue files below dir.java with those below dir.
func compareFiles(t *testing.T, dir string) (compared int) {
	t.Helper()
	err := filepath.WalkDir(dir+".java", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		want, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir+".java", path)
		got, err := os.ReadFile(filepath.Join(dir, rel))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("queue file %s differs: %v", rel, err)
		}
		compared++
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return compared
}

// sortedFiles reads the files of a folder in the order of their names.
func sortedFiles(t *testing.T, dir string) (all [][]byte) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	return all
}
