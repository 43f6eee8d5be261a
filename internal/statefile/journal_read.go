// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package statefile

import "os"

// Journals are the paths of the journal files beside a state file, in the order in which they are read.
func Journals(path string) []string { return []string{path + oldJournalSuffix, path + journalSuffix} }

// ReadJournal calls f for each whole record of a journal file, at being its place in it, and tells where the whole
// records end and how long the file is. It is for those who do not own the journal: nothing on the disk is touched.
func ReadJournal(path string, f func(at int64, record []byte)) (whole, size int64, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, err
	}
	for {
		record, n := nextRecord(b[whole:])
		if n == 0 {
			return whole, int64(len(b)), nil
		}
		f(whole, record)
		whole += int64(n)
	}
}
