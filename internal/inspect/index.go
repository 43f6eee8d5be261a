// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package inspect

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/store/keyindex"
)

// Sizes in an index file, bytes.
const (
	slotBytes  = 4
	entryBytes = 20
)

// DefaultSlots is how many slots index files have by default (maxHashSlotNum); they have four times as many entries.
const DefaultSlots = 5_000_000

// IndexFile is one file of the key index.
type IndexFile struct {
	Path, Name string
	Size       int64
	Header     keyindex.Header
	Count      int32 // of the header as it stands there
	Slots      int32 // in the file; 0: not known, which only an empty index can be
	Fault      string
}

// FindIndex lists the index files at path: a store's folder, that of the index, or one file. slots is how many slots
// the files have (maxHashSlotNum); with 0 they are found out from the files themselves.
func FindIndex(path string, slots int32) ([]*IndexFile, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	paths := []string{path}
	if info.IsDir() {
		if paths, err = indexFiles(part(path, indexName)); err != nil {
			return nil, err
		}
		if len(paths) == 0 {
			return nil, fmt.Errorf("no index files in %s", path)
		}
	} else if !isIndexName(filepath.Base(path)) {
		return nil, fmt.Errorf("%s is no index file: its name is the time of its creation, 17 digits", path)
	}
	var files []*IndexFile
	for _, p := range paths {
		x, err := openIndexFile(p)
		if err != nil {
			return nil, err
		}
		files = append(files, x)
	}
	return files, knowSlots(files, slots)
}

func indexFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		if !e.IsDir() && isIndexName(e.Name()) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, nil
}

func isIndexName(name string) bool {
	_, err := strconv.ParseUint(name, 10, 63)
	return err == nil && len(name) == 17
}

func openIndexFile(path string) (*IndexFile, error) {
	src, err := openSource(path)
	if err != nil {
		return nil, err
	}
	defer src.close()
	x := &IndexFile{Path: path, Name: filepath.Base(path), Size: src.size}
	var b [keyindex.HeaderSize]byte
	n, err := src.read(b[:], 0)
	if err != nil {
		return nil, err
	}
	if n < len(b) {
		x.Fault = fmt.Sprintf("%d bytes are too few for an index file", n)
	}
	x.Header, x.Count = keyindex.DecodeHeader(b[:]), int32(binary.BigEndian.Uint32(b[36:]))
	return x, nil
}

// knowSlots finds out how many slots the files have.
func knowSlots(files []*IndexFile, slots int32) error {
	for i := 0; i < len(files) && slots == 0; i++ {
		var err error
		if slots, err = files[i].guessSlots(); err != nil {
			return err
		}
	}
	for _, x := range files {
		switch most := (x.Size - keyindex.HeaderSize - int64(slots)*slotBytes) / entryBytes; {
		case x.Fault != "":
		case slots == 0 && x.Header.Count > 1:
			x.Fault = "the numbers of slots and entries cannot be found out from the file: say maxHashSlotNum"
		case slots == 0:
		case most < 1:
			x.Fault = fmt.Sprintf("the file has %d bytes, %d slots do not fit", x.Size, slots)
		default:
			x.Slots = slots
			if int64(x.Header.Count) > most {
				x.Fault = fmt.Sprintf("the header counts %d entries, the file has room for %d", x.Header.Count-1, most-1)
				x.Header.Count = int32(min(most, math.MaxInt32))
			}
		}
	}
	return nil
}

// guessSlots finds out how many slots a file has: the entries must begin behind them. 0 when it cannot be told.
func (x *IndexFile) guessSlots() (int32, error) {
	const whole = keyindex.HeaderSize + DefaultSlots*(slotBytes+4*entryBytes)
	if x.Size == whole {
		return DefaultSlots, nil
	}
	if x.Header.Count <= 1 || x.Fault != "" {
		return 0, nil
	}
	src, err := openSource(x.Path)
	if err != nil {
		return 0, err
	}
	defer src.close()
	// The table of entries ends with the file, so it begins at a multiple of their size from there.
	first := keyindex.HeaderSize + (x.Size-keyindex.HeaderSize)%entryBytes
	if first%slotBytes != 0 {
		return 0, nil
	}
	block := make([]byte, walkBlock/entryBytes*entryBytes)
	for at := first + entryBytes; at < x.Size; at += int64(len(block)) {
		n, err := src.read(block, at)
		if err != nil {
			return 0, err
		}
		for b := block[:n]; len(b) >= entryBytes; b = b[entryBytes:] {
			e := keyindex.DecodeEntry(b)
			if e.Physical != x.Header.BeginPhysical || e.Before != 0 || e.Hash <= 0 { // zeros are everywhere
				continue
			}
			entries := at + int64(n-len(b)) - entryBytes // where the table would begin, its number 0 unused
			slots := (entries - keyindex.HeaderSize) / slotBytes
			if slots < 1 || slots > math.MaxInt32 {
				continue
			}
			if ok, err := x.fits(src, int32(slots)); ok || err != nil {
				return int32(slots), err
			}
		}
	}
	return 0, nil
}

// fits tells whether the first entries make sense if there are so many slots.
func (x *IndexFile) fits(src *source, slots int32) (bool, error) {
	for n := int32(1); n < min(x.Header.Count, 32); n++ {
		var b [entryBytes]byte
		if got, err := src.read(b[:], entryAt(slots, n)); err != nil || got < len(b) {
			return false, err
		}
		e := keyindex.DecodeEntry(b[:])
		if e.Hash < 0 || e.Before < 0 || e.Before >= n || e.Physical < x.Header.BeginPhysical || e.Physical > x.Header.EndPhysical {
			return false, nil
		}
		var s [slotBytes]byte
		if got, err := src.read(s[:], slotAt(e.Hash%slots)); err != nil || got < len(s) {
			return false, err
		}
		if newest := int32(binary.BigEndian.Uint32(s[:])); newest < n {
			return false, nil
		}
	}
	return true, nil
}

func slotAt(slot int32) int64 { return keyindex.HeaderSize + int64(slot)*slotBytes }

func entryAt(slots, n int32) int64 {
	return keyindex.HeaderSize + int64(slots)*slotBytes + int64(n)*entryBytes
}

// EntryAt is where an entry lies in the file, bytes.
func (x *IndexFile) EntryAt(n int32) int64 { return entryAt(x.Slots, n) }

// Walk calls f for each entry that the header counts, with its number, until it returns an error. Entries cut off with
// the file's end are left out.
func (x *IndexFile) Walk(ctx context.Context, f func(n int32, e Entry) error) error {
	r, err := x.read()
	if err != nil {
		return err
	}
	defer r.close()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, e, ok, err := r.next()
		if err != nil || !ok {
			return err
		}
		if err := f(n, e); err != nil {
			return err
		}
	}
}

// entryReader reads the entries of a file one after another.
type entryReader struct {
	x     *IndexFile
	src   *source
	n     int32 // number of the next one
	block []byte
	rest  []byte
}

func (x *IndexFile) read() (*entryReader, error) {
	src, err := openSource(x.Path)
	if err != nil {
		return nil, err
	}
	return &entryReader{x: x, src: src, n: 1}, nil
}

func (r *entryReader) close() { r.src.close() }

func (r *entryReader) next() (n int32, e keyindex.Entry, ok bool, err error) {
	if r.x.Slots == 0 || r.n >= r.x.Header.Count {
		return 0, e, false, nil
	}
	if len(r.rest) < entryBytes {
		if r.block == nil {
			r.block = make([]byte, min(int64(r.x.Header.Count-1)*entryBytes, walkBlock/entryBytes*entryBytes))
		}
		got, err := r.src.read(r.block, r.x.EntryAt(r.n))
		if err != nil {
			return 0, e, false, fmt.Errorf("read %s: %w", r.x.Path, err)
		}
		if r.rest = r.block[:got]; got < entryBytes {
			return 0, e, false, nil
		}
	}
	n, e = r.n, keyindex.DecodeEntry(r.rest)
	r.n, r.rest = r.n+1, r.rest[entryBytes:]
	return n, e, true, nil
}

// KeyHash is the hash of a topic's key as entries have it: Java's hash of topic#key, made positive.
func KeyHash(topic, key []byte) int32 {
	text := make([]byte, 0, len(topic)+1+len(key))
	text = append(append(append(text, topic...), '#'), key...)
	switch h := message.HashString(text); {
	case h == math.MinInt32:
		return 0
	case h < 0:
		return -h
	default:
		return h
	}
}

// Entry is an entry of the index.
type Entry = keyindex.Entry
