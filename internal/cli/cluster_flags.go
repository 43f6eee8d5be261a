// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/goddard-mq/goddard/client"
	"github.com/goddard-mq/goddard/internal/admin"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/route"
)

// clusterFlags are those of commands that ask or change a cluster.
type clusterFlags struct {
	nameServers []string
	target      admin.Target
	timeout     time.Duration
	output      outputFormat
}

func (f *clusterFlags) addTo(cmd *cobra.Command) { f.addWith(cmd, "text", "json") }

// addWith is addTo with other formats of output.
func (f *clusterFlags) addWith(cmd *cobra.Command, formats ...string) {
	nameServerFlag(cmd, &f.nameServers)
	cmd.Flags().StringVarP(&f.target.Cluster, "cluster", "c", "", "cluster (default: the only one there is)")
	cmd.Flags().StringVarP(&f.target.Broker, "broker", "b", "", "one broker only, by name or HOST:PORT")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 5*time.Second, "how long one server may take to answer")
	f.output.addTo(cmd, formats...)
}

// open connects; close must be called.
func (f *clusterFlags) open() (*admin.Admin, func(), error) {
	a, err := admin.New(admin.Config{NameServers: f.nameServers, Timeout: f.timeout})
	if err != nil {
		return nil, nil, fmt.Errorf("--nameserver: %w", err)
	}
	return a, func() { _ = a.Close() }, nil
}

// explain adds to an error what the user can do about it.
func (f *clusterFlags) explain(err error) error { return explain(err, f.nameServers) }

// showHelp is what a command does that only has others below it; a name that is none of
// theirs is refused before.
func showHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// explain says in words what to do about the errors that a user can do something about.
func explain(err error, nameServers []string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, admin.ErrNoTopic), client.CodeOf(err) == client.CodeNoRoute, client.CodeOf(err) == client.CodeTopicNotExist:
		return fmt.Errorf("%w: create it with 'goddard topic create', or look for it with 'goddard topic list'", err)
	case errors.Is(err, admin.ErrNoGroup):
		return fmt.Errorf("%w: see 'goddard group list --all'", err)
	case isNoNameServer(err):
		return fmt.Errorf("no name server answers at %s (%w): is it running, and is that its address? (-n, NAMESRV_ADDR)",
			strings.Join(nameServers, ", "), cause(err))
	}
	return err
}

// isNoNameServer tells whether no name server answered.
func isNoNameServer(err error) bool {
	return client.CodeOf(err) == client.CodeNoNameServer || errors.Is(err, route.ErrNoNameServer)
}

// cause is the innermost reason of an error, of the first where there are several.
func cause(err error) error {
	for {
		var inner error
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			inner = e.Unwrap()
		case interface{ Unwrap() []error }:
			for _, one := range e.Unwrap() {
				if one != nil && one != route.ErrNoNameServer {
					inner = one
					break
				}
			}
		}
		if inner == nil {
			return err
		}
		err = inner
	}
}

// permission is a topic's permission as a flag: rw, r, w, or RocketMQ's number.
type permission int32

func (p *permission) Type() string { return "rw|r|w" }

func (p *permission) String() string {
	switch int32(*p) {
	case protocol.PermReadWrite:
		return "rw"
	case protocol.PermRead:
		return "r"
	case protocol.PermWrite:
		return "w"
	}
	return strings.ToLower(strings.ReplaceAll(protocol.PermText(int32(*p)), "-", ""))
}

func (p *permission) Set(text string) error {
	switch strings.ToLower(text) {
	case "rw", "wr", "6":
		*p = permission(protocol.PermReadWrite)
	case "r", "4":
		*p = permission(protocol.PermRead)
	case "w", "2":
		*p = permission(protocol.PermWrite)
	default:
		return fmt.Errorf("%q is no permission: want rw, r or w", text)
	}
	return nil
}
