// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/goddard-mq/goddard/internal/bench"
)

func newBench() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Put load on brokers and measure",
		Long: "Put load on brokers and measure throughput and latency. The load is plain RocketMQ, so that any\n" +
			"broker that speaks it can be measured the same way. A line a second goes to standard error, the\n" +
			"result to standard output. Ctrl-C ends early; the result is that of the time until then.",
		Args: cobra.NoArgs,
	}
	cmd.AddCommand(newBenchProduce(), newBenchConsume())
	return cmd
}

func newBenchProduce() *cobra.Command {
	c := bench.DefaultProduceConfig()
	var output outputFormat
	cmd := &cobra.Command{
		Use:   "produce [TOPIC]",
		Short: "Send messages as fast as answers come, or at a given rate",
		Long: "Send messages to a topic, which is created when it does not exist.\n\n" +
			"Without --rate each connection keeps --depth requests in flight and sends the next one when an answer\n" +
			"comes. With --rate messages go by the clock, and a latency begins when the message should have gone:\n" +
			"what waits because the broker is slow counts in full.",
		Example: "  goddard bench produce\n" +
			"  goddard bench produce orders --connections 8 --depth 64 --size 512 --duration 1m\n" +
			"  goddard bench produce --rate 20000 --warm-up 5s --output json\n" +
			"  goddard bench produce --broker 127.0.0.1:10911 --batch 16",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			topicArg(&c.Target, args)
			r, err := bench.RunProduce(cmd.Context(), c, cmd.ErrOrStderr())
			return printBench(cmd, &output, &r, explain(err, c.NameServers))
		},
	}
	benchFlags(cmd, &c.Target)
	flags := cmd.Flags()
	flags.IntVar(&c.Depth, "depth", c.Depth, "requests in flight per connection")
	flags.IntVar(&c.Size, "size", c.Size, "bytes of a message's body")
	flags.IntVar(&c.Batch, "batch", c.Batch, "messages per request")
	flags.Float64Var(&c.Rate, "rate", c.Rate, "messages per second, all connections together (default: as fast as answers come)")
	flags.IntVar(&c.Keys, "keys", c.Keys, "different keys; 0: none")
	flags.IntVar(&c.Tags, "tags", c.Tags, "different tags; 0: none")
	flags.IntVar(&c.Properties, "properties", c.Properties, "further properties per message")
	flags.BoolVar(&c.NoWait, "no-wait", c.NoWait, "do not ask the broker to wait for disk and replicas")
	flags.StringVar(&c.Group, "group", c.Group, "producer group")
	output.addTo(cmd, "text", "json")
	return cmd
}

func newBenchConsume() *cobra.Command {
	c := bench.DefaultConsumeConfig()
	var output outputFormat
	cmd := &cobra.Command{
		Use:   "consume [TOPIC]",
		Short: "Read messages as fast as they come",
		Long: "Read all queues of a topic, one pull of each in flight; from the beginning, or with --follow what\n" +
			"comes from now on. With --follow the latency is the time from a message's birth to its arrival, by the\n" +
			"clocks of the two machines. Nothing is committed.",
		Example: "  goddard bench consume --until-end\n" +
			"  goddard bench consume orders --follow --duration 1m --output json",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			topicArg(&c.Target, args)
			r, err := bench.RunConsume(cmd.Context(), c, cmd.ErrOrStderr())
			return printBench(cmd, &output, &r, explain(err, c.NameServers))
		},
	}
	benchFlags(cmd, &c.Target)
	flags := cmd.Flags()
	flags.BoolVar(&c.Follow, "follow", c.Follow, "begin at the end of each queue and wait for news")
	flags.BoolVar(&c.UntilEnd, "until-end", c.UntilEnd, "stop when every queue was read up to where it ended at the start")
	flags.IntVar(&c.Max, "max", c.Max, "messages per pull")
	flags.DurationVar(&c.Hold, "hold", c.Hold, "how long the broker may hold a pull that finds nothing")
	flags.StringVar(&c.Group, "group", c.Group, "consumer group")
	output.addTo(cmd, "text", "json")
	return cmd
}

// benchFlags are those of both loads.
func benchFlags(cmd *cobra.Command, t *bench.Target) {
	nameServerFlag(cmd, &t.NameServers)
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&t.Broker, "broker", "b", t.Broker, "put all of it on this broker, HOST:PORT, and ask no name server")
	flags.IntVar(&t.Queues, "queues", t.Queues, "queues per broker, when the topic has to be created")
	flags.IntVar(&t.Connections, "connections", t.Connections, "connections, spread over the brokers")
	flags.DurationVar(&t.Duration, "duration", t.Duration, "how long to measure; 0: until interrupted")
	flags.DurationVar(&t.WarmUp, "warm-up", t.WarmUp, "how long to load before")
	flags.DurationVar(&t.Progress, "progress", t.Progress, "time between two lines; 0: none")
	flags.BoolVar(&t.Binary, "binary", t.Binary, "compact headers instead of JSON")
}

func topicArg(t *bench.Target, args []string) {
	if len(args) > 0 {
		t.Topic = args[0]
	}
}

// printBench writes the result, also of a run that failed later on.
func printBench(cmd *cobra.Command, output *outputFormat, r *bench.Result, err error) error {
	if r.Kind == "" {
		return err
	}
	write := func() error { return r.WriteText(cmd.OutOrStdout()) }
	if output.value == "json" {
		write = func() error { return printJSON(cmd.OutOrStdout(), r) }
	}
	if werr := write(); err == nil && werr != nil {
		return fmt.Errorf("write the result: %w", werr)
	}
	if err == nil && r.Messages == 0 && r.FirstFailure != "" {
		return fmt.Errorf("no message succeeded: %s", r.FirstFailure)
	}
	return err
}
