// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/goddard-mq/goddard/internal/protocol"
)

func newGroup() *cobra.Command {
	cmd := &cobra.Command{Use: "group", Short: "Create, list, describe, check, change and delete consumer groups", Args: cobra.NoArgs, RunE: showHelp}
	cmd.AddCommand(newGroupCreate(), newGroupUpdate(), newGroupList(), newGroupDescribe(), newGroupCheck(), newGroupDelete())
	return cmd
}

// groupSettings are the flags of a group's settings.
type groupSettings struct {
	enable, broadcast, orderly bool
	retryMax, retryQueues      int32
}

var groupSettingFlags = []string{"enable", "broadcast", "orderly", "retry-max", "retry-queues"}

func (s *groupSettings) addTo(flags *pflag.FlagSet) {
	flags.BoolVar(&s.enable, "enable", true, "whether the group may consume")
	flags.BoolVar(&s.broadcast, "broadcast", true, "whether its members may consume in broadcasting mode")
	flags.BoolVar(&s.orderly, "orderly", false, "whether clients of the gRPC proxy get its messages in order")
	flags.Int32Var(&s.retryMax, "retry-max", protocol.DefaultRetryMaxTimes, "how often a message may fail before it is a dead letter")
	flags.Int32Var(&s.retryQueues, "retry-queues", protocol.DefaultRetryQueueNums, "queues of the retry topic; 0 drops what fails")
}

// apply writes what was given on the command line into cfg.
func (s *groupSettings) apply(flags *pflag.FlagSet, cfg *protocol.SubscriptionGroupConfig) error {
	if s.retryMax < 0 || s.retryQueues < 0 {
		return fmt.Errorf("--retry-max=%d --retry-queues=%d: neither can be below zero", s.retryMax, s.retryQueues)
	}
	if flags.Changed("enable") {
		cfg.ConsumeEnable = s.enable
	}
	if flags.Changed("broadcast") {
		cfg.ConsumeBroadcastEnable = s.broadcast
	}
	if flags.Changed("orderly") {
		cfg.ConsumeMessageOrderly = s.orderly
	}
	if flags.Changed("retry-max") {
		cfg.RetryMaxTimes = s.retryMax
	}
	if flags.Changed("retry-queues") {
		cfg.RetryQueueNums = s.retryQueues
	}
	return nil
}

// groupText describes settings in a few words.
func groupText(cfg *protocol.SubscriptionGroupConfig) string {
	text := fmt.Sprintf("at most %d retries", cfg.RetryMaxTimes)
	if !cfg.ConsumeEnable {
		text += ", may not consume"
	}
	if !cfg.ConsumeBroadcastEnable {
		text += ", no broadcasting"
	}
	if cfg.ConsumeMessageOrderly {
		text += ", orderly"
	}
	return text
}
