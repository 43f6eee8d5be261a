// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package config

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed keys.txt
var keysText string

// knownKey is a key that RocketMQ takes.
type knownKey struct {
	readers []string // sections of keys.txt
	note    string   // what ignoring the key means, or ""
}

// knownKeys is read only when a setting is met that no room takes.
var knownKeys = sync.OnceValue(func() map[string]*knownKey {
	known := make(map[string]*knownKey, 1024)
	var section string
	for line := range strings.Lines(keysText) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			section = strings.Trim(line, "[]")
		default:
			key, note, _ := strings.Cut(line, " ")
			k := known[key]
			if k == nil {
				k = &knownKey{note: note}
				known[key] = k
			}
			k.readers = append(k.readers, section)
		}
	}
	return known
})

// Known tells whether any release of RocketMQ from 4.9.0 to 5.5.0 takes the key.
func Known(key string) bool { return knownKeys()[key] != nil }

// otherRoles are the sections whose keys belong to a process of another kind.
var otherRoles = map[string]string{
	"nameserver": "name server",
	"controller": "controller",
	"proxy":      "proxy",
	"tiered":     "tiered store",
}

// noEffect says that a known key does nothing here.
func (k *knownKey) noEffect(key string) string {
	why := "RocketMQ knows it, Goddard does not act on it"
	if reader, other := otherRoles[k.readers[0]]; other {
		why = "it is a key of RocketMQ's " + reader
	}
	if k.note != "" {
		why = k.note
	}
	return key + " has no effect: " + why
}

// nearest gives the known name that is most like key, or "" when none is at all.
func nearest(key string, names []string) string {
	best, bestDistance := "", len(key)/2+1
	for _, name := range names {
		d := distance(strings.ToLower(key), strings.ToLower(name))
		if d < bestDistance || d == bestDistance && best != "" && name < best {
			best, bestDistance = name, d
		}
	}
	return best
}

// distance counts the letters to insert, delete, replace or swap with a neighbour to make b of a (restricted
// Damerau-Levenshtein).
func distance(a, b string) int {
	before, last, now := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		now[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			now[j] = min(last[j]+1, now[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
		before, last, now = last, now, before
	}
	return last[len(b)]
}

// allNames are the keys that a person may have meant: those of the rooms and those of RocketMQ.
func allNames(rooms map[string]bool) []string {
	names := make([]string, 0, 1024)
	for key := range rooms {
		names = append(names, key)
	}
	for key := range knownKeys() {
		if !rooms[key] {
			names = append(names, key)
		}
	}
	slices.Sort(names)
	return names
}
