// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/goddard-mq/goddard/internal/store/consumequeue"
)

// extras are the files of what is kept beside a queue: units have its addresses in place of tags codes.
type extras struct {
	run   Queue // the same kind of files, without units
	block []byte
	base  int64 // offset of the first byte in block
}

// extrasDir is the folder of what is kept beside a queue; "" when it does not lie in a store.
func (q *Queue) extrasDir() string {
	topic := filepath.Dir(q.Dir)
	queues := filepath.Dir(topic)
	if q.Batch() || filepath.Base(queues) != queuesName {
		return ""
	}
	return filepath.Join(filepath.Dir(queues), extendedName, filepath.Base(topic), filepath.Base(q.Dir))
}

// findExtras lists the files beside the queue, once.
func (q *Queue) findExtras() error {
	if q.beside != nil {
		return nil
	}
	q.beside = &extras{}
	dir := q.extrasDir()
	if dir == "" {
		return nil
	}
	files, err := runFiles(dir)
	if err != nil {
		return err
	}
	sizes := make(map[int64]int)
	for i := range files {
		sizes[files[i].Size]++
	}
	q.beside.run = Queue{Dir: dir, Files: files, FileSize: commonSize(sizes)}
	return nil
}

// Beside gives what is kept beside the queue for a unit that has the address of it: where, and what. fault tells why
// there is nothing.
func (q *Queue) Beside(u *Units) (at int64, x consumequeue.Extra, fault string, err error) {
	x, fault, err = q.extra(u.Unit.TagsCode)
	return consumequeue.ExtraOffset(u.Unit.TagsCode), x, fault, err
}

// extra gives what is kept beside the queue at an address; fault tells why there is nothing.
func (q *Queue) extra(address int64) (x consumequeue.Extra, fault string, err error) {
	if err := q.findExtras(); err != nil {
		return x, "", err
	}
	e, off := q.beside, consumequeue.ExtraOffset(address)
	for _, most := range [...]int{8 << 10, 64 << 10} {
		if at := off - e.base; at >= 0 && at < int64(len(e.block)) {
			if x, _, ok := consumequeue.DecodeExtra(e.block[at:]); ok {
				return x, "", nil
			}
		}
		f := e.run.fileOf(off)
		if f == nil {
			return x, fmt.Sprintf("no file in %s has byte %d", q.extrasDir(), off), nil
		}
		if err := e.read(f, off, most); err != nil {
			return x, "", err
		}
		if x, _, ok := consumequeue.DecodeExtra(e.block); ok {
			return x, "", nil
		}
	}
	f := e.run.fileOf(off)
	return x, fmt.Sprintf("nothing that can be read is at byte %d of %s", off-f.Start, f.Path), nil
}

func (e *extras) read(f *RunFile, off int64, most int) error {
	e.block, e.base = e.block[:0], off
	src, err := openSource(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer src.close()
	if cap(e.block) < most {
		e.block = make([]byte, most)
	}
	n, err := src.read(e.block[:most], off-f.Start)
	if err != nil {
		return fmt.Errorf("read %s: %w", f.Path, err)
	}
	e.block = e.block[:n]
	return nil
}

// extended checks the unit of a record that has the address of something beside the queue. want has the store time of the
// record. It gives the unit with its tags code, and what is wrong.
func (v *verifier) extended(c *queueCheck, u, want consumequeue.Unit) (consumequeue.Unit, string, error) {
	if !consumequeue.IsAddress(u.TagsCode) || c.q.Batch() {
		return u, "", nil
	}
	x, fault, err := c.q.extra(u.TagsCode)
	switch {
	case err != nil:
		return u, "", err
	case fault != "":
		return u, "what was kept beside it is lost: " + fault, nil
	case x.StoreTimestamp != want.StoreTimestamp:
		return u, fmt.Sprintf("what is kept beside it is of a message stored %s, this one was stored %s", timeOf(x.StoreTimestamp), timeOf(want.StoreTimestamp)), nil
	}
	u.TagsCode = x.TagsCode
	v.r.Extended++
	return u, "", nil
}

// extraSize finds the size of the files beside the queues.
func (v *verifier) extraSize() error {
	if !v.extras {
		return nil
	}
	sizes := make(map[int64]int)
	for _, c := range v.all {
		if err := c.q.findExtras(); err != nil {
			return fmt.Errorf("list what is kept beside %s: %w", c.q.Dir, err)
		}
		for i := range c.q.beside.run.Files {
			sizes[c.q.beside.run.Files[i].Size]++
		}
	}
	v.r.rebuild.extraFile = commonSize(sizes)
	return nil
}

// extraFiles looks at the files beside a queue.
func (v *verifier) extraFiles(c *queueCheck) {
	if !v.extras {
		return
	}
	run := &c.q.beside.run
	for i := range run.Files {
		f := &run.Files[i]
		switch size := v.r.rebuild.extraFile; {
		case f.Size != size && f.Size != 0:
			v.addQueue(c, Derived, f.Path, min(f.Size, size), c.q.First(), fmt.Sprintf("it has %d bytes, others have %d", f.Size, size))
		case size > 0 && f.Start%size != 0:
			v.addQueue(c, Derived, f.Path, 0, c.q.First(), fmt.Sprintf("its name is no multiple of %d, the size of the files", size))
		}
	}
}
