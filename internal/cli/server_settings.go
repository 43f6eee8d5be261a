// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/goddard-mq/goddard/internal/config"
	"github.com/goddard-mq/goddard/internal/node"
)

// roles are those that a command starts.
type roles struct {
	nameServer, broker bool
}

// settings of a process, made of everything that was said about them.
type settings struct {
	node     node.Config
	loaded   *config.Loaded
	warnings []string
	data     string // absolute
}

// load lays defaults, file, changes made while running, environment and flags over each other, in this order.
func (f *serverFlags) load(flags *pflag.FlagSet, r roles, environ []string) (s *settings, err error) {
	s = &settings{node: node.Defaults(r.nameServer, r.broker)}
	flagNames, err := f.fromEnvironment(flags, environ)
	if err != nil {
		return nil, err
	}
	if s.data, err = filepath.Abs(f.data); err != nil {
		return nil, fmt.Errorf("--data %s: %w", f.data, err)
	}
	if s.node.HTTP, err = f.http(); err != nil {
		return nil, err
	}
	below, err := f.layersBelow(s, r, environ)
	if err != nil {
		return nil, err
	}
	above, err := f.layersAbove(s, flags, r, environ, flagNames)
	if err != nil {
		return nil, err
	}
	if s.loaded, err = config.Load(s.node.Targets(), append(below, above...)...); err != nil {
		return nil, err
	}
	// Where changes are kept is a setting itself, so only now it is known.
	kept, err := s.node.Kept()
	if err != nil {
		return nil, err
	}
	if err := s.loaded.Lay(append(kept, above...)...); err != nil {
		return nil, err
	}
	s.warnings = append(s.warnings, s.loaded.Warnings...)
	return s, nil
}

// layersBelow are those that settings changed while running win over.
func (f *serverFlags) layersBelow(s *settings, r roles, environ []string) ([]config.Layer, error) {
	layers := []config.Layer{s.node.Layout(s.data), nameServersOf(environ, r)}
	if f.configFile == "" {
		return layers, nil
	}
	file, err := config.File(f.configFile)
	return append(layers, file), err
}

// layersAbove are those that win over settings changed while running.
func (f *serverFlags) layersAbove(s *settings, flags *pflag.FlagSet, r roles, environ, flagNames []string) ([]config.Layer, error) {
	env, warnings := config.Environment(environ, s.node.Targets(), flagNames)
	s.warnings = append(s.warnings, warnings...)
	namedByEnv, err := f.named(flags, r, true)
	if err != nil {
		return nil, err
	}
	set, err := f.setLayer()
	if err != nil {
		return nil, err
	}
	named, err := f.named(flags, r, false)
	if err != nil {
		return nil, err
	}
	layers := []config.Layer{env, namedByEnv, set, named}
	if r.nameServer && r.broker {
		// bindAddress and listenPort are the broker's here; the name server has its flag.
		nameServer := config.Layer{Source: config.FromDefault, Only: s.node.NameServer}
		if flags.Changed("nameserver-listen") {
			nameServer.Source = config.FromFlag
		}
		if err := listenSettings(&nameServer, "--nameserver-listen", f.nameServerListen); err != nil {
			return nil, err
		}
		layers = append(layers, nameServer)
	}
	return layers, nil
}

// http is where health and metrics are served, "" for nowhere.
func (f *serverFlags) http() (string, error) {
	if f.httpListen == "" {
		return "", nil
	}
	host, port, err := splitListen("--http-listen", f.httpListen)
	return net.JoinHostPort(host, port), err
}

// nameServersOf takes NAMESRV_ADDR. In RocketMQ it is the default of namesrvAddr, so the configuration file wins over
// it, other than over GODDARD_NAMESRV_ADDR. Where a name server runs in the same process, that is the default: what a
// shell has set for its client commands must not send a broker to another cluster.
func nameServersOf(environ []string, r roles) config.Layer {
	const name = "NAMESRV_ADDR"
	layer := config.Layer{Source: config.FromEnvironment}
	i := slices.IndexFunc(environ, func(v string) bool { return strings.HasPrefix(v, name+"=") })
	if i >= 0 && r.broker && !r.nameServer {
		layer.Add(name, "namesrvAddr", strings.TrimPrefix(environ[i], name+"="))
	}
	return layer
}
