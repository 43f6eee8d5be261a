// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package route

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goddard-mq/goddard/internal/protocol"
)

func names(queues []protocol.MessageQueue) []string {
	out := []string{}
	for _, q := range queues {
		out = append(out, fmt.Sprintf("%s:%d", q.BrokerName, q.QueueID))
	}
	return out
}

func brokerData(name string, ids ...int64) protocol.BrokerData {
	addrs := map[int64]string{}
	for _, id := range ids {
		addrs[id] = fmt.Sprintf("%s-%d:10911", name, id)
	}
	return protocol.BrokerData{Cluster: "C", BrokerName: name, BrokerAddrs: addrs}
}

func queueData(broker string, read, write, perm int32) protocol.QueueData {
	return protocol.QueueData{BrokerName: broker, ReadQueueNums: read, WriteQueueNums: write, Perm: perm}
}

func TestQueues(t *testing.T) {
	for _, test := range []struct {
		situation   string
		data        protocol.TopicRouteData
		write, read []string
	}{
		{
			"two brokers told in reverse order",
			protocol.TopicRouteData{
				BrokerDatas: []protocol.BrokerData{brokerData("b", 0), brokerData("a", 0)},
				QueueDatas:  []protocol.QueueData{queueData("b", 1, 2, 6), queueData("a", 2, 1, 6)},
			},
			[]string{"a:0", "b:0", "b:1"}, []string{"a:0", "a:1", "b:0"},
		},
		{
			"write permission wiped from one",
			protocol.TopicRouteData{
				BrokerDatas: []protocol.BrokerData{brokerData("a", 0), brokerData("b", 0)},
				QueueDatas:  []protocol.QueueData{queueData("a", 1, 1, 4), queueData("b", 1, 1, 2)},
			},
			[]string{"b:0"}, []string{"a:0"},
		},
		{
			"a broker whose master is gone can only be read",
			protocol.TopicRouteData{
				BrokerDatas: []protocol.BrokerData{brokerData("a", 1, 2)},
				QueueDatas:  []protocol.QueueData{queueData("a", 2, 2, 6)},
			},
			[]string{}, []string{"a:0", "a:1"},
		},
		{
			"an ordered topic has exactly the configured queues",
			protocol.TopicRouteData{
				OrderTopicConf: "b:1; a:2;:3;c;d:x",
				BrokerDatas:    []protocol.BrokerData{brokerData("a", 0), brokerData("b", 0)},
				QueueDatas:     []protocol.QueueData{queueData("a", 4, 4, 6), queueData("b", 0, 4, 6)},
			},
			[]string{"a:0", "a:1", "b:0"}, []string{"a:0", "a:1", "a:2", "a:3"},
		},
		{
			"queues of a broker that is not told",
			protocol.TopicRouteData{QueueDatas: []protocol.QueueData{queueData("a", 1, 1, 6)}},
			[]string{}, []string{"a:0"},
		},
		{
			"numbers of queues below zero",
			protocol.TopicRouteData{
				BrokerDatas: []protocol.BrokerData{brokerData("a", 0)},
				QueueDatas:  []protocol.QueueData{queueData("a", -1, -5, 6)},
			},
			[]string{}, []string{},
		},
	} {
		t.Run(test.situation, func(t *testing.T) {
			r := New("T", &test.data)
			if diff := cmp.Diff(test.write, names(r.Write)); diff != "" {
				t.Errorf("write (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.read, names(r.Read)); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBelievesNoAbsurdNumberOfQueues(t *testing.T) {
	r := New("T", &protocol.TopicRouteData{
		BrokerDatas: []protocol.BrokerData{brokerData("a", 0)},
		QueueDatas:  []protocol.QueueData{queueData("a", 1<<31-1, 1<<31-1, 6)},
	})
	if len(r.Read) != maxQueues || len(r.Write) != maxQueues {
		t.Errorf("%d queues to read, %d to write; want %d", len(r.Read), len(r.Write), maxQueues)
	}
}

func TestBrokerAddr(t *testing.T) {
	for _, test := range []struct {
		situation string
		ids       []int64
		id        int64
		want      string
	}{
		{"that broker", []int64{0, 1}, 1, "a-1:10911"},
		{"it is gone, the master is there", []int64{0, 2}, 1, "a-0:10911"},
		{"only other slaves", []int64{3, 2}, 1, "a-2:10911"},
		{"nobody", nil, 0, ""},
	} {
		t.Run(test.situation, func(t *testing.T) {
			data := brokerData("a", test.ids...)
			if got := (Broker{Name: "a", Addrs: data.BrokerAddrs}).Addr(test.id); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
