// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// Target is a room's Config to be filled. A key in Except is not taken from the layers: in a process of two roles one
// key can mean two things (listenPort), and only one of them is meant by it.
type Target struct {
	Config any // pointer to the room's Config, holding its defaults
	Except []string
}

// Source is the kind of place that a value came from.
type Source string

// The sources, in the order in which they win over each other.
const (
	FromDefault     Source = "default"
	FromFile        Source = "file"
	FromRequest     Source = "changed while running"
	FromEnvironment Source = "environment"
	FromFlag        Source = "flag"
)

// Setting is a value with the place that gave it.
type Setting struct {
	KV
	Where string // "broker.conf:12", "GODDARD_BROKER_NAME", "--set"
}

// Layer is what one source says.
type Layer struct {
	Source   Source
	Settings []Setting
	// Only, when set, is the one Config that the layer is for; it then takes keys of its Except, too.
	Only any
}

// Add adds a setting on top of the layer's others.
func (l *Layer) Add(where, key, value string) {
	l.Settings = append(l.Settings, Setting{KV{key, value}, where})
}

// Loaded is what was made of the layers.
type Loaded struct {
	Warnings []string // keys that had no effect, one sentence each

	targets []Target
	origins map[place]origin
	warned  map[string]bool
}

// place is one setting of one Config.
type place struct {
	config any
	key    string
}

type origin struct {
	source Source
	where  string
}

// File reads a layer from a file in RocketMQ's properties format.
func File(name string) (Layer, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return Layer{}, fmt.Errorf("read configuration: %w", err)
	}
	properties, err := ParseProperties(text)
	if err != nil {
		return Layer{}, fmt.Errorf("read configuration %s: %w", name, err)
	}
	layer := Layer{Source: FromFile}
	for _, p := range properties {
		layer.Add(fmt.Sprintf("%s:%d", name, p.Line), p.Key, p.Value)
	}
	return layer, nil
}

// Load lays the layers over the targets, later ones over earlier ones, and then asks each target to Validate. All
// faults are reported at once.
func Load(targets []Target, layers ...Layer) (*Loaded, error) {
	l := &Loaded{targets: targets, origins: map[place]origin{}, warned: map[string]bool{}}
	return l, l.Lay(layers...)
}

// Lay lays more layers on top.
func (l *Loaded) Lay(layers ...Layer) error {
	var faults []error
	for _, layer := range layers {
		for _, s := range layer.Settings {
			taken, err := l.lay(layer, s)
			switch {
			case err != nil:
				faults = append(faults, fmt.Errorf("%s: %w", s.Where, err))
			case !taken && !l.warned[s.Key]:
				l.warned[s.Key] = true
				if warning, err := l.notTaken(s); err != nil {
					faults = append(faults, err)
				} else {
					l.Warnings = append(l.Warnings, warning)
				}
			}
		}
	}
	if len(faults) == 0 {
		faults = l.validate()
	}
	return errors.Join(faults...)
}

func (l *Loaded) lay(layer Layer, s Setting) (taken bool, err error) {
	for _, t := range l.targets {
		if layer.Only != nil && layer.Only != t.Config || layer.Only == nil && slices.Contains(t.Except, s.Key) {
			continue
		}
		known, err := Set(t.Config, s.Key, s.Value)
		if err != nil {
			return true, err
		}
		if known {
			taken = true
			l.origins[place{t.Config, s.Key}] = origin{layer.Source, s.Where}
		}
	}
	return taken, nil
}

// notTaken tells a key that has no effect from one that nobody knows.
func (l *Loaded) notTaken(s Setting) (warning string, err error) {
	if known := knownKeys()[s.Key]; known != nil {
		return s.Where + ": " + known.noEffect(s.Key), nil
	}
	if near := nearest(s.Key, allNames(roomKeys(l.targets))); near != "" {
		return "", fmt.Errorf("%s: unknown key %s, did you mean %s?", s.Where, s.Key, near)
	}
	return "", fmt.Errorf("%s: unknown key %s", s.Where, s.Key)
}

func (l *Loaded) validate() []error {
	var faults []error
	for _, t := range l.targets {
		if v, ok := t.Config.(interface{ Validate() error }); ok {
			if err := v.Validate(); err != nil {
				faults = append(faults, err)
			}
		}
	}
	return faults
}

// Source tells where the value that a target has for a key came from.
func (l *Loaded) Source(t Target, key string) (source Source, where string) {
	if o, ok := l.origins[place{t.Config, key}]; ok {
		return o.source, o.where
	}
	return FromDefault, ""
}

// Print writes the settings of a target as a properties file, sorted. A comment above a line says where its value came
// from; a value without one is the default.
func (l *Loaded) Print(w io.Writer, t Target) error {
	var out strings.Builder
	for _, kv := range List(t.Config) {
		if source, where := l.Source(t, kv.Key); where != "" {
			fmt.Fprintf(&out, "# %s: %s\n", source, where)
		}
		out.WriteString(FormatProperties([]KV{kv}))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// roomKeys are the keys that the targets take.
func roomKeys(targets []Target) map[string]bool {
	keys := map[string]bool{}
	for _, t := range targets {
		for _, f := range Fields(t.Config) {
			if !slices.Contains(t.Except, f.Key) {
				keys[f.Key] = true
			}
		}
	}
	return keys
}
