// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package config

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// EnvPrefix begins the name of every variable that is a setting.
const EnvPrefix = "GODDARD_"

// EnvName is the variable for a key: flushDiskType is GODDARD_FLUSH_DISK_TYPE, brokerIP1 is GODDARD_BROKER_IP1. It
// takes flag names too: nameserver-listen is GODDARD_NAMESERVER_LISTEN. A dot becomes an underscore as well.
func EnvName(key string) string {
	var out strings.Builder
	out.WriteString(EnvPrefix)
	runes := []rune(key)
	for i, r := range runes {
		if r == '-' || r == '.' {
			out.WriteByte('_')
			continue
		}
		if i > 0 && unicode.IsUpper(r) {
			afterSmall := !unicode.IsUpper(runes[i-1])
			beforeSmall := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if afterSmall || beforeSmall {
				out.WriteByte('_')
			}
		}
		out.WriteRune(unicode.ToUpper(r))
	}
	return out.String()
}

// serviceLink are the variables that Kubernetes makes for a service named goddard; nobody meant them as settings.
var serviceLink = regexp.MustCompile(`^GODDARD_(\w+_)?(SERVICE_(HOST|PORT(_\w+)?)|PORT(_\d+_\w+)?)$`)

// Environment takes the settings out of a process's environment ("NAME=value" each). Variables that begin with
// GODDARD_ and are neither a setting nor in reserved give a warning, not an error: others put them there.
func Environment(environ []string, targets []Target, reserved []string) (Layer, []string) {
	byName := map[string]string{}
	rooms := roomKeys(targets)
	for _, key := range allNames(rooms) {
		byName[EnvName(key)] = key
	}
	layer := Layer{Source: FromEnvironment}
	var warnings []string
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, EnvPrefix) || slices.Contains(reserved, name) {
			continue
		}
		switch key, ok := byName[name]; {
		case ok:
			layer.Settings = append(layer.Settings, Setting{KV: KV{key, value}, Where: name})
		case !serviceLink.MatchString(name):
			warnings = append(warnings, unknownVariable(name, byName, reserved))
		}
	}
	slices.SortFunc(layer.Settings, func(a, b Setting) int { return cmp.Compare(a.Where, b.Where) })
	slices.Sort(warnings)
	return layer, warnings
}

func unknownVariable(name string, byName map[string]string, reserved []string) string {
	names := slices.Clone(reserved)
	for n := range byName {
		names = append(names, n)
	}
	// The prefix is the same in all and would make everything look alike.
	for i := range names {
		names[i] = strings.TrimPrefix(names[i], EnvPrefix)
	}
	text := fmt.Sprintf("environment variable %s has no effect: no setting has that name", name)
	if near := nearest(strings.TrimPrefix(name, EnvPrefix), names); near != "" {
		text += "; the nearest is " + EnvPrefix + near
	}
	return text
}
