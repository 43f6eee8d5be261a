// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/segment"
	"github.com/goddard-mq/goddard/internal/store/consumequeue"
)

// cold is a store with 40 messages in queue 0 of topic T, all of them on the disk only.
type cold struct {
	*Store
	disk   *faultfs.Disk
	cfg    Config
	placed []Appended
	sizes  []int64
	log    lines
}

const coldCount = 40

// lines takes log lines.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func openCold(t *testing.T) *cold {
	t.Helper()
	c := &cold{disk: faultfs.NewDisk(), cfg: small("/store")}
	s := open(t, c.cfg, on(c.disk))
	for i := range coldCount {
		m := msg("T", 0, fmt.Sprintf("message %d %s", i, strings.Repeat("b", 300)), message.PropTags, "t", message.PropKeys, fmt.Sprintf("all k%d", i))
		a := put(t, s, m)[0]
		b, err := s.View(a.PhysicalOffset)
		if err != nil {
			t.Fatal(err)
		}
		c.placed, c.sizes = append(c.placed, a), append(c.sizes, int64(len(b)))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	c.Store = open(t, c.cfg, on(c.disk), func(d *Deps) { d.Logger = slog.New(slog.NewTextHandler(&c.log, nil)) })
	return c
}

// read reads the queue as a consumer does, and gives the numbers of the messages that came. It must not take more reads
// than there are messages, nor be given anything that was not sent.
func (c *cold) read(t *testing.T, filter Filter) (got []int64) {
	t.Helper()
	offset := int64(0)
	for range coldCount + 1 {
		b, res := c.Read(nil, &ReadRequest{Topic: "T", Offset: offset, MaxCount: 8, Filter: filter})
		if res.Status == OffsetOverflowOne {
			return got
		}
		if res.Next <= offset || res.Next > coldCount || res.Err != nil {
			t.Fatalf("read at %d: %+v", offset, res)
		}
		records, err := message.DecodeAll(b)
		if err != nil || len(records) != res.Count {
			t.Fatalf("read at %d gives bytes that are no records: %v", offset, err)
		}
		for i := range records {
			r := &records[i]
			if want := fmt.Sprintf("message %d ", r.QueueOffset); !strings.HasPrefix(string(r.Body), want) || message.BodyCRC(r.Body) != r.BodyCRC {
				t.Fatalf("read at %d gives a damaged message", offset)
			}
			got = append(got, r.QueueOffset)
		}
		offset = res.Next
	}
	t.Fatal("the reader does not get to the end")
	return nil
}

// without are the numbers of all messages but some.
func without(lost ...int64) (want []int64) {
	for n := range int64(coldCount) {
		found := false
		for _, l := range lost {
			found = found || l == n
		}
		if !found {
			want = append(want, n)
		}
	}
	return want
}

func (c *cold) flip(t *testing.T, path string, at int64, bit int) {
	t.Helper()
	f, err := c.disk.Open(filepath.Join(c.cfg.Root, path), os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1 << bit
	if _, err := f.WriteAt(b[:], at); err != nil {
		t.Fatal(err)
	}
}

// allTags is a filter that takes everything and makes the store look at tags.
type allTags struct{}

func (allTags) MatchTags(int64) bool        { return true }
func (allTags) MatchProperties([]byte) bool { return true }
func (allTags) NeedsProperties() bool       { return true }

// A bit that flips in an old record while the store runs costs that message and no other, and is told with the place.
func TestBitFlipsInTheLog(t *testing.T) {
	const victim = 13
	for _, tt := range []struct {
		name string
		at   int64 // in the record; below 0: from its end
		bits []int
	}{
		{"size", 0, []int{7, 6, 0}}, {"size, low byte", 3, []int{7, 0}}, {"magic", 5, []int{0}}, {"checksum", 9, []int{3}},
		{"physical offset", 33, []int{1}}, {"system flags: an IPv6 host", 39, []int{4, 5}},
		{"length of the body", 84, []int{7, 0}}, {"length of the body, low byte", 87, []int{0, 7}}, {"body", 150, []int{0, 7}},
		{"length of the topic", -24, []int{0, 7}}, {"length of the properties", -21, []int{0, 6}},
	} {
		for _, bit := range tt.bits {
			t.Run(fmt.Sprint(tt.name, ", bit ", bit), func(t *testing.T) {
				c := openCold(t)
				at := c.placed[victim].PhysicalOffset
				if tt.at < 0 {
					tt.at += c.sizes[victim]
				}
				c.flip(t, "commitlog/"+segment.Name(0), at+tt.at, bit)
				for _, filter := range []Filter{nil, allTags{}} {
					if got := c.read(t, filter); fmt.Sprint(got) != fmt.Sprint(without(victim)) {
						t.Errorf("filter %T: messages %v came", filter, got)
					}
				}
				if c.Info().Damaged == 0 {
					t.Error("it is not counted")
				}
				if log := c.log.String(); !strings.Contains(log, fmt.Sprintf("offset=%d ", at)) || !strings.Contains(log, "file=/store/commitlog/"+segment.Name(0)) || strings.Count(log, "\n") > 4 {
					t.Errorf("the log says %s", log)
				}
				if _, err := c.View(at); !errors.Is(err, ErrNoMessage) {
					t.Errorf("view: %v", err)
				}
				if res, err := c.Query("T", "all", 64, 0, math.MaxInt64); err != nil || res.Count != coldCount-1 {
					t.Errorf("%d messages by key, %v", res.Count, err)
				}
			})
		}
	}
}

// Whatever bit flips in the entries of a queue, no message but those is lost.
func TestBitFlipsInAQueue(t *testing.T) {
	const victim = 13
	c := openCold(t)
	for at := range int64(consumequeue.UnitSize) {
		for bit := range 8 {
			clear(c.damage.told)
			c.flip(t, "consumequeue/T/0/"+segment.Name(0), victim*consumequeue.UnitSize+at, bit)
			before := c.Info().Damaged
			for _, filter := range []Filter{nil, allTags{}} {
				got := fmt.Sprint(c.read(t, filter))
				lost := at < 12 // place and size; the rest are the tags
				if lost && got != fmt.Sprint(without(victim)) || !lost && got != fmt.Sprint(without()) {
					t.Errorf("byte %d, bit %d: messages %s came", at, bit, got)
				}
				if counted := c.Info().Damaged > before; counted != lost {
					t.Errorf("byte %d, bit %d: counted: %v", at, bit, counted)
				}
			}
			// Nor does it mislead those who search the queue.
			for _, n := range []int{0, 5, victim + 1, coldCount - 1} {
				if got := c.OffsetByTime("T", 0, c.placed[n].StoreTimestamp, false); got > int64(n) {
					t.Errorf("byte %d, bit %d: the first message of the time of %d is %d", at, bit, n, got)
				}
			}
			c.flip(t, "consumequeue/T/0/"+segment.Name(0), victim*consumequeue.UnitSize+at, bit)
		}
	}
	if !strings.Contains(c.log.String(), "file=/store/consumequeue/T/0/"+segment.Name(0)+" offset=260 ") {
		t.Errorf("the log does not name the entry: %s", c.log.String())
	}
}

// Whatever bit flips in the index, a query ends, and gives messages with that key only, each once.
func TestBitFlipsInTheIndex(t *testing.T) {
	c := openCold(t)
	files, err := c.disk.ReadDir("/store/index")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	path := "index/" + files[0].Name()
	entries := int64(40 + c.cfg.Index.Slots*4)
	for at := int64(0); at < entries+20*90; at += 1 + at%5 {
		bit := int(at % 8)
		c.flip(t, path, at, bit)
		for key, most := range map[string]int{"all": coldCount, "k7": 1} {
			res, err := c.Query("T", key, 64, 0, math.MaxInt64)
			if err != nil || res.Count > most {
				t.Errorf("byte %d, bit %d: %d messages for %s, %v", at, bit, res.Count, key, err)
			}
		}
		c.flip(t, path, at, bit)
	}
}

// What the disk cannot read is lost, as if it were damaged.
func TestUnreadableSectors(t *testing.T) {
	c := openCold(t)
	const sector = 512
	bad := c.placed[13].PhysicalOffset / sector * sector
	badUnits := int64(0) // the first sector of the queue
	c.disk.ReadFault(func(op faultfs.Op) error {
		overlaps := func(at int64) bool { return op.Off < at+sector && at < op.Off+op.N }
		switch {
		case op.Kind != faultfs.OpRead:
		case strings.HasPrefix(op.Path, "/store/commitlog") && overlaps(bad):
			return syscall.EIO
		case strings.HasPrefix(op.Path, "/store/consumequeue") && overlaps(badUnits):
			return syscall.EIO
		}
		return nil
	})
	var lost []int64
	for n := range int64(coldCount) {
		if at := c.placed[n].PhysicalOffset; at < bad+sector && bad < at+c.sizes[n] || n*consumequeue.UnitSize < badUnits+sector {
			lost = append(lost, n)
		}
	}
	if got := c.read(t, nil); fmt.Sprint(got) != fmt.Sprint(without(lost...)) {
		t.Errorf("messages %v came, lost are %v", got, lost)
	}
	if log := c.log.String(); !strings.Contains(log, "input/output error") {
		t.Errorf("the log says %s", log)
	}
	if _, err := c.View(bad + 1); err == nil {
		t.Error("a place that cannot be read is a message")
	}
}

// What cannot be read at the moment is not lost: the reader is told to come again, and then gets everything.
func TestReadsThatFailForNow(t *testing.T) {
	for _, tt := range []struct {
		name   string
		folder string
		err    error
	}{
		{"no descriptors for the log", "/store/commitlog", syscall.EMFILE},
		{"no descriptors for the queue", "/store/consumequeue", syscall.EMFILE},
		{"no permission for the log", "/store/commitlog", syscall.EACCES},
		{"no memory", "/store/commitlog", syscall.ENOMEM},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := openCold(t)
			c.disk.ReadFault(func(op faultfs.Op) error {
				if strings.HasPrefix(op.Path, tt.folder) {
					return tt.err
				}
				return nil
			})
			_, res := c.Read(nil, &ReadRequest{Topic: "T", MaxCount: 8})
			if res.Status != Unreadable || res.Next != 0 || !errors.Is(res.Err, tt.err) {
				t.Errorf("read: %+v", res)
			}
			c.disk.ReadFault(nil)
			if got := c.read(t, nil); len(got) != coldCount {
				t.Errorf("afterwards messages %v came", got)
			}
			if n := c.Info().Damaged; n != 0 {
				t.Errorf("%d are counted as damaged", n)
			}
		})
	}
}
