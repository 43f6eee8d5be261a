// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// defaultNameServer is where 'goddard server' listens when it is told nothing.
const defaultNameServer = "127.0.0.1:9876"

// nameServerFlag gives a client command -n, --nameserver. Its default is the environment's NAMESRV_ADDR, as for
// RocketMQ's tools, or the local name server.
func nameServerFlag(cmd *cobra.Command, addrs *[]string) {
	byDefault := splitAddrs(os.Getenv("NAMESRV_ADDR"))
	if len(byDefault) == 0 {
		byDefault = []string{defaultNameServer}
	}
	*addrs = byDefault
	cmd.Flags().VarP((*addrList)(addrs), "nameserver", "n", "name servers, HOST:PORT separated by ; or , (environment: NAMESRV_ADDR)")
	cmd.Flags().SetNormalizeFunc(rocketMQNames)
}

// addrList is a flag that takes a list of addresses; given again, it replaces.
type addrList []string

func (l *addrList) String() string { return strings.Join(*l, ";") }
func (l *addrList) Type() string   { return "HOST:PORT" }
func (l *addrList) Set(text string) error {
	*l = splitAddrs(text)
	return nil
}

// splitAddrs cuts a list at ; (RocketMQ's separator) and at , (what a shell does not cut at).
func splitAddrs(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == ',' || r == ' ' })
}

// rocketMQNames accepts the long names that RocketMQ's commands have for the same flags.
func rocketMQNames(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	switch name {
	case "namesrvAddr":
		name = "nameserver"
	case "configFile":
		name = "config"
	case "printConfigItem":
		name = "print-config"
	}
	return pflag.NormalizedName(name)
}
