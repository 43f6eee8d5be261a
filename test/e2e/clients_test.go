// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package e2e

import (
	"slices"
	"time"

	"github.com/goddard-mq/goddard/internal/protocol"
)

// member is a consumer as its heartbeat tells of it.
type member struct {
	id    string // of the client
	group string
	topic string
	model protocol.MessageModel // "": clustering
}

func (m member) heartbeat() protocol.HeartbeatData {
	sub, _ := protocol.ParseTagExpression(m.topic, "*")
	sub.SubVersion = time.Now().UnixMilli()
	if m.model == "" {
		m.model = protocol.Clustering
	}
	return protocol.HeartbeatData{
		ClientID:        m.id,
		ProducerDataSet: []protocol.ProducerData{},
		ConsumerDataSet: []protocol.ConsumerData{{
			GroupName: m.group, ConsumeType: protocol.ConsumePassively, MessageModel: m.model,
			ConsumeFromWhere: protocol.ConsumeFromFirstOffset, SubscriptionDataSet: []*protocol.SubscriptionData{sub},
		}},
	}
}

// join makes the connection that of a group's member.
func (w *wire) join(m member) {
	w.t.Helper()
	w.must(protocol.HeartBeat, nil, jsonOf(m.heartbeat()))
}

// members are the client ids in a group, sorted; none when there is nobody.
func (w *wire) members(group string) []string {
	w.t.Helper()
	answer := w.call(protocol.GetConsumerListByGroup, protocol.ConsumerGroupHeader{ConsumerGroup: group}, nil)
	if answer.Code != 0 {
		return nil
	}
	var list protocol.ConsumerIDList
	w.decode(answer, &list)
	slices.Sort(list.ConsumerIDList)
	return list.ConsumerIDList
}

// expect waits for a request of the server with the given code, passing over others, and gives the group it is about.
func (w *wire) expect(code int32) string {
	w.t.Helper()
	for end := time.After(patience); ; {
		select {
		case req := <-w.news:
			if req.Code == code {
				return req.Fields.Text("consumerGroup")
			}
		case <-end:
			w.t.Fatalf("the server sent no request %d", code)
		}
	}
}

// lock asks for queues of a topic in the name of a client and gives those it holds now.
func (w *wire) lock(group, client, topic string, queues ...int32) []int32 {
	w.t.Helper()
	var got protocol.LockBatchAnswer
	w.decode(w.must(protocol.LockBatchMQ, nil, lockBody(group, client, topic, queues)), &got)
	var ids []int32
	for _, q := range got.LockOKMQSet {
		ids = append(ids, q.QueueID)
	}
	slices.Sort(ids)
	return ids
}

func (w *wire) unlock(group, client, topic string, queues ...int32) {
	w.t.Helper()
	w.must(protocol.UnlockBatchMQ, nil, lockBody(group, client, topic, queues))
}

func lockBody(group, client, topic string, queues []int32) []byte {
	body := protocol.LockBatchBody{ClientID: client, ConsumerGroup: group}
	for _, q := range queues {
		body.MQSet = append(body.MQSet, protocol.MessageQueue{Topic: topic, BrokerName: brokerName, QueueID: q})
	}
	return jsonOf(body)
}
