// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/goddard-mq/goddard/internal/statefile"
)

const keptHeader = "# Settings that were changed by requests while the server ran. They win over the configuration file;\n" +
	"# remove a line, or the file, while the server is stopped to give them up.\n"

// Keep adds settings that were changed while running to the file at path, for Kept to find at the next start. Values
// that the file has for the same keys are replaced. Two calls for one path must not run at the same time.
//
// RocketMQ rewrites its whole configuration file instead, so that comments are lost and every default of that day is
// carved in stone.
func Keep(path string, changes []KV) error {
	layer, err := kept(path, statefile.Load) // the next write would put a damaged file over the good generation before
	if err != nil {
		return err
	}
	values := map[string]string{}
	for _, s := range layer.Settings {
		values[s.Key] = s.Value
	}
	for _, kv := range changes {
		values[kv.Key] = kv.Value
	}
	all := make([]KV, 0, len(values))
	for key, value := range values {
		all = append(all, KV{key, value})
	}
	slices.SortFunc(all, func(a, b KV) int { return cmp.Compare(a.Key, b.Key) })
	if err := statefile.MakeDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("keep settings: %w", err)
	}
	if err := statefile.Write(path, []byte(keptHeader+FormatProperties(all))); err != nil {
		return fmt.Errorf("keep settings: %w", err)
	}
	return nil
}

// Kept reads what Keep wrote. No file is no settings. It changes nothing on disk: the process that owns the file may be
// another.
func Kept(path string) (Layer, error) { return kept(path, statefile.Look) }

func kept(path string, read func(path string, decode func([]byte) error) (from string, err error)) (Layer, error) {
	layer := Layer{Source: FromRequest}
	var properties []Property
	from, err := read(path, func(text []byte) (err error) {
		properties, err = ParseProperties(text)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return layer, nil
	}
	if err != nil {
		return layer, fmt.Errorf("read kept settings: %w", err)
	}
	for _, p := range properties {
		layer.Add(fmt.Sprintf("%s:%d", from, p.Line), p.Key, p.Value)
	}
	return layer, nil
}
