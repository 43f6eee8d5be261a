// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"time"

	"github.com/goddard-mq/goddard/internal/router"
)

// lanes are how many requests of a family run at once. Sends and pulls that neither create anything nor touch the disk run
// on the goroutine that read them and are in no lane.
type lanes struct {
	send   *router.Lane // first sends to a topic, retries, send-backs
	pull   *router.Lane // reads of old data
	reply  *router.Lane
	query  *router.Lane // by key, by id
	admin  *router.Lane
	beat   *router.Lane // first heartbeats of groups
	offset *router.Lane // members and progress of groups
	share  *router.Lane // division of queues, for which name servers may be asked
}

// beatWorkers is how many heartbeats may wait for the disk at once. They only wait, and share the syncs: with as few as
// RocketMQ has threads for heartbeats (heartbeatThreadPoolNums) 20,000 new groups would take 10,000 syncs.
const beatWorkers = 1024

func newLanes(c *LaneConfig) *lanes {
	lane := func(name string, workers, capacity int, wait time.Duration) *router.Lane {
		if !c.FastFailure {
			wait = 0
		}
		return router.NewLane(router.LaneConfig{Name: name, Workers: workers, Capacity: capacity, MaxWait: wait})
	}
	return &lanes{
		send:   lane("send", c.SendWorkers, c.SendCapacity, c.SendWait),
		pull:   lane("pull", c.PullWorkers, c.PullCapacity, c.PullWait),
		reply:  lane("reply", c.ReplyWorkers, c.ReplyCapacity, 0),
		query:  lane("query", c.QueryWorkers, c.QueryCapacity, 0),
		admin:  lane("admin", c.AdminWorkers, c.AdminCapacity, c.AdminWait),
		beat:   lane("heartbeat", beatWorkers, c.BeatCapacity, c.BeatWait),
		offset: lane("offset", c.OffsetWorkers, c.OffsetCapacity, 0),
		share:  lane("load balance", c.BalanceWorkers, c.BalanceCapacity, 0),
	}
}

// byProcessor gives the lanes under RocketMQ's names of the thread pools they stand for.
func (l *lanes) byProcessor() map[string]*router.Lane {
	return map[string]*router.Lane{
		"send": l.send, "pull": l.pull, "reply": l.reply, "query_message": l.query, "admin": l.admin,
		"heartbeat": l.beat, "consumer_manager": l.offset,
	}
}
