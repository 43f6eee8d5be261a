// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package consumequeue

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"strconv"

	"github.com/goddard-mq/goddard/internal/segment"
)

// Extra is what is kept of a message beside its queue, in files of their own (RocketMQ: ConsumeQueueExt, CqExtUnit):
//
//	 0    2                10               18   20
//	+----+----------------+----------------+----+- - - - -
//	|size| tags code      | store time     | n  | n bytes
//	+----+----------------+----------------+----+- - - - -
//
// The unit in the queue then has the address of the extra for its tags code: the offset of the extra plus the least
// number of 64 bits. No extra lies in two files; where one does not fit, a size of -1 ends the file.
type Extra struct {
	TagsCode       int64  // what the unit would have
	StoreTimestamp int64  // ms
	Bits           []byte // which filters match, see package filter; none: nobody knows
}

// Sizes of extras, bytes.
const (
	ExtraSize    = 20 // without bits
	maxExtraSize = math.MaxInt16
	fileEndSize  = 4        // kept free at the end of a file
	keepExtras   = 16 << 10 // of memory, by a queue that has nothing to save
)

// IsAddress tells tags codes that are the address of an extra. No hash is so small.
func IsAddress(tagsCode int64) bool { return tagsCode < math.MinInt32 }

// ExtraOffset gives the offset that an address stands for.
func ExtraOffset(address int64) int64 { return address - math.MinInt64 }

func extraAddress(offset int64) int64 { return offset + math.MinInt64 }

// Append encodes x.
func (x Extra) Append(dst []byte) []byte {
	be := binary.BigEndian
	dst = be.AppendUint16(dst, uint16(x.Size()))
	dst = be.AppendUint64(dst, uint64(x.TagsCode))
	dst = be.AppendUint64(dst, uint64(x.StoreTimestamp))
	dst = be.AppendUint16(dst, uint16(len(x.Bits)))
	return append(dst, x.Bits...)
}

// Size of the encoded extra, bytes.
func (x Extra) Size() int { return ExtraSize + len(x.Bits) }

// DecodeExtra decodes the extra at the start of b and gives its size; Bits alias b. ok is false when there is none.
func DecodeExtra(b []byte) (x Extra, size int, ok bool) {
	if len(b) < ExtraSize {
		return Extra{}, 0, false
	}
	be := binary.BigEndian
	size, bits := int(int16(be.Uint16(b))), int(int16(be.Uint16(b[18:])))
	if bits < 0 || size != ExtraSize+bits || size > len(b) {
		return Extra{}, 0, false
	}
	return Extra{TagsCode: int64(be.Uint64(b[2:])), StoreTimestamp: int64(be.Uint64(b[10:])), Bits: b[ExtraSize:size:size]}, size, true
}

// extras are those of one queue. Offsets are guarded by the queue's mu.
type extras struct {
	files *segment.Files
	write bool // new units get one

	saved    int64  // extras below are in the files
	buf      []byte // from saved on, as the files will have them
	synced   int64  // extras below are durable
	newNames bool   // files or folders were created since the last sync
}

// KeepExtras says that the units of the queues may have extras below dir, in files of fileSize bytes, and whether new
// units get some. It is called before the first queue is made.
func (s *Set) KeepExtras(dir string, fileSize int64, write bool) {
	s.extraDir, s.extraSize, s.extraWrite = dir, fileSize, write
}

// openExtras gives the extras of a queue; nil when it has none and gets none.
func (s *Set) openExtras(name Name) (*extras, error) {
	if s.extraDir == "" {
		return nil, nil
	}
	s.lookForExtras.Do(func() {
		_, err := s.handles.FS().Stat(s.extraDir)
		s.extrasThere = err == nil
	})
	if !s.extraWrite && !s.extrasThere {
		return nil, nil
	}
	files, err := segment.OpenDerived(s.handles, s.extraSize, filepath.Join(s.extraDir, name.Topic, strconv.Itoa(int(name.ID))))
	switch {
	case err != nil && !s.extraWrite: // files of another size, it may be; whoever reads goes without
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("open what is kept beside queue %d of topic %s: %w", name.ID, name.Topic, err)
	case !s.extraWrite && files.Len() == 0:
		return nil, nil
	}
	return &extras{files: files, write: s.extraWrite}, nil
}

// forget removes what is left of a queue that has no units any more.
func (e *extras) forget() error {
	if e == nil || !e.write || e.files.Len() == 0 {
		return nil
	}
	if _, err := e.files.RemoveFrom(0); err != nil {
		return err
	}
	return e.files.SyncDirs()
}

// Extended tells whether new units of the queue get extras.
func (q *Queue) Extended() bool { return q.extras != nil && q.extras.write }

// PutExtended is Put for a queue that is Extended: what the unit says of tags goes into an extra, with the time and the
// bits of x.
func (q *Queue) PutExtended(n int64, u Unit, x Extra) (place Place, pending int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if place = q.placeLocked(n, u); place == Next {
		x.TagsCode = u.TagsCode
		u.TagsCode = q.addExtraLocked(x)
		q.appendLocked(n, u)
	}
	return place, q.pendingLocked()
}

// addExtraLocked gives the address of a new extra; its tags code when no file has room for one of its size, or there are
// no more addresses.
func (q *Queue) addExtraLocked(x Extra) (address int64) {
	e, fileSize := q.extras, q.extras.files.FileSize()
	size := int64(x.Size())
	if size > maxExtraSize || size > fileSize-fileEndSize || !IsAddress(extraAddress(e.endLocked()+fileSize)) {
		return x.TagsCode
	}
	before := len(e.buf)
	if rest := fileSize - e.endLocked()%fileSize; size > rest-fileEndSize {
		e.buf = binary.BigEndian.AppendUint16(e.buf, math.MaxUint16)
		e.buf = append(e.buf, make([]byte, rest-2)...)
	}
	address = extraAddress(e.endLocked())
	e.buf = x.Append(e.buf)
	q.set.unsaved.Add(int64(len(e.buf) - before))
	return address
}

func (e *extras) endLocked() int64 { return e.saved + int64(len(e.buf)) }

// ReadExtras appends to dst what lies at the address of an extra and behind it, at most so many bytes, and no more than
// its file has. ErrNoUnit: nothing does.
func (q *Queue) ReadExtras(dst []byte, address int64, most int) ([]byte, error) {
	e := q.extras
	off := ExtraOffset(address)
	if e == nil || off < 0 {
		return dst, ErrNoUnit
	}
	q.mu.Lock()
	if e.write && off >= e.endLocked() {
		q.mu.Unlock()
		return dst, ErrNoUnit
	}
	if e.write && off >= e.saved {
		b := e.buf[off-e.saved:]
		dst = append(dst, b[:min(len(b), most)]...)
		q.mu.Unlock()
		return dst, nil
	}
	q.mu.Unlock()
	had := len(dst)
	want := int(min(int64(most), e.files.FileSize()-off%e.files.FileSize()))
	if cap(dst)-had < want {
		dst = append(make([]byte, 0, had+want), dst...)
	}
	dst = dst[:had+want]
	if _, err := e.files.ReadAt(dst[had:], off); errors.Is(err, segment.ErrGone) {
		return dst[:had], ErrNoUnit
	} else if err != nil && !errors.Is(err, io.EOF) {
		return dst[:had], fmt.Errorf("read beside queue %d of topic %s: %w", q.name.ID, q.name.Topic, err)
	}
	return dst, nil
}

// Extra gives the extra at an address. ErrNoUnit: there is none, or not any more.
func (q *Queue) Extra(address int64) (Extra, error) {
	for _, most := range [...]int{256, maxExtraSize} {
		b, err := q.ReadExtras(nil, address, most)
		if err != nil {
			return Extra{}, err
		}
		if x, _, ok := DecodeExtra(b); ok {
			return x, nil
		}
	}
	return Extra{}, ErrNoUnit
}

// settleExtras finds where the next extra goes: behind the one of the last unit that has one. dirty: what lies behind is
// removed. With no units at all there are no extras.
func (q *Queue) settleExtras(end int64, dirty bool) error {
	e := q.extras
	if e == nil || !e.write {
		return nil
	}
	q.mu.Lock()
	q.set.unsaved.Add(-int64(len(e.buf)))
	e.buf = nil
	e.saved = math.MaxInt64 // so that all can be read
	q.mu.Unlock()
	at, err := q.extrasEnd(end)
	if err != nil {
		return err
	}
	q.mu.Lock()
	e.saved, e.synced = at, at
	q.mu.Unlock()
	if !dirty && end > 0 {
		return nil
	}
	if _, err := e.files.RemoveFrom(at); err != nil {
		return q.loadError(err)
	}
	if !e.files.Has(at) {
		return nil
	}
	if err := e.files.Zero(at, e.files.Start(at)+e.files.FileSize()-at); err != nil {
		return q.loadError(err)
	}
	q.mu.Lock()
	e.newNames = true // what was zeroed is to be durable before new ones are
	q.mu.Unlock()
	return nil
}

// extrasEnd is where the extras end in a queue whose units do at end.
func (q *Queue) extrasEnd(end int64) (int64, error) {
	starts := q.extras.files.Starts()
	if end == 0 || len(starts) == 0 && end == 0 {
		return 0, nil
	}
	last, err := q.unit(end - 1)
	switch {
	case err != nil && !errors.Is(err, ErrNoUnit):
		return 0, q.loadError(err)
	case err == nil && IsAddress(last.TagsCode):
		off := ExtraOffset(last.TagsCode)
		x, err := q.Extra(last.TagsCode)
		if err == nil {
			return off + int64(x.Size()), nil
		}
		// It is lost. No other may have its address.
		return q.extras.files.Start(off) + q.extras.files.FileSize(), nil
	case len(starts) == 0:
		return 0, nil
	}
	return q.walkExtras(starts[len(starts)-1])
}

// walkExtras gives the end of the extras in the last file.
func (q *Queue) walkExtras(start int64) (int64, error) {
	fileEnd := start + q.extras.files.FileSize()
	for at := start; at < fileEnd; {
		b, err := q.ReadExtras(nil, extraAddress(at), 64<<10)
		if err != nil && !errors.Is(err, ErrNoUnit) {
			return 0, err
		}
		before := at
		for {
			_, size, ok := DecodeExtra(b)
			if !ok {
				break
			}
			at, b = at+int64(size), b[size:]
		}
		if at == before {
			if len(b) >= 2 && binary.BigEndian.Uint16(b) == math.MaxUint16 {
				return fileEnd, nil
			}
			return at, nil
		}
	}
	return fileEnd, nil
}

// saveExtras writes extras, the first of offset from, file by file.
func (q *Queue) saveExtras(b []byte, from int64) error {
	if len(b) == 0 {
		return nil
	}
	e := q.extras
	for at := from; len(b) > 0; {
		start := e.files.Start(at)
		if !e.files.Has(at) {
			q.mu.Lock()
			removed := q.removed
			e.newNames = true
			q.mu.Unlock()
			if removed {
				return ErrNoUnit
			}
			if err := e.files.Create(start); err != nil {
				return err
			}
		}
		part := b[:min(int64(len(b)), start+e.files.FileSize()-at)]
		if err := e.files.WriteAt(part, at); err != nil {
			return err
		}
		b, at = b[len(part):], at+int64(len(part))
	}
	return nil
}

// savedExtrasLocked notes that the first n bytes of the buffer are in the files.
func (q *Queue) savedExtrasLocked(n int) {
	if n == 0 {
		return
	}
	e := q.extras
	e.saved += int64(n)
	e.buf = e.buf[:copy(e.buf, e.buf[n:])]
	if len(e.buf) == 0 && cap(e.buf) > keepExtras {
		e.buf = nil
	}
	q.set.unsaved.Add(-int64(n))
}

// syncExtras makes durable what was saved, from an offset on.
func (q *Queue) syncExtras(from, to int64, names bool) error {
	e := q.extras
	for at := e.files.Start(from); at < to; at += e.files.FileSize() {
		if !e.files.Has(at) {
			continue
		}
		if err := e.files.Datasync(at); err != nil {
			return err
		}
	}
	if !names {
		return nil
	}
	topic := filepath.Join(q.set.extraDir, q.name.Topic)
	for _, dir := range []string{filepath.Dir(e.files.Path(0)), topic, q.set.extraDir, filepath.Dir(q.set.extraDir)} {
		if err := q.set.handles.FS().SyncDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// shortenExtras removes the files that hold nothing of unit first and those behind it; the last file stays.
func (q *Queue) shortenExtras(first int64) error {
	if q.extras == nil {
		return nil
	}
	u, err := q.unit(first)
	if err != nil || !IsAddress(u.TagsCode) {
		return nil
	}
	files, off := q.extras.files, ExtraOffset(u.TagsCode)
	starts, removed := files.Starts(), false
	for _, start := range starts[:max(len(starts)-1, 0)] {
		if start+files.FileSize() > off {
			break
		}
		if err := files.Remove(start); err != nil {
			return err
		}
		removed = true
	}
	if removed {
		return files.SyncDirs()
	}
	return nil
}
