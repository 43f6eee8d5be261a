// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nameserver

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
)

// Whatever happens in whatever order, the parts of the table agree, kept answers
// are those that would be made now, and nothing stays of brokers that have left.
func TestTableStaysConsistent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		names := rapid.SampledFrom([]string{"a", "b"})
		ids := rapid.Int64Range(0, 2)
		addrs := rapid.SampledFrom([]string{"x", "y", "z"})
		slots := rapid.IntRange(0, 3)
		conns := []uint64{1, 2, 3, 4} // numbers of connections are never used again
		last := uint64(4)
		topics := rapid.SampledFrom([]string{"T", "U", "V", "rmq_sys_SYNC_BROKER_MEMBER_a"})
		var queued []departure
		t.Repeat(map[string]func(*rapid.T){
			"register": func(t *rapid.T) {
				name := names.Draw(t, "name")
				_, _ = w.try(broker{
					name: name, id: ids.Draw(t, "id"), addr: addrs.Draw(t, "addr"), conn: conns[slots.Draw(t, "conn")],
					topics:  rapid.SliceOfNDistinct(topics, 0, 3, rapid.ID[string]).Draw(t, "topics"),
					perm:    rapid.Int32Range(1, 7).Draw(t, "perm"),
					version: rapid.Int64Range(0, 2).Draw(t, "version"), state: rapid.Int64Range(0, 1).Draw(t, "state"),
					acting: rapid.SampledFrom([]*bool{nil, yes, no}).Draw(t, "acting"), zone: rapid.SampledFrom([]string{"", "z"}).Draw(t, "zone"),
					filters: rapid.SampledFrom([][]string{nil, {}, {"f"}}).Draw(t, "filters"),
					whole:   rapid.Bool().Draw(t, "whole"), timeout: time.Duration(rapid.Int64Range(0, 9).Draw(t, "timeout")) * time.Second,
					mapping: rapid.SampledFrom([]map[string]*protocol.TopicQueueMappingInfo{nil, {"T": {BrokerName: name, Topic: "T"}}}).Draw(t, "mapping"),
				})
			},
			"goodbye": func(t *rapid.T) {
				d, ok := w.table.goodbye(brokerKey{"C", addrs.Draw(t, "addr")}, names.Draw(t, "name"), ids.Draw(t, "id"), conns[slots.Draw(t, "conn")])
				if ok {
					queued = append(queued, d)
				}
			},
			"hang up": func(t *rapid.T) {
				slot := slots.Draw(t, "conn")
				queued = append(queued, w.table.connClosed(conns[slot])...)
				last++
				conns[slot] = last
			},
			"apply": func(*rapid.T) { w.depart(queued); queued = nil },
			"time passes": func(t *rapid.T) {
				w.pass(time.Duration(rapid.Int64Range(0, 200).Draw(t, "seconds")) * time.Second)
			},
			"delete topic": func(t *rapid.T) {
				w.table.deleteTopic(topics.Draw(t, "topic"), rapid.SampledFrom([]string{"", "C", "D"}).Draw(t, "cluster"))
			},
			"register topic": func(t *rapid.T) {
				w.table.registerTopic(topics.Draw(t, "topic"), []protocol.QueueData{{BrokerName: names.Draw(t, "name"), Perm: 6}})
			},
			"perms": func(t *rapid.T) {
				w.table.wipeWritePerm(names.Draw(t, "wiped"))
				w.table.addWritePerm(names.Draw(t, "given back"))
			},
			"ask": func(t *rapid.T) {
				o := routeOptions{actingMaster: rapid.Bool().Draw(t, "acting"), order: rapid.SampledFrom([]string{"", "a:1"}).Draw(t, "order")}
				w.table.route(topics.Draw(t, "topic"), rapid.SampledFrom([]javajson.Dialect{javajson.Bare, javajson.Standard}).Draw(t, "dialect"), o)
			},
			"": func(*rapid.T) { w.check() },
		})
		w.depart(queued)
		for _, conn := range conns {
			w.hangUp(conn)
		}
		w.pass(defaultTimeout + time.Second)
		if left := fmt.Sprint(w.table.topics, w.table.brokers, w.table.clusters, w.table.live, w.table.conns); left != "map[] map[] map[] map[] map[]" {
			t.Fatalf("left after everybody is gone: %s", left)
		}
	})
}
