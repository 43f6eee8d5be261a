// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/goddard-mq/goddard/internal/admin"
	"github.com/goddard-mq/goddard/internal/protocol"
)

func newTopic() *cobra.Command {
	cmd := &cobra.Command{Use: "topic", Short: "Create, list, describe, change and delete topics", Args: cobra.NoArgs, RunE: showHelp}
	cmd.AddCommand(newTopicCreate(), newTopicUpdate(), newTopicList(), newTopicDescribe(), newTopicDelete())
	return cmd
}

// topicSettings are the flags of a topic's settings.
type topicSettings struct {
	queues, read, write int32
	perm                permission
	order               bool
	attributes          []string
}

func (s *topicSettings) addTo(flags *pflag.FlagSet) {
	s.queues, s.perm = 8, permission(protocol.PermReadWrite)
	flags.Int32VarP(&s.queues, "queues", "q", s.queues, "number of queues at each broker")
	flags.Int32Var(&s.read, "read-queues", 0, "queues to read from, when other than --queues: more while a topic is being shrunk")
	flags.Int32Var(&s.write, "write-queues", 0, "queues to write to, when other than --queues")
	flags.VarP(&s.perm, "perm", "p", "permission")
	flags.BoolVar(&s.order, "order", false, "mark it as a topic of ordered messages")
	flags.StringArrayVarP(&s.attributes, "attribute", "a", nil, "NAME=VALUE such as message.type=FIFO, or reserve.time=24 to keep messages for so many hours; may be given again")
}

// apply writes what was given on the command line, and with all also the defaults, into cfg.
func (s *topicSettings) apply(flags *pflag.FlagSet, cfg *protocol.TopicConfig, all bool) error {
	given := func(name string) bool { return all || flags.Changed(name) }
	if given("queues") {
		cfg.ReadQueueNums, cfg.WriteQueueNums = s.queues, s.queues
	}
	if flags.Changed("read-queues") {
		cfg.ReadQueueNums = s.read
	}
	if flags.Changed("write-queues") {
		cfg.WriteQueueNums = s.write
	}
	if given("perm") {
		cfg.Perm = int32(s.perm)
	}
	if given("order") {
		cfg.Order = s.order
	}
	cfg.Attributes = map[string]string{}
	for _, text := range s.attributes {
		name, value, ok := strings.Cut(text, "=")
		switch {
		case ok && name != "":
			cfg.Attributes["+"+name] = value
		case !ok && strings.HasPrefix(text, "-") && !all:
			cfg.Attributes[text] = ""
		default:
			return fmt.Errorf("--attribute %s: want NAME=VALUE", text)
		}
	}
	return nil
}

// topicText describes settings in a few words.
func topicText(cfg *protocol.TopicConfig) string {
	queues := fmt.Sprintf("%d queues", cfg.WriteQueueNums)
	if cfg.ReadQueueNums != cfg.WriteQueueNums {
		queues = fmt.Sprintf("%d queues to read, %d to write", cfg.ReadQueueNums, cfg.WriteQueueNums)
	}
	perm := permission(cfg.Perm)
	text := queues + ", " + perm.String()
	if cfg.Order {
		text += ", ordered"
	}
	return text
}

// reportDone says at which brokers something was done.
func reportDone(cmd *cobra.Command, output, what, name string, done []admin.Broker, details string) error {
	for _, b := range done {
		var err error
		if output == "json" {
			err = printJSON(cmd.OutOrStdout(), map[string]string{"name": name, "done": what, "cluster": b.Cluster, "broker": b.Name, "addr": b.Addr})
		} else {
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s %s at %s%s\n", name, what, b, details)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
