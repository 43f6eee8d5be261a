// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

// What pulls of broadcasting groups tell the broker of each client's progress, and what it tells clients that go over from
// a proxy to the broker or back (enableBroadcastOffsetStore).

import (
	"slices"

	"github.com/goddard-mq/goddard/internal/broker/group"
	"github.com/goddard-mq/goddard/internal/broker/offset"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// broadcastOffsets follows the clients of broadcasting groups.
type broadcastOffsets interface {
	Begin(p *offset.Puller, asked int64) (offset int64, ok bool)
	Pulled(p *offset.Puller, offset int64)
}

// findPuller sets the puller of a pull in broadcasting mode: a client that a proxy names, or the member on the connection.
func (h *pullHandler) findPuller(p *pulling, consumers *group.Consumers, conn *remoting.Conn) {
	switch {
	case p.req.RequestSource == protocol.SourceProxyBroadcast:
		p.puller.Client, p.puller.Proxied = string(p.req.ProxyClientID), true
	case consumers != nil && consumers.Model == protocol.Broadcasting && consumers.Type == protocol.ConsumePassively:
		if i := slices.IndexFunc(consumers.Members, func(c group.Client) bool { return c.Conn == conn }); i >= 0 {
			p.puller.Client = consumers.Members[i].ID
		}
	}
	if p.puller.Client != "" {
		p.puller.Topic, p.puller.Group, p.puller.Queue = p.topic.TopicName, p.group.GroupName, p.req.QueueID
	}
}

// beginOf gives the offset from which a client in broadcasting mode is to go on, when that is not the one it asks for.
func (h *pullHandler) beginOf(p *pulling) (offset int64, moved bool) {
	if p.puller.Client == "" {
		return 0, false
	}
	return h.broadcast.Begin(&p.puller, p.req.QueueOffset)
}

// follow takes in where a client in broadcasting mode is: everything before the offset that it asks for is its own matter.
func (h *pullHandler) follow(p *pulling) {
	if p.puller.Client == "" {
		return
	}
	at := p.read.Offset
	if p.answer.Code == protocol.PullOffsetMoved {
		at = p.result.Next
	}
	h.broadcast.Pulled(&p.puller, at)
}

// beginOfBroadcast is where a client begins of whose group nothing is known: at 0 while that is young, else at the end.
func (b *Broker) beginOfBroadcast(topic string, queue int32) int64 {
	first, end := b.store.QueueRange(topic, queue)
	if first <= 0 && b.store.Young(topic, queue, 0) {
		return 0
	}
	return max(end, 0)
}

// isMemberID tells whether a client is in a group now.
func (b *Broker) isMemberID(group, client string) bool {
	c := b.members.Consumers(group)
	if c == nil {
		return false
	}
	_, found := c.Find(client)
	return found
}
