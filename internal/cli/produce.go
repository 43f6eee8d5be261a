// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/goddard-mq/goddard/client"
)

// produceFlags of the command produce.
type produceFlags struct {
	nameServers  []string
	file         string
	whole        bool
	tag          string
	keys         []string
	properties   []string
	shardingKey  string
	keySeparator string
	queue        string
	count        int
	delayLevel   int
	delay        time.Duration
	noWait       bool
	group        string
	timeout      time.Duration
	quiet        bool
	output       outputFormat
}

func newProduce() *cobra.Command {
	var f produceFlags
	cmd := &cobra.Command{
		Use:   "produce TOPIC [MESSAGE...]",
		Short: "Send messages to a topic",
		Long: "Send messages to a topic and print where each went.\n\n" +
			"Each MESSAGE is one message. Without any, each line of --file or of standard input is one;\n" +
			"empty lines are left out, as RocketMQ has no empty messages. Messages are sent one after another,\n" +
			"so those that go to one queue keep their order. When one could not be sent, the others are sent\n" +
			"all the same and the exit status is 1.",
		Example: "  goddard produce orders hello\n" +
			"  goddard produce orders --tag created --keys 4711 --property region=eu '{\"id\":4711}'\n" +
			"  tail -F app.log | goddard produce logs\n" +
			"  goddard produce users --file users.txt --key-separator :",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0], args[1:]) },
	}
	nameServerFlag(cmd, &f.nameServers)
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&f.file, "file", "f", "", "read messages from a file, one a line; - is standard input")
	flags.BoolVar(&f.whole, "whole", false, "take the file or standard input as one message")
	flags.StringVarP(&f.tag, "tag", "t", "", "tag, by which consumers filter")
	flags.StringSliceVarP(&f.keys, "keys", "k", nil, "keys to find the messages by, separated by commas")
	flags.StringArrayVarP(&f.properties, "property", "p", nil, "NAME=VALUE, may be given again")
	flags.StringVar(&f.shardingKey, "sharding-key", "", "messages with the same one go to the same queue")
	flags.StringVar(&f.keySeparator, "key-separator", "", "what each message has before this text is its key, and not part of its body")
	flags.StringVar(&f.queue, "queue", "", "BROKER:NUMBER of the queue to send to (default: one after another)")
	flags.IntVar(&f.count, "count", 1, "send all of it so many times")
	flags.IntVar(&f.delayLevel, "delay-level", 0, "deliver later: 1 to 18 for 1s 5s 10s 30s 1m..10m 20m 30m 1h 2h")
	flags.DurationVar(&f.delay, "delay", 0, "deliver later, at most three days (brokers from 5.0 on)")
	flags.BoolVar(&f.noWait, "no-wait", false, "do not ask the broker to wait for disk and replicas")
	flags.StringVar(&f.group, "group", "", "producer group (default DEFAULT_PRODUCER)")
	flags.DurationVar(&f.timeout, "timeout", 3*time.Second, "how long a message may take, retries included")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print nothing but errors")
	f.output.addTo(cmd, "text", "json")
	return cmd
}

// run sends and reports.
func (f *produceFlags) run(cmd *cobra.Command, topic string, args []string) error {
	template, queue, err := f.template(topic)
	if err != nil {
		return err
	}
	bodies, done, err := f.bodies(cmd, args)
	if err != nil {
		return err
	}
	defer done()
	options := []client.ProducerOption{client.NameServers(f.nameServers...), client.SendTimeout(f.timeout)}
	if f.group != "" {
		options = append(options, client.ProducerGroup(f.group))
	}
	p, err := client.NewProducer(options...)
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	return f.send(cmd, p, template, queue, bodies)
}

// template makes what all messages have in common, and reads --queue.
func (f *produceFlags) template(topic string) (client.Message, *client.Queue, error) {
	m := client.Message{
		Topic: topic, Tag: f.tag, Keys: f.keys, ShardingKey: f.shardingKey,
		DelayLevel: f.delayLevel, NoWait: f.noWait, Properties: map[string]string{},
	}
	for _, p := range f.properties {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return m, nil, fmt.Errorf("--property %s: want NAME=VALUE", p)
		}
		m.Properties[name] = value
	}
	switch {
	case f.count < 1:
		return m, nil, fmt.Errorf("--count=%d: want at least 1", f.count)
	case f.delayLevel < 0:
		return m, nil, fmt.Errorf("--delay-level=%d: want 1 to 18", f.delayLevel)
	case f.delay < 0:
		return m, nil, fmt.Errorf("--delay=%s: want a time in the future", f.delay)
	case f.delay > 0 && f.delayLevel > 0:
		return m, nil, errors.New("--delay and --delay-level are two ways to say when: give one")
	case f.timeout <= 0:
		return m, nil, fmt.Errorf("--timeout=%s: want more than nothing", f.timeout)
	case f.queue != "" && f.shardingKey != "":
		return m, nil, errors.New("--queue and --sharding-key both choose the queue: give one")
	case f.queue == "":
		return m, nil, nil
	}
	q, err := parseQueue(topic, f.queue)
	return m, &q, err
}

// parseQueue reads BROKER:NUMBER.
func parseQueue(topic, text string) (client.Queue, error) {
	i := strings.LastIndexByte(text, ':')
	if i <= 0 {
		return client.Queue{}, fmt.Errorf("--queue %s: want BROKER:NUMBER, see 'goddard topic describe %s'", text, topic)
	}
	n, err := strconv.ParseInt(text[i+1:], 10, 32)
	if err != nil || n < 0 {
		return client.Queue{}, fmt.Errorf("--queue %s: %q is no queue number, see 'goddard topic describe %s'", text, text[i+1:], topic)
	}
	return client.Queue{Topic: topic, Broker: text[:i], ID: int(n)}, nil
}

// maxLine bounds a line of input: RocketMQ's limit of a message, and a key before it.
const maxLine = 4<<20 + 64<<10

// bodies gives the messages' texts; done must be called behind the last.
func (f *produceFlags) bodies(cmd *cobra.Command, args []string) (texts iter.Seq2[string, error], done func(), err error) {
	if len(args) > 0 {
		if f.file != "" {
			return nil, nil, errors.New("messages are given both as arguments and by --file: give one of them")
		}
		return func(yield func(string, error) bool) {
			for _, text := range args {
				if !yield(text, nil) {
					return
				}
			}
		}, func() {}, nil
	}
	in, done := cmd.InOrStdin(), func() {}
	if f.file != "" && f.file != "-" {
		file, err := os.Open(f.file)
		if err != nil {
			return nil, nil, fmt.Errorf("--file: %w", err)
		}
		in, done = file, func() { _ = file.Close() }
	} else if isTerminal(in) && !f.quiet {
		cmd.PrintErrln("one message a line, Ctrl-D ends:")
	}
	if f.whole {
		return wholeText(in), done, nil
	}
	return lines(in), done, nil
}

func wholeText(in io.Reader) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		text, err := io.ReadAll(io.LimitReader(in, maxLine+1))
		if err == nil && len(text) > maxLine {
			err = fmt.Errorf("the input has more than %d bytes", maxLine)
		}
		yield(string(text), err)
	}
}

func lines(in io.Reader) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		scanner := bufio.NewScanner(in)
		scanner.Buffer(nil, maxLine)
		number := 0
		for scanner.Scan() {
			number++
			if text := strings.TrimSuffix(scanner.Text(), "\r"); text != "" && !yield(text, nil) {
				return
			}
		}
		if err := scanner.Err(); err != nil {
			yield("", fmt.Errorf("line %d: %w", number+1, err))
		}
	}
}

// isTerminal tells whether a person types what is read.
func isTerminal(in io.Reader) bool {
	file, ok := in.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// send sends everything, --count times.
func (f *produceFlags) send(cmd *cobra.Command, p *client.Producer, template client.Message, queue *client.Queue, bodies iter.Seq2[string, error]) error {
	ctx := cmd.Context()
	sent, failed := 0, 0
	var kept []string // for the next times
	one := func(text string) bool {
		err := f.sendOne(ctx, cmd.OutOrStdout(), p, template, queue, text)
		if err == nil {
			sent++
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		failed++
		cmd.PrintErrf("message %d: %v\n", sent+failed, explain(err, f.nameServers))
		return !hopeless(err)
	}
	for text, err := range bodies {
		if err != nil {
			return fmt.Errorf("read messages: %w", err)
		}
		if f.count > 1 {
			kept = append(kept, text)
		}
		if !one(text) {
			return f.outcome(ctx, sent, failed)
		}
	}
	for range f.count - 1 {
		for _, text := range kept {
			if !one(text) {
				return f.outcome(ctx, sent, failed)
			}
		}
	}
	return f.outcome(ctx, sent, failed)
}

// hopeless tells failures that every further message would meet.
func hopeless(err error) bool {
	switch client.CodeOf(err) {
	case client.CodeNoNameServer, client.CodeNoRoute:
		return true
	}
	return false
}

func (f *produceFlags) outcome(ctx context.Context, sent, failed int) error {
	switch {
	case failed > 0:
		return fmt.Errorf("%d of %d messages were not sent", failed, sent+failed)
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted after %d messages", sent)
	}
	return nil
}

// sendOne sends one message and prints where it went.
func (f *produceFlags) sendOne(ctx context.Context, out io.Writer, p *client.Producer, m client.Message, queue *client.Queue, text string) error {
	if f.keySeparator != "" {
		key, body, ok := strings.Cut(text, f.keySeparator)
		if !ok {
			return fmt.Errorf("%q has no key: there is no %q in it", shorten(text), f.keySeparator)
		}
		m.Keys, text = append([]string{key}, m.Keys...), body
	}
	m.Body = []byte(text)
	if f.delay > 0 {
		m.DeliverAt = time.Now().Add(f.delay)
	}
	var r client.SendResult
	var err error
	if queue != nil {
		r, err = p.SendTo(ctx, *queue, &m)
	} else {
		r, err = p.Send(ctx, &m)
	}
	if err != nil || f.quiet {
		return err
	}
	return f.print(out, r)
}

func shorten(text string) string {
	if runes := []rune(text); len(runes) > 40 {
		return string(runes[:40]) + "…"
	}
	return text
}

// sentLine is a result as JSON.
type sentLine struct {
	ID       string `json:"id"`
	Topic    string `json:"topic"`
	Broker   string `json:"broker"`
	Queue    int    `json:"queue"`
	Offset   int64  `json:"offset"`
	OffsetID string `json:"offsetId"`
	Status   string `json:"status"`
}

func (f *produceFlags) print(out io.Writer, r client.SendResult) error {
	if f.output.value == "json" {
		return printJSON(out, sentLine{r.ID, r.Queue.Topic, r.Queue.Broker, r.Queue.ID, r.Offset, r.OffsetID, r.Status.String()})
	}
	status := ""
	if r.Status != client.Stored {
		status = "  " + r.Status.String()
	}
	_, err := fmt.Fprintf(out, "%s  queue %s:%d  offset %d%s\n", r.ID, r.Queue.Broker, r.Queue.ID, r.Offset, status)
	return err
}
