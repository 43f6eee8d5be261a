// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/client"
)

// Of four brokers one is dead: no send fails. Then another one hangs: sends go on elsewhere, or are over in time, and what was
// reported as stored is stored, no more often than it was tried.
func TestOneOfFourBrokersIsGone(t *testing.T) {
	t.Parallel()
	ns := start(t, setup{command: "nameserver"})
	brokers := make([]*server, 4)
	for i := range brokers {
		brokers[i] = start(t, setup{nameServers: []string{ns.nameServer}, set: []string{fmt.Sprint("brokerName=broker-", i), "flushDiskType=ASYNC_FLUSH"}})
		dial(t, brokers[i].broker).createTopic("spread", 2)
	}
	w := dial(t, ns.nameServer)
	eventually(t, "all brokers in the route", func() bool {
		_, route := w.route("spread")
		return len(route.BrokerDatas) == len(brokers)
	})
	const retries, senders = 3, 8
	p := sdkProducer(t, ns, client.SendRetries(retries), client.TryTimeout(500*time.Millisecond), client.SendTimeout(patience))
	hasty := sdkProducer(t, ns, client.SendRetries(0), client.SendTimeout(200*time.Millisecond))
	for range 8 { // both know the route with all of them
		sdkSend(t, p, &client.Message{Topic: "spread", Body: []byte("before")})
		sdkSend(t, hasty, &client.Message{Topic: "spread", Body: []byte("before")})
	}
	results := map[string]error{}
	var mu sync.Mutex
	var longest time.Duration
	send := func(p *client.Producer, what string, n int) (failed int) {
		var wait sync.WaitGroup
		for s := range senders {
			wait.Go(func() {
				for i := range n / senders {
					body := fmt.Sprintf("%s-%d-%d", what, s, i)
					began := time.Now()
					_, err := p.Send(t.Context(), &client.Message{Topic: "spread", Body: []byte(body)})
					mu.Lock()
					results[body], longest = err, max(longest, time.Since(began))
					if err != nil {
						failed++
					}
					mu.Unlock()
				}
			})
		}
		wait.Wait()
		return failed
	}

	brokers[0].kill()
	if failed := send(p, "dead", 1000); failed > 0 {
		t.Errorf("%d of 1000 sends failed while one broker is dead", failed)
	}
	cmd, _ := brokers[1].running()
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	longest = 0
	if failed := send(p, "hung", 80); failed > 0 {
		t.Errorf("%d of 80 sends failed while one broker hangs", failed)
	}
	t.Logf("with one broker that hangs, and 500 ms for a try, a send took %v at most", longest)
	longest = 0
	failed := send(hasty, "hasty", 80)
	t.Logf("without retries %d of 80 sends failed; with 200 ms for a send one took %v at most", failed, longest)
	if failed == 80 {
		t.Error("no send came through, although only one broker hangs")
	}
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	brokers[0].begin()

	stored := map[string]int{}
	for _, b := range brokers {
		w := dial(t, b.broker)
		if n := w.maxOffset("spread", 0); n == 0 {
			t.Errorf("nothing was stored at %s", b.broker)
		}
		for queue := range int32(2) {
			for _, m := range w.read("spread", queue) {
				stored[string(m.Body)]++
			}
		}
	}
	for body, err := range results {
		n := stored[body]
		if err == nil && n == 0 {
			t.Errorf("%s was reported as stored and is nowhere", body)
		}
		if n > 1+retries {
			t.Errorf("%s is stored %d times", body, n)
		}
	}
}
