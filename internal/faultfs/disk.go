// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package faultfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"syscall"
)

// ErrPowerCut is what every operation returns once the power of a Disk is cut.
var ErrPowerCut = errors.New("power cut")

// OpKind names an operation that changes a disk.
type OpKind string

// The operations that count, and that a Fault may refuse.
const (
	OpCreate   OpKind = "create"
	OpWrite    OpKind = "write"
	OpTruncate OpKind = "truncate"
	OpAllocate OpKind = "allocate"
	OpZero     OpKind = "zero"
	OpSync     OpKind = "sync"
	OpMkdir    OpKind = "mkdir"
	OpRemove   OpKind = "remove"
	OpRename   OpKind = "rename"
	OpSyncDir  OpKind = "sync folder"
	OpSyncAll  OpKind = "sync all"
)

// The operations that a ReadFault may refuse. They change nothing and do not count.
const (
	OpOpen OpKind = "open" // of a file or folder that is there
	OpRead OpKind = "read"
)

// Op is one operation on a Disk.
type Op struct {
	Kind   OpKind
	Path   string
	Off, N int64
}

func (o Op) String() string { return fmt.Sprintf("%s %s %d+%d", o.Kind, o.Path, o.Off, o.N) }

// Disk is a file system in memory that knows what was synced. The zero value is not usable: see NewDisk.
type Disk struct {
	mu      sync.Mutex
	now     *tree // what running programs see
	durable *tree // names that survive for certain; contents: see node
	pending map[string][]nameOp
	locks   map[string]bool

	ops   int
	cutAt int // the operation at which the power goes; 0: never
	off   bool
	fault func(Op) error
	reads func(Op) error
	trace func(Op)
	room  int64 // bytes that files may take; <0: no bound
	taken int64
}

// NewDisk gives an empty disk without bound.
func NewDisk() *Disk {
	return &Disk{now: newTree(), durable: newTree(), pending: map[string][]nameOp{}, locks: map[string]bool{}, room: -1}
}

var _ FS = (*Disk)(nil)

// Ops tells how many changing operations the disk has seen.
func (d *Disk) Ops() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ops
}

// CutAt lets the power go at operation number n, counted as Ops does. That operation may have come
// through in part; it and all later ones return ErrPowerCut.
func (d *Disk) CutAt(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cutAt = n
}

// Fault asks f before each changing operation; an error of f is the operation's. nil takes it away.
func (d *Disk) Fault(f func(Op) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault = f
}

// ReadFault asks f before each OpOpen and OpRead; an error of f is the operation's. nil takes it away.
func (d *Disk) ReadFault(f func(Op) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reads = f
}

// mayRead asks the ReadFault.
func (d *Disk) mayRead(op Op) error {
	if d.reads == nil {
		return nil
	}
	if err := d.reads(op); err != nil {
		return &fs.PathError{Op: string(op.Kind), Path: op.Path, Err: err}
	}
	return nil
}

// Trace calls f with each changing operation that is carried out.
func (d *Disk) Trace(f func(Op)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trace = f
}

// SetRoom bounds what all files together may take, in bytes, counted in pages of 4 KiB that were written or
// allocated; below 0: no bound. A bound below what is taken already makes the disk full.
func (d *Disk) SetRoom(bytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room = bytes
}

// Taken is what all files together take, in bytes.
func (d *Disk) Taken() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.taken
}

// begin counts an operation and says whether it may be carried out. With cut it is carried out, but not answered.
func (d *Disk) begin(op Op) (cut bool, err error) {
	if d.off {
		return false, ErrPowerCut
	}
	d.ops++
	if d.fault != nil {
		if err := d.fault(op); err != nil {
			return false, &fs.PathError{Op: string(op.Kind), Path: op.Path, Err: err}
		}
	}
	if d.cutAt != 0 && d.ops >= d.cutAt {
		d.off = true
		return true, nil
	}
	if d.trace != nil {
		d.trace(op)
	}
	return false, nil
}

func answer(cut bool) error {
	if cut {
		return ErrPowerCut
	}
	return nil
}

// Survive gives the disk as the machine may find it after a power cut: what was synced, and of the rest what seed
// chooses. The old disk stays dead.
func (d *Disk) Survive(seed uint64) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off = true
	rng := rand.New(rand.NewPCG(seed, 0x9E3779B97F4A7C15))
	names := d.durable.clone()
	for _, dir := range sortedKeys(d.pending) {
		ops := d.pending[dir]
		for _, op := range ops[:rng.IntN(len(ops)+1)] {
			names.apply(op)
		}
	}
	return newFrom(names, func(n *node) *node { return n.survive(rng) })
}

// Kill gives the disk as the next process finds it when this one was killed and the machine went on: everything that
// was written is there, synced or not.
func (d *Disk) Kill() *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off = true
	next := newFrom(d.now, func(n *node) *node { return n.now.settled() })
	next.room = d.room
	return next
}

// newFrom makes a disk of names, with contents as content gives them.
func newFrom(names *tree, content func(*node) *node) *Disk {
	next := NewDisk()
	for _, name := range sortedKeys(names.files) {
		if !names.reachable(filepath.Dir(name)) {
			continue
		}
		n := content(names.files[name])
		next.now.files[name], next.durable.files[name] = n, n
		next.taken += n.now.bytes()
	}
	for dir := range names.dirs {
		if names.reachable(dir) {
			next.now.dirs[dir], next.durable.dirs[dir] = true, true
		}
	}
	return next
}

// Open opens or creates a file.
func (d *Disk) Open(name string, flag int) (File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	name = filepath.Clean(name)
	n := d.now.files[name]
	switch {
	case d.off:
		return nil, ErrPowerCut
	case n == nil && flag&os.O_CREATE == 0:
		return nil, notExist("open", name)
	case n != nil && flag&os.O_EXCL != 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrExist}
	case n == nil && !d.now.dirs[filepath.Dir(name)]:
		return nil, notExist("open", name)
	case n == nil:
		cut, err := d.begin(Op{Kind: OpCreate, Path: name})
		if err != nil {
			return nil, err
		}
		n = newNode()
		d.change(nameOp{kind: OpCreate, path: name, node: n})
		if cut {
			return nil, ErrPowerCut
		}
	default:
		if err := d.mayRead(Op{Kind: OpOpen, Path: name}); err != nil {
			return nil, err
		}
	}
	return &diskFile{d: d, node: n, name: name}, nil
}

func notExist(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

// change carries out a change of names, to be made durable by a sync of the folder.
func (d *Disk) change(op nameOp) {
	d.now.apply(op)
	dir := filepath.Dir(op.path)
	d.pending[dir] = append(d.pending[dir], op)
	if to := filepath.Dir(op.to); op.kind == OpRename && to != dir {
		panic("faultfs: rename between folders")
	}
}

// MkdirAll creates a folder and those above it.
func (d *Disk) MkdirAll(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir = filepath.Clean(dir)
	if d.now.dirs[dir] {
		if d.off {
			return ErrPowerCut
		}
		return nil
	}
	cut, err := d.begin(Op{Kind: OpMkdir, Path: dir})
	if err != nil {
		return err
	}
	var missing []string
	for at := dir; !d.now.dirs[at]; at = filepath.Dir(at) {
		missing = append(missing, at)
		if at == filepath.Dir(at) {
			break
		}
	}
	for i := len(missing) - 1; i >= 0; i-- {
		if filepath.Dir(missing[i]) == missing[i] { // the root is always there
			d.now.dirs[missing[i]], d.durable.dirs[missing[i]] = true, true
			continue
		}
		d.change(nameOp{kind: OpMkdir, path: missing[i]})
	}
	return answer(cut)
}

// Remove removes a file, or an empty folder.
func (d *Disk) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	name = filepath.Clean(name)
	if d.now.files[name] == nil && !d.now.dirs[name] {
		return notExist("remove", name)
	}
	if d.now.dirs[name] && len(d.list(name)) > 0 {
		return &fs.PathError{Op: "remove", Path: name, Err: syscall.ENOTEMPTY}
	}
	cut, err := d.begin(Op{Kind: OpRemove, Path: name})
	if err != nil {
		return err
	}
	d.free(d.now.files[name])
	d.change(nameOp{kind: OpRemove, path: name})
	return answer(cut)
}

func (d *Disk) free(n *node) {
	if n != nil {
		d.taken -= n.now.bytes()
	}
}

// RemoveAll removes a folder with all that is in it; what is not there is no error.
func (d *Disk) RemoveAll(name string) error {
	d.mu.Lock()
	name = filepath.Clean(name)
	var below []string
	for _, set := range []([]string){sortedKeys(d.now.files), sortedKeys(d.now.dirs)} {
		for _, path := range set {
			if path == name || strings.HasPrefix(path, name+string(filepath.Separator)) {
				below = append(below, path)
			}
		}
	}
	d.mu.Unlock()
	sort.Slice(below, func(i, j int) bool { return len(below[i]) > len(below[j]) })
	for _, path := range below {
		if err := d.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Rename renames a file within its folder.
func (d *Disk) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	from, to = filepath.Clean(from), filepath.Clean(to)
	if d.now.files[from] == nil {
		return notExist("rename", from)
	}
	cut, err := d.begin(Op{Kind: OpRename, Path: from})
	if err != nil {
		return err
	}
	if to != from {
		d.free(d.now.files[to])
		d.change(nameOp{kind: OpRename, path: from, to: to})
	}
	return answer(cut)
}

// SyncDir makes the names in dir durable.
func (d *Disk) SyncDir(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir = filepath.Clean(dir)
	cut, err := d.begin(Op{Kind: OpSyncDir, Path: dir})
	if err != nil {
		return err
	}
	if cut {
		return ErrPowerCut
	}
	if !d.now.dirs[dir] {
		return notExist("open", dir)
	}
	d.settleNames(dir)
	return nil
}

func (d *Disk) settleNames(dir string) {
	for _, op := range d.pending[dir] {
		d.durable.apply(op)
	}
	delete(d.pending, dir)
}

// SyncAll makes everything durable.
func (d *Disk) SyncAll(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	cut, err := d.begin(Op{Kind: OpSyncAll, Path: dir})
	if err != nil {
		return err
	}
	if cut {
		return ErrPowerCut
	}
	for _, dir := range sortedKeys(d.pending) {
		d.settleNames(dir)
	}
	for _, n := range d.now.files {
		n.settle()
	}
	return nil
}

// Usage tells how full the disk is; without bound it is a tenth full.
func (d *Disk) Usage(string) (Usage, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off {
		return Usage{}, ErrPowerCut
	}
	if d.room < 0 {
		total := max(d.taken*10, 1<<30)
		return Usage{Total: total, Free: total - total/10, Available: total - total/10}, nil
	}
	free := max(d.room-d.taken, 0)
	return Usage{Total: max(d.room, d.taken), Free: free, Available: free}, nil
}

// Lock takes the lock of a file.
func (d *Disk) Lock(name string) (io.Closer, error) {
	f, err := d.Open(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	name = filepath.Clean(name)
	if d.locks[name] {
		return nil, fmt.Errorf("lock %s: %w", name, ErrLocked)
	}
	d.locks[name] = true
	return &diskLock{d: d, name: name, file: f}, nil
}

type diskLock struct {
	d    *Disk
	name string
	file File
}

func (l *diskLock) Close() error {
	l.d.mu.Lock()
	delete(l.d.locks, l.name)
	l.d.mu.Unlock()
	return l.file.Close()
}

// Stat describes a file or folder.
func (d *Disk) Stat(name string) (fs.FileInfo, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off {
		return nil, ErrPowerCut
	}
	name = filepath.Clean(name)
	if n := d.now.files[name]; n != nil {
		return info{name: filepath.Base(name), size: n.now.size, at: n.modified}, nil
	}
	if d.now.dirs[name] {
		return info{name: filepath.Base(name), dir: true}, nil
	}
	return nil, notExist("stat", name)
}

// ReadDir lists a folder.
func (d *Disk) ReadDir(dir string) ([]fs.DirEntry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir = filepath.Clean(dir)
	if d.off {
		return nil, ErrPowerCut
	}
	if err := d.mayRead(Op{Kind: OpOpen, Path: dir}); err != nil {
		return nil, err
	}
	if !d.now.dirs[dir] {
		return nil, notExist("open", dir)
	}
	return d.list(dir), nil
}

func (d *Disk) list(dir string) []fs.DirEntry {
	var all []fs.DirEntry
	for name, n := range d.now.files {
		if filepath.Dir(name) == dir {
			all = append(all, info{name: filepath.Base(name), size: n.now.size, at: n.modified})
		}
	}
	for name := range d.now.dirs {
		if filepath.Dir(name) == dir && name != dir {
			all = append(all, info{name: filepath.Base(name), dir: true})
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name() < all[j].Name() })
	return all
}
