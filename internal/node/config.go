// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package node

import (
	"log/slog"
	"path/filepath"

	"github.com/goddard-mq/goddard/internal/broker"
	"github.com/goddard-mq/goddard/internal/config"
	"github.com/goddard-mq/goddard/internal/nameserver"
)

// Config of a process. A role that is nil does not run in it.
type Config struct {
	NameServer *nameserver.Config
	Broker     *broker.Config

	HTTP     string // where health, metrics and profiles are served, HOST:PORT; "": nowhere
	Version  string // of the binary
	Revision string // of the source, "" when unknown
	Logger   *slog.Logger

	// Started, when set, is called once all roles serve.
	Started func(Addresses)
}

// Defaults gives the roles their default settings.
func Defaults(nameServer, withBroker bool) Config {
	var c Config
	if nameServer {
		defaults := nameserver.DefaultConfig()
		c.NameServer = &defaults
	}
	if withBroker {
		defaults := broker.DefaultConfig()
		c.Broker = &defaults
	}
	return c
}

// Targets are the Configs of the roles, for package config to fill. Keys that mean the port of each server mean the
// broker's where there is one.
func (c *Config) Targets() []config.Target {
	var targets []config.Target
	if c.Broker != nil {
		targets = append(targets, config.Target{Config: c.Broker})
	}
	if c.NameServer != nil {
		t := config.Target{Config: c.NameServer}
		if c.Broker != nil {
			t.Except = []string{"bindAddress", "listenPort"}
		}
		targets = append(targets, t)
	}
	return targets
}

// Layout gives the settings that say where in a data folder things lie.
func (c *Config) Layout(data string) config.Layer {
	layer := config.Layer{Source: config.FromDefault}
	add := func(key string, path ...string) {
		layer.Add("--data", key, filepath.Join(append([]string{data}, path...)...))
	}
	if c.Broker != nil {
		add("storePathRootDir", "store")
		add("brokerConfigPath", "store", "config", "broker.properties")
	}
	if c.NameServer != nil {
		add("kvConfigPath", "namesrv", "kvConfig.json")
		add("configStorePath", "namesrv", "namesrv.properties")
	}
	return layer
}

// Kept gives the settings that requests changed while the roles ran before. Where they are kept is a setting itself.
func (c *Config) Kept() ([]config.Layer, error) {
	var layers []config.Layer
	add := func(path string, only any) error {
		if path == "" {
			return nil
		}
		layer, err := config.Kept(path)
		layer.Only = only
		layers = append(layers, layer)
		return err
	}
	if c.Broker != nil {
		if err := add(c.Broker.Identity.Kept, c.Broker); err != nil {
			return nil, err
		}
	}
	if c.NameServer != nil {
		if err := add(c.NameServer.Files.Settings, c.NameServer); err != nil {
			return nil, err
		}
	}
	return layers, nil
}
