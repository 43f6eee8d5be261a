// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package topic

// Advance moves the version on although no topic changed. Name servers take topics over only with a new version, also when
// the broker's own permission, which narrows theirs, is what changed.
func (t *Table) Advance() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.version.Advance(t.o.Now(), 0)
}
