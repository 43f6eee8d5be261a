// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package interop

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"

	"github.com/goddard-mq/goddard/client"
)

// peerVariable makes this test binary a peer: "CLIENT NAMESERVER worker|load WORD...".
const peerVariable = "INTEROP_PEER"

func TestMain(m *testing.M) {
	if words := strings.Fields(os.Getenv(peerVariable)); len(words) > 2 {
		if err := (goPeer{ns: words[1]}).run(words[0], words[2], words[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// goPeer does in Go what Worker.java and Load.java do.
type goPeer struct{ ns string }

// What a member may have at hand of one queue, as in Worker.java.
const (
	cachedPerQueue = 16
	pullBatch      = 8
)

var saying sync.Mutex

func say(format string, a ...any) {
	saying.Lock()
	defer saying.Unlock()
	fmt.Printf("@"+format+"\n", a...)
}

// untilInputEnds returns when the harness closes our input, or is gone.
func untilInputEnds() { _, _ = io.Copy(io.Discard, bufio.NewReader(os.Stdin)) }

func (g goPeer) run(kind, role string, words []string) error {
	rlog.SetLogLevel("error")
	switch kind + " " + role {
	case goV2 + " worker":
		return g.workV2(words)
	case goSDK + " worker":
		return g.workSDK(words)
	case goV2 + " load":
		return g.loadV2(words)
	case goSDK + " load":
		return g.loadSDK(words)
	}
	return fmt.Errorf("no peer %s %s", kind, role)
}

// failures says which deliveries fail.
type failures struct {
	mu    sync.Mutex
	all   bool
	body  string
	times int
}

func parseFailures(text string) *failures {
	body, times, _ := cutLast(text, ":")
	n, _ := strconv.Atoi(times)
	return &failures{all: text == "all", body: body, times: n}
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func (f *failures) fails(body string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all {
		return true
	}
	if f.times > 0 && f.body == body {
		f.times--
		return true
	}
	return false
}

func did(queue int, offset int64, reconsumed int, begin time.Time, topic, id, keys string, body []byte) {
	if keys == "" {
		keys = "-"
	}
	say("did %d %d %d %d %d %s %s %s %s", queue, offset, reconsumed, begin.UnixNano(), time.Now().UnixNano(), topic, id, keys, body)
}

func (g goPeer) workV2(words []string) error {
	topic, group, orderly, fail := words[0], words[1], words[2] == "orderly", parseFailures(words[3])
	most, err := strconv.Atoi(words[4])
	if err != nil {
		return err
	}
	c, err := rocketmq.NewPushConsumer(
		consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{g.ns})),
		consumer.WithGroupName(group), consumer.WithInstance(fmt.Sprint(time.Now().UnixNano())),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset), consumer.WithConsumerOrder(orderly),
		consumer.WithPullThresholdForQueue(cachedPerQueue), consumer.WithPullBatchSize(pullBatch),
		consumer.WithMaxReconsumeTimes(int32(most)), consumer.WithSuspendCurrentQueueTimeMillis(10*time.Millisecond))
	if err != nil {
		return err
	}
	failed := consumer.ConsumeRetryLater
	if orderly {
		failed = consumer.SuspendCurrentQueueAMoment
	}
	err = c.Subscribe(topic, consumer.MessageSelector{Type: consumer.TAG, Expression: "*"},
		func(_ context.Context, ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
			result := consumer.ConsumeSuccess
			for _, m := range ms {
				begin := time.Now()
				if fail.fails(string(m.Body)) {
					result = failed
				}
				did(m.Queue.QueueId, m.QueueOffset, int(m.ReconsumeTimes), begin, m.Topic, m.MsgId, m.GetKeys(), m.Body)
			}
			return result, nil
		})
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	say("ready")
	untilInputEnds()
	return c.Shutdown()
}

func (g goPeer) workSDK(words []string) error {
	fail := parseFailures(words[3])
	most, err := strconv.Atoi(words[4])
	if err != nil {
		return err
	}
	c, err := client.NewConsumer(words[1], func(_ context.Context, m *client.Received) error {
		begin := time.Now()
		failed := fail.fails(string(m.Body))
		did(m.Queue.ID, m.Offset, m.Attempts, begin, m.Topic, m.ID, strings.Join(m.Keys, " "), m.Body)
		if failed {
			return fmt.Errorf("told to fail")
		}
		return nil
	}, client.NameServers(g.ns), client.Subscribe(words[0], client.Filter{}), client.StartAt(client.Beginning()),
		client.CachedMessages(cachedPerQueue), client.PullBatch(pullBatch), client.MaxAttempts(most))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	if err := c.Start(ctx); err != nil {
		return err
	}
	say("ready")
	untilInputEnds()
	return c.Close()
}

// load sends until the input ends.
func (g goPeer) load(words []string, send func(ctx context.Context, topic, key, body string, keyed bool) error) error {
	topic, prefix := words[0], words[1]
	keys, err := strconv.Atoi(words[2])
	if err != nil {
		return err
	}
	pause, err := strconv.Atoi(words[3])
	if err != nil {
		return err
	}
	stop, done := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() {
		for i := 0; stop.Err() == nil; i++ {
			key, body := prefix, fmt.Sprintf("%s:%d", prefix, i)
			if keys > 0 {
				key = prefix + strconv.Itoa(i%keys)
				body = fmt.Sprintf("%s:%d", key, i/keys)
			}
			for {
				ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
				err := send(ctx, topic, key, body, keys > 0)
				cancel()
				if err == nil {
					say("acked %s", body)
					break
				}
				time.Sleep(20 * time.Millisecond) // not acknowledged: it may or may not be stored
				if keys == 0 || stop.Err() != nil {
					break
				}
			}
			time.Sleep(time.Duration(pause) * time.Millisecond)
		}
	})
	say("ready")
	untilInputEnds()
	done()
	wait.Wait()
	say("stopped")
	return nil
}

func (g goPeer) loadV2(words []string) error {
	p, err := rocketmq.NewProducer(
		producer.WithNsResolver(primitive.NewPassthroughResolver([]string{g.ns})), producer.WithGroupName("load"),
		producer.WithInstanceName(fmt.Sprint(time.Now().UnixNano())), producer.WithSendMsgTimeout(3*time.Second),
		producer.WithQueueSelector(producer.NewHashQueueSelector())) // by sharding key; at random without one
	if err != nil {
		return err
	}
	if err := p.Start(); err != nil {
		return err
	}
	defer func() { _ = p.Shutdown() }()
	return g.load(words, func(ctx context.Context, topic, key, body string, keyed bool) error {
		m := primitive.NewMessage(topic, []byte(body)).WithKeys([]string{key}).WithTag("Tag")
		if keyed {
			m.WithShardingKey(key)
		}
		r, err := p.SendSync(ctx, m)
		if err == nil && r.Status != primitive.SendOK {
			err = fmt.Errorf("status %d", r.Status)
		}
		return err
	})
}

func (g goPeer) loadSDK(words []string) error {
	p, err := client.NewProducer(client.NameServers(g.ns))
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	return g.load(words, func(ctx context.Context, topic, key, body string, keyed bool) error {
		m := &client.Message{Topic: topic, Body: []byte(body), Keys: []string{key}, Tag: "Tag"}
		if keyed {
			m.ShardingKey = key
		}
		r, err := p.Send(ctx, m)
		if err == nil && r.Status != client.Stored {
			err = fmt.Errorf("status %v", r.Status)
		}
		return err
	})
}
