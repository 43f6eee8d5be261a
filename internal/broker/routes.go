// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"context"
	"slices"
	"time"

	"github.com/goddard-mq/goddard/internal/config"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/router"
)

// handlers are what the routes lead to: a handler per family of requests, each with the parts that it uses.
type handlers struct {
	send    *sendHandler
	back    *sendBackHandler
	reply   *replyHandler
	pull    *pullHandler
	query   *queryHandler
	delayed *delayHandler
	beat    *heartbeatHandler
	members *membersHandler
	locks   *lockHandler
	offsets *offsetHandler
	reset   *resetHandler
	topics  *topicHandler
	groups  *groupHandler
	check   *checkHandler
	calls   *callHandler
	queues  *queueHandler
	stats   *statsHandler
	config  *settingsHandler
	runtime *runtimeHandler
	assign  *assignHandler
}

func (b *Broker) newHandlers() *handlers {
	send := &sendHandler{sender: b.sender}
	return &handlers{
		send:  send,
		back:  &sendBackHandler{sender: b.sender, log: b.store},
		reply: &replyHandler{sendHandler: send, producers: b.members},
		pull: &pullHandler{
			cfg: b.cfg, topics: b.topics, groups: b.groups, members: b.members, offsets: b.offsets, store: b.store, lot: b.lot,
			metrics: b.metrics, stats: b.stats, filters: b.filters, expressions: b.expressions, broadcast: b.broadcast,
			faults: &filterFaults{log: b.log, count: b.metrics.filterFaults},
		},
		query:   &queryHandler{cfg: b.cfg, store: b.store},
		delayed: &delayHandler{progress: b.delay},
		beat:    &heartbeatHandler{cfg: b.cfg, topics: b.topics, groups: b.groups, members: b.members, filters: b.filters, expressions: b.expressions},
		members: &membersHandler{cfg: b.cfg, members: b.members, offsets: b.offsets},
		locks:   &lockHandler{locks: b.locks},
		offsets: &offsetHandler{cfg: b.cfg, topics: b.topics, groups: b.groups, offsets: b.offsets, store: b.store},
		reset:   &resetHandler{cfg: b.cfg, topics: b.topics, groups: b.groups, members: b.members, offsets: b.offsets, store: b.store, wake: b.lot.WakeTopic},
		topics:  &topicHandler{cfg: b.cfg, topics: b.topics, offsets: b.offsets, broadcast: b.broadcast, store: b.store, stats: b.stats},
		groups:  &groupHandler{cfg: b.cfg, groups: b.groups, topics: b.topics, offsets: b.offsets, broadcast: b.broadcast, stats: b.stats},
		check:   &checkHandler{faults: b.trouble},
		calls:   &callHandler{cfg: b.cfg, members: b.members, topics: b.topics, groups: b.groups, store: b.store},
		queues:  &queueHandler{topics: b.topics, members: b.members, filters: b.filters, store: b.store},
		stats: &statsHandler{
			cfg: b.cfg, topics: b.topics, groups: b.groups, members: b.members, offsets: b.offsets, store: b.store, stats: b.stats,
		},
		config: b.newSettings(),
		runtime: &runtimeHandler{
			cfg: b.cfg, store: b.store, stats: b.stats, delay: b.delay, levels: b.delayLevels, lanes: b.lanes, started: time.Now(),
		},
		assign: &assignHandler{
			topics: b.topics, groups: b.groups, members: b.members, modes: b.modes,
			queues: &readQueues{cfg: b.cfg, topics: b.topics, caller: b.registrar.client},
		},
	}
}

// newSettings makes the handler of settings, which keeps what it changes for the next start where a file is named for it.
func (b *Broker) newSettings() *settingsHandler {
	h := newSettingsHandler(b.cfg, b.log)
	h.applied = b.applied
	if path := b.cfg.Load().Identity.Kept; path != "" {
		h.keep = func(changes []config.KV) error { return config.Keep(path, changes) }
	}
	return h
}

// applied passes changed settings on to those that do not read them at each use.
func (b *Broker) applied(keys []string) error {
	if slices.Contains(keys, "brokerPermission") {
		b.topics.Advance()
		b.registrar.all()
	}
	return b.store.Reconfigure(b.cfg.Load().Store)
}

// routes is the table from request code to handler, of the main port and of the fast port. A route without a lane runs on
// the goroutine that read the request and waits for nothing.
func (b *Broker) routes() (main, fast []router.Route) {
	h, l := b.newHandlers(), b.lanes

	// What an inline handler must not do on a reader's goroutine comes in here again.
	b.slow = router.New(router.Config{Logger: b.log, Role: "broker"}, []router.Route{
		{Code: protocol.SendMessage, Name: "send", Handle: h.send.serveOnLane, Lane: l.send},
		{Code: protocol.SendMessageV2, Name: "send", Handle: h.send.serveOnLane, Lane: l.send},
		{Code: protocol.SendBatchMessage, Name: "send batch", Handle: h.send.serveOnLane, Lane: l.send},
		{Code: protocol.PullMessage, Name: "pull", Handle: h.pull.serveOnLane, Lane: l.pull},
		{Code: protocol.LitePullMessage, Name: "lite pull", Handle: h.pull.serveOnLane, Lane: l.pull},
		{Code: protocol.HeartBeat, Name: "heartbeat", Handle: h.beat.serveOnLane, Lane: l.beat},
	})
	h.send.lane, h.pull.lane, h.beat.lane = b.slow, b.slow, b.slow

	both := []router.Route{
		{Code: protocol.SendMessage, Name: "send", Handle: h.send.serveInline},
		{Code: protocol.SendMessageV2, Name: "send", Handle: h.send.serveInline},
		{Code: protocol.SendBatchMessage, Name: "send batch", Handle: h.send.serveInline},
		{Code: protocol.ConsumerSendMsgBack, Name: "send back", Handle: h.back.serve, Lane: l.send},
		{Code: protocol.SendReplyMessage, Name: "reply", Handle: h.reply.serve, Lane: l.reply},
		{Code: protocol.SendReplyMessageV2, Name: "reply", Handle: h.reply.serve, Lane: l.reply},
		{Code: protocol.QueryMessage, Name: "query", Handle: h.query.query, Lane: l.query},
		{Code: protocol.ViewMessageByID, Name: "view", Handle: h.query.view, Lane: l.query},

		{Code: protocol.HeartBeat, Name: "heartbeat", Handle: h.beat.serveInline},
		{Code: protocol.UnregisterClient, Name: "unregister client", Handle: h.beat.leave},
		{Code: protocol.CheckClientConfig, Name: "check client", Handle: h.beat.checkConfig},
		{Code: protocol.GetConsumerListByGroup, Name: "consumer list", Handle: h.members.list},
		{Code: protocol.QueryConsumerOffset, Name: "query offset", Handle: h.offsets.query},
		{Code: protocol.UpdateConsumerOffset, Name: "update offset", Handle: h.offsets.update},
		{Code: protocol.GetMaxOffset, Name: "max offset", Handle: h.offsets.bounds},
		{Code: protocol.GetMinOffset, Name: "min offset", Handle: h.offsets.bounds},
		{Code: protocol.LockBatchMQ, Name: "lock queues", Handle: h.locks.lock},
		{Code: protocol.UnlockBatchMQ, Name: "unlock queues", Handle: h.locks.unlock},
		{Code: protocol.SearchOffsetByTimestamp, Name: "offset by time", Handle: h.offsets.search, Lane: l.offset},
		{Code: protocol.GetEarliestMsgStoreTime, Name: "earliest time", Handle: h.offsets.earliest, Lane: l.offset},
		{Code: protocol.QueryAssignment, Name: "query assignment", Handle: h.assign.query, Lane: l.share},
	}
	both = append(both, b.adminRoutes(h)...)
	main = append(both[:len(both):len(both)],
		router.Route{Code: protocol.PullMessage, Name: "pull", Handle: h.pull.serveInline},
		router.Route{Code: protocol.LitePullMessage, Name: "lite pull", Handle: h.pull.serveInline},
	)
	return main, both
}

// adminRoutes are those of tools and of slaves, all on one lane.
func (b *Broker) adminRoutes(h *handlers) []router.Route {
	routes := []router.Route{
		{Code: protocol.UpdateAndCreateTopic, Name: "update topic", Handle: b.registered(h.topics.update)},
		{Code: protocol.UpdateAndCreateTopicList, Name: "update topics", Handle: b.registered(h.topics.updateList)},
		{Code: protocol.DeleteTopicInBroker, Name: "delete topic", Handle: h.topics.remove},
		{Code: protocol.GetAllTopicConfig, Name: "all topics", Handle: h.topics.all},
		{Code: protocol.GetSystemTopicListFromBroker, Name: "system topics", Handle: h.topics.system},
		{Code: protocol.GetTopicConfig, Name: "topic", Handle: h.topics.get},

		{Code: protocol.UpdateAndCreateSubscriptionGroup, Name: "update group", Handle: h.groups.update},
		{Code: protocol.UpdateAndCreateSubscriptionGroupList, Name: "update groups", Handle: h.groups.updateList},
		{Code: protocol.DeleteSubscriptionGroup, Name: "delete group", Handle: h.groups.remove},
		{Code: protocol.GetAllSubscriptionGroupConfig, Name: "all groups", Handle: h.groups.all},
		{Code: protocol.GetSubscriptionGroupConfig, Name: "group", Handle: h.groups.get},
		{Code: protocol.UpdateAndGetGroupForbidden, Name: "group forbidden", Handle: h.groups.forbidden},

		{Code: protocol.CheckConsumerGroups, Name: "check groups", Handle: h.check.check},
		{Code: protocol.GetConsumerConnectionList, Name: "consumer connections", Handle: h.members.consumers},
		{Code: protocol.GetProducerConnectionList, Name: "producer connections", Handle: h.members.producers},
		{Code: protocol.GetAllProducerInfo, Name: "all producers", Handle: h.members.allProducers},
		{Code: protocol.QueryTopicConsumeByWho, Name: "groups of topic", Handle: h.members.groupsOfTopic},
		{Code: protocol.QueryTopicsByConsumer, Name: "topics of group", Handle: h.members.topicsOfGroup},
		{Code: protocol.QuerySubscriptionByConsumer, Name: "subscription", Handle: h.members.subscription},

		{Code: protocol.GetAllConsumerOffset, Name: "all offsets", Handle: h.offsets.all},
		{Code: protocol.GetAllDelayOffset, Name: "all delay offsets", Handle: h.delayed.offsets},
		{Code: protocol.InvokeBrokerToResetOffset, Name: "reset offset", Handle: h.reset.reset},
		{Code: protocol.CloneGroupOffset, Name: "clone offset", Handle: h.reset.clone},
		{Code: protocol.QueryCorrectionOffset, Name: "correction offset", Handle: h.reset.correction},

		{Code: protocol.GetConsumerRunningInfo, Name: "running info of consumer", Handle: h.calls.runningInfo},
		{Code: protocol.ConsumeMessageDirectly, Name: "consume directly", Handle: h.calls.consumeDirectly},
		{Code: protocol.InvokeBrokerToGetConsumerStatus, Name: "status of consumers", Handle: h.calls.status},

		{Code: protocol.QueryConsumeQueue, Name: "queue entries", Handle: h.queues.entries},
		{Code: protocol.CleanExpiredConsumeQueue, Name: "clean expired queues", Handle: h.queues.cleanExpired},
		{Code: protocol.CleanUnusedTopic, Name: "clean unused topics", Handle: h.queues.cleanUnused},
		{Code: protocol.DeleteExpiredCommitLog, Name: "delete expired log", Handle: h.queues.cleanLog},

		{Code: protocol.GetTopicStatsInfo, Name: "topic stats", Handle: h.stats.topic},
		{Code: protocol.GetConsumeStats, Name: "consume stats", Handle: h.stats.consume},
		{Code: protocol.QueryConsumeTimeSpan, Name: "consume time span", Handle: h.stats.timeSpan},
		{Code: protocol.ViewBrokerStatsData, Name: "broker stats", Handle: h.stats.view},
		{Code: protocol.GetBrokerConsumeStats, Name: "broker consume stats", Handle: h.stats.broker},

		{Code: protocol.GetBrokerConfig, Name: "broker config", Handle: h.config.get},
		{Code: protocol.UpdateBrokerConfig, Name: "update broker config", Handle: h.config.update},
		{Code: protocol.GetBrokerRuntimeInfo, Name: "runtime info", Handle: h.runtime.serve},

		{Code: protocol.SetMessageRequestMode, Name: "set request mode", Handle: h.assign.setMode},
		{Code: protocol.GetAllMessageRequestMode, Name: "all request modes", Handle: h.assign.allModes},
	}
	for i := range routes {
		routes[i].Lane = b.lanes.admin
	}
	return routes
}

// registerWait bounds how long an administrator waits for name servers to know a change.
const registerWait = time.Second

// registered answers a change of topics when the name servers that can be reached know it: whoever made a topic may ask
// for its route at once.
func (b *Broker) registered(handle router.HandlerFunc) router.HandlerFunc {
	return func(x *remoting.Exchange) (*remoting.Command, error) {
		resp, err := handle(x)
		if err == nil {
			ctx, cancel := context.WithTimeout(b.background, registerWait)
			defer cancel()
			b.registrar.wait(ctx)
		}
		return resp, err
	}
}
