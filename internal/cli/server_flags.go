// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/goddard-mq/goddard/internal/config"
)

// serverFlags are the flags of the commands that start servers.
type serverFlags struct {
	data             string
	configFile       string
	nameServers      []string
	nameServerListen string
	brokerListen     string
	haListen         string
	httpListen       string
	set              []string
	printConfig      bool
	logLevel         string
	logFormat        string

	byEnv map[string]bool // flags that an environment variable set
}

// Where servers listen when they are told nothing: RocketMQ's ports.
const (
	defaultNameServerListen = "0.0.0.0:9876"
	defaultHTTPListen       = "0.0.0.0:8080"
	defaultData             = "goddard-data"
)

func (f *serverFlags) addTo(cmd *cobra.Command, r roles) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.SetNormalizeFunc(rocketMQNames)
	flags.StringVar(&f.data, "data", defaultData, "data `folder`; a broker keeps everything in its store, a name server in its namesrv")
	if r.nameServer {
		flags.StringVar(&f.nameServerListen, "nameserver-listen", defaultNameServerListen, "where the name server listens, `HOST:PORT`; port 0 takes a free one")
	}
	if r.broker {
		flags.StringVar(&f.brokerListen, "broker-listen", "0.0.0.0:10911", "where the broker listens, `HOST:PORT`; the fast port of old clients is two below")
		flags.StringVar(&f.haListen, "ha-listen", "", "`HOST:PORT` told to replicas; replication is not built yet, nothing listens there (default: broker port + 1)")
	}
	flags.StringVar(&f.httpListen, "http-listen", defaultHTTPListen, "where /healthz, /readyz, /metrics and /debug/pprof are served, `HOST:PORT`; empty: nowhere")
	if r.broker {
		flags.VarP((*addrList)(&f.nameServers), "nameserver", "n", "name servers that the broker registers with, separated by ; or ,"+r.nameServerDefault())
	}
	flags.StringVarP(&f.configFile, "config", "c", "", "`file` of settings in RocketMQ's properties format")
	flags.StringArrayVar(&f.set, "set", nil, "`KEY=VALUE`, any key of the file; may be given again")
	flags.BoolVarP(&f.printConfig, "print-config", "p", false, "print all settings and where each came from, and exit")
	flags.StringVar(&f.logLevel, "log-level", "info", "`level`: debug, info, warn or error")
	flags.StringVar(&f.logFormat, "log-format", "text", "`format`: text or json")
}

func (r roles) nameServerDefault() string {
	if r.nameServer {
		return " (default: the one in this process)"
	}
	return ""
}

// fromEnvironment sets flags that the command line did not from GODDARD_<FLAG>. The names it looked at are returned:
// they are no settings.
func (f *serverFlags) fromEnvironment(flags *pflag.FlagSet, environ []string) (names []string, err error) {
	f.byEnv = map[string]bool{}
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Name == "help" || flag.Name == "set" || err != nil {
			return
		}
		name := config.EnvName(flag.Name)
		names = append(names, name)
		i := slices.IndexFunc(environ, func(v string) bool { return strings.HasPrefix(v, name+"=") })
		if i < 0 || flag.Changed {
			return
		}
		if fault := flags.Set(flag.Name, strings.TrimPrefix(environ[i], name+"=")); fault != nil {
			err = fmt.Errorf("%s: %w", name, fault)
		}
		f.byEnv[flag.Name] = true
	})
	return names, err
}

// named gives the settings that the named flags stand for: those that the environment set, or those of the command line.
func (f *serverFlags) named(flags *pflag.FlagSet, r roles, byEnv bool) (config.Layer, error) {
	layer := config.Layer{Source: config.FromFlag}
	if byEnv {
		layer.Source = config.FromEnvironment
	}
	given := func(name string) (where string, ok bool) {
		if flags.Lookup(name) == nil || !flags.Changed(name) || f.byEnv[name] != byEnv {
			return "", false
		}
		if byEnv {
			return config.EnvName(name), true
		}
		return "--" + name, true
	}
	// bindAddress and listenPort are the broker's where there is one.
	listen, addr := "broker-listen", f.brokerListen
	if !r.broker {
		listen, addr = "nameserver-listen", f.nameServerListen
	}
	if where, ok := given(listen); ok {
		if err := listenSettings(&layer, where, addr); err != nil {
			return layer, err
		}
	}
	if where, ok := given("ha-listen"); ok && f.haListen != "" {
		host, port, err := splitListen(where, f.haListen)
		if err != nil {
			return layer, err
		}
		layer.Add(where, "haListenPort", port)
		if ip := net.ParseIP(host); ip != nil && !ip.IsUnspecified() {
			layer.Add(where, "brokerIP2", host)
		}
	}
	if where, ok := given("nameserver"); ok {
		layer.Add(where, "namesrvAddr", strings.Join(f.nameServers, ";"))
	}
	return layer, nil
}

// setLayer is what --set says.
func (f *serverFlags) setLayer() (config.Layer, error) {
	layer := config.Layer{Source: config.FromFlag}
	for _, text := range f.set {
		key, value, ok := strings.Cut(text, "=")
		if !ok || strings.TrimSpace(key) == "" {
			return layer, fmt.Errorf("--set %s: want KEY=VALUE", text)
		}
		layer.Add("--set", strings.TrimSpace(key), value)
	}
	return layer, nil
}

// listenSettings adds what HOST:PORT says of the server that the layer is for.
func listenSettings(layer *config.Layer, where, addr string) error {
	host, port, err := splitListen(where, addr)
	if err != nil {
		return err
	}
	layer.Add(where, "bindAddress", host)
	layer.Add(where, "listenPort", port)
	return nil
}

// splitListen takes HOST:PORT apart; no host means all of them.
func splitListen(where, addr string) (host, port string, err error) {
	host, port, err = net.SplitHostPort(addr)
	if err != nil {
		return "", "", fmt.Errorf("%s=%s: want HOST:PORT", where, addr)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return "", "", fmt.Errorf("%s=%s: want HOST:PORT with a port from 0 to 65535", where, addr)
	}
	if host == "" {
		host = "0.0.0.0"
	}
	return host, port, nil
}
