// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"testing"

	"github.com/goddard-mq/goddard/internal/protocol"
)

func lockBody(group, client, queues string) []byte {
	return text(`{"consumerGroup":"` + group + `","clientId":"` + client + `","onlyThisBroker":false,"mqSet":[` + queues + `]}`)
}

func TestLocksOverTheWire(t *testing.T) {
	r := start(t)
	const queue = `{"brokerName":"broker-a","queueId":77,"topic":"none"}`
	lock := func(client, queues, want string) {
		t.Helper()
		if got := string(r.success(protocol.LockBatchMQ, nil, lockBody("G", client, queues)...).Body); got != `{"lockOKMQSet":[`+want+`]}` {
			t.Fatal(got)
		}
	}
	unlock := func(client string) {
		t.Helper()
		r.call(protocol.UnlockBatchMQ, nil, lockBody("G", client, queue)...).is(protocol.Success, "")
	}
	lock("A", queue, queue)
	lock("B", queue, "")
	unlock("B")
	lock("B", queue, "")
	unlock("A")
	lock("B", queue, queue)
	lock("B", "", "")
	for _, body := range []string{"", "{", "7"} {
		if a := r.call(protocol.LockBatchMQ, nil, text(body)...); a.Code != protocol.SystemError || a.Remark == "" {
			t.Errorf("lock %q: %d %q", body, a.Code, a.Remark)
		}
		if a := r.call(protocol.UnlockBatchMQ, nil, text(body)...); a.Code != protocol.SystemError || a.Remark == "" {
			t.Errorf("unlock %q: %d %q", body, a.Code, a.Remark)
		}
	}
}

func TestLocksOutliveTheirOwner(t *testing.T) {
	r := start(t)
	g, c := r.group(), r.dial(nil)
	const queue = `{"brokerName":"broker-a","queueId":0,"topic":"T"}`
	r.join(c, "A", g, protocol.Clustering)
	r.ask(c, protocol.LockBatchMQ, nil, lockBody(g, "A", queue)...)
	_ = c.Close()
	<-c.Done()
	r.until("the member is gone", func() bool { return r.members.Consumers(g) == nil })
	if got := string(r.success(protocol.LockBatchMQ, nil, lockBody(g, "B", queue)...).Body); got != `{"lockOKMQSet":[]}` {
		t.Fatal(got)
	}
}
