// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package statefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Suffixes of the files beside a state file.
const (
	backupSuffix  = ".bak"     // the generation before, whole
	tempSuffix    = ".tmp"     // being written; worthless after a crash
	damagedSuffix = ".damaged" // what could not be read, kept for a person to look at
)

// DamagedError tells that neither a file nor the generation before it can be used.
type DamagedError struct {
	Path   string
	Err    error // what is wrong with the file
	Backup error // what is wrong with the generation before
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s is damaged (%v) and %s%s cannot replace it (%v): restore one of the two from a copy, or remove both to start without what they held",
		e.Path, e.Err, filepath.Base(e.Path), backupSuffix, e.Backup)
}

// Unwrap gives the fault of the file itself.
func (e *DamagedError) Unwrap() error { return e.Err }

var errBlank = errors.New("the file is empty or holds nothing but zero bytes")

// Read gives the content of the file at path, or of the generation before it when
// the file is missing, empty or zeroed. from is the path that was read; when it is
// not path, the reader should say so in its log. No file at all is fs.ErrNotExist;
// a *DamagedError means that there are files, but none that can be used.
func Read(path string) (data []byte, from string, err error) {
	from, err = Load(path, func(b []byte) error {
		data = b
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	return data, from, nil
}

// Load is Read for content that only its owner can judge: decode is given the file
// and, when it refuses that, the generation before. decode must leave nothing of a
// refused attempt behind.
//
// A refused file is moved to <file>.damaged when the generation before was taken:
// otherwise the next Write would make it the generation before, over the good one.
func Load(path string, decode func([]byte) error) (from string, err error) {
	from, refused, err := find(path, decode)
	if err == nil && refused {
		if err := os.Rename(path, path+damagedSuffix); err != nil {
			return "", fmt.Errorf("put damaged %s aside: %w", path, err)
		}
	}
	return from, err
}

// Look is Load for those who do not own the file, or not yet: it leaves a damaged one where it is.
func Look(path string, decode func([]byte) error) (from string, err error) {
	from, _, err = find(path, decode)
	return from, err
}

// find tries the file, then the generation before. refused: there is a file, and the generation before was taken.
func find(path string, decode func([]byte) error) (from string, refused bool, err error) {
	fault := tryFile(path, decode)
	if fault == nil {
		return path, false, nil
	}
	missing := errors.Is(fault, fs.ErrNotExist)
	if !missing && !damaged(fault) {
		return "", false, fault // permission, I/O: the file may well be good
	}
	backup := path + backupSuffix
	second := tryFile(backup, decode)
	if second != nil {
		switch {
		case missing && errors.Is(second, fs.ErrNotExist):
			return "", false, fault
		case missing:
			return "", false, fmt.Errorf("%s is missing and the generation before it cannot be used: %w", path, second)
		case errors.Is(second, fs.ErrNotExist):
			second = errors.New("it does not exist")
		}
		return "", false, &DamagedError{Path: path, Err: fault, Backup: second}
	}
	return backup, !missing, nil
}

// contentError marks a fault of what is in a file, not of reading it.
type contentError struct{ err error }

func (e *contentError) Error() string { return e.err.Error() }
func (e *contentError) Unwrap() error { return e.err }

func damaged(err error) bool {
	var c *contentError
	return errors.As(err, &c)
}

func tryFile(path string, decode func([]byte) error) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if blank(b) {
		return &contentError{errBlank}
	}
	if err := decode(b); err != nil {
		return &contentError{err}
	}
	return nil
}

func blank(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// Write replaces the file at path by data and keeps what was there as <file>.bak.
// After it returns nil the new content survives a crash; after an error, or a crash
// before it returns, the file is the old one or the new one, whole. The folder must
// exist. Two writers of one path must not run at the same time.
//
//	step                          what a crash after it leaves
//	write <file>.tmp, sync        file: old   .bak: older   .tmp: ignored
//	link file to .bak.tmp,        file: old   .bak: old
//	  rename that over .bak
//	rename .tmp over file         file: new (or old: not yet synced)   .bak: old
//	sync folder                   file: new   .bak: old
func Write(path string, data []byte) error {
	temp := path + tempSuffix
	if err := writeSynced(temp, data); err != nil {
		os.Remove(temp)
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := keepBackup(path); err != nil {
		os.Remove(temp)
		return fmt.Errorf("keep the generation before of %s: %w", path, err)
	}
	if err := os.Rename(temp, path); err != nil {
		os.Remove(temp)
		return fmt.Errorf("replace %s: %w", path, err)
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("sync the folder of %s: %w", path, err)
	}
	return nil
}

// MakeDir makes a folder, and those above it that are missing, and makes its name durable, whoever made it.
func MakeDir(dir string) error {
	dir = filepath.Clean(dir)
	parent := filepath.Dir(dir)
	switch info, err := os.Stat(dir); {
	case err == nil && !info.IsDir():
		return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
	case err == nil:
	case !errors.Is(err, fs.ErrNotExist):
		return err
	default:
		if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
			if err := MakeDir(parent); err != nil {
				return err
			}
		}
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	// A folder that may be searched but not read cannot be synced; others have made its names.
	if err := syncDir(parent); err != nil && !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("sync the folder %s: %w", parent, err)
	}
	return nil
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// keepBackup gives the file at path a second name, <file>.bak, so that there is no
// moment without a file. Where links are not possible the file is renamed: then a
// crash in between leaves only the generation before, which Load finds.
func keepBackup(path string) error {
	backup := path + backupSuffix
	link := backup + tempSuffix
	os.Remove(link)
	err := os.Link(path, link)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing to keep; an older .bak stays
	}
	if err == nil {
		return os.Rename(link, backup)
	}
	return os.Rename(path, backup)
}

// syncDir makes the names in a folder durable. Tests watch it.
var syncDir = func(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
