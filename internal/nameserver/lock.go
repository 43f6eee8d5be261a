// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nameserver

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/goddard-mq/goddard/internal/faultfs"
	"github.com/goddard-mq/goddard/internal/statefile"
)

// lockName is the file that a running name server holds in the folder of its files. RocketMQ has none: two name servers
// with one folder overwrite each other's settings.
const lockName = "namesrv.lock"

// folderLocks keep other name servers out of the folders.
type folderLocks []io.Closer

// lockFolders locks the folders where something is kept. One that cannot be made or written to is no reason not to start:
// routes need no file.
func lockFolders(files *FileConfig, log *slog.Logger) (locks folderLocks, err error) {
	var dirs []string
	for _, path := range []string{files.KV, files.Settings} {
		if dir := filepath.Dir(path); path != "" && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		err := statefile.MakeDir(dir)
		var lock io.Closer
		if err == nil {
			lock, err = faultfs.OS.Lock(filepath.Join(dir, lockName))
		}
		switch {
		case errors.Is(err, faultfs.ErrLocked):
			return locks, fmt.Errorf("the folder %s is in use by another name server: give each its own, by --data, or by kvConfigPath and configStorePath", dir)
		case err != nil:
			log.Warn("settings that requests change cannot be kept", "dir", dir, "err", err)
		default:
			locks = append(locks, lock)
		}
	}
	return locks, nil
}

func (l folderLocks) release() {
	for _, lock := range l {
		_ = lock.Close() // which frees it, whatever it says
	}
}
