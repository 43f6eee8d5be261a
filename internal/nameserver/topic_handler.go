// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nameserver

import (
	"log/slog"
	"strings"
	"time"

	"github.com/goddard-mq/goddard/internal/config"
	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// topicHandler answers what is asked about topics: 105, 206, 216, 217, 224, 304,
// 311, 312, 313. Not done: clusterTest, which asks a second name server domain for
// topics that are not known here.
type topicHandler struct {
	config  *config.Live[Config]
	table   *routeTable
	kv      *kvConfig
	metrics *metrics
	started time.Time
	log     *slog.Logger
}

// noRoute is the text of TOPIC_NOT_EXIST; clients and their users search for it.
const noRoute = "No topic route info in name server for the topic: %s\n" +
	"See https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."

// route answers where a topic is.
func (h *topicHandler) route(x *remoting.Exchange) (*remoting.Command, error) {
	var q protocol.RouteRequest
	if err := header.Decode(x.Request.Fields, &q); err != nil {
		return nil, err
	}
	cfg := &h.config.Load().Routes
	if cfg.WaitForBroker && time.Since(h.started) < cfg.StartupWait {
		h.metrics.routes.WithLabelValues("not_ready").Inc()
		return nil, &protocol.Error{Code: protocol.SystemError, Remark: "name server not ready"}
	}
	o := routeOptions{actingMaster: cfg.ActingMaster}
	if cfg.OrderConf {
		o.order, _ = h.kv.get(protocol.NamespaceOrderTopicConfig, q.Topic)
	}
	body, ok := h.encoded(x, &q, o)
	if !ok {
		h.metrics.routes.WithLabelValues("unknown").Inc()
		return nil, protocol.Errorf(protocol.TopicNotExist, noRoute, q.Topic)
	}
	h.metrics.routes.WithLabelValues("found").Inc()
	return &remoting.Command{Body: body}, nil
}

func (h *topicHandler) encoded(x *remoting.Exchange, q *protocol.RouteRequest, o routeOptions) ([]byte, bool) {
	if q.ZoneMode && strings.TrimSpace(q.ZoneName) != "" {
		return h.table.routeInZone(q.Topic, q.ZoneName, o)
	}
	dialect := javajson.Bare
	if x.Request.Version >= protocol.V4_9_4 || q.AcceptStandardJSONOnly {
		dialect = javajson.Standard
	}
	body, fresh, ok := h.table.route(q.Topic, dialect, o)
	if fresh {
		h.metrics.encodings.Inc()
	}
	return body, ok
}

// register sets the queues of a topic on brokers that are known.
func (h *topicHandler) register(x *remoting.Exchange) (*remoting.Command, error) {
	var q protocol.RegisterTopicInNameServerRequest
	if err := header.Decode(x.Request.Fields, &q); err != nil {
		return nil, err
	}
	if len(x.Request.Body) == 0 {
		return &remoting.Command{}, nil
	}
	var r protocol.TopicRouteData
	if err := javajson.Unmarshal(x.Request.Body, &r); err != nil {
		return nil, protocol.Errorf(protocol.SystemError, "body is not a route: %v", err)
	}
	h.table.registerTopic(q.Topic, r.QueueDatas)
	h.log.Info("topic registered by request", "topic", q.Topic, "addr", x.Conn.RemoteAddr())
	return &remoting.Command{}, nil
}

func (h *topicHandler) remove(x *remoting.Exchange) (*remoting.Command, error) {
	var q protocol.DeleteTopicInNameServerRequest
	if err := header.Decode(x.Request.Fields, &q); err != nil {
		return nil, err
	}
	h.table.deleteTopic(q.Topic, q.ClusterName)
	h.log.Info("topic deleted by request", "topic", q.Topic, "cluster", q.ClusterName, "addr", x.Conn.RemoteAddr())
	return &remoting.Command{}, nil
}

var errListOff = &protocol.Error{Code: protocol.SystemError, Remark: "disable"}

func (h *topicHandler) all(*remoting.Exchange) (*remoting.Command, error) {
	if !h.config.Load().Routes.AllTopicList {
		return nil, errListOff
	}
	return jsonBody(&protocol.TopicList{TopicList: h.table.allTopics()}), nil
}

func (h *topicHandler) ofCluster(x *remoting.Exchange) (*remoting.Command, error) {
	var q protocol.TopicsByClusterRequest
	if err := header.Decode(x.Request.Fields, &q); err != nil {
		return nil, err
	}
	return h.list(func() []string { return h.table.topicsOf(q.Cluster) })
}

// system lists cluster and broker names; no setting switches it off.
func (h *topicHandler) system(*remoting.Exchange) (*remoting.Command, error) {
	names, addr := h.table.systemTopics()
	return jsonBody(&protocol.TopicList{BrokerAddr: addr, TopicList: names}), nil
}

func (h *topicHandler) unit(*remoting.Exchange) (*remoting.Command, error) {
	return h.list(h.table.unitTopics)
}

func (h *topicHandler) unitSub(*remoting.Exchange) (*remoting.Command, error) {
	return h.list(h.table.unitSubTopics)
}

func (h *topicHandler) unitSubOnly(*remoting.Exchange) (*remoting.Command, error) {
	return h.list(h.table.unitSubOnlyTopics)
}

func (h *topicHandler) list(names func() []string) (*remoting.Command, error) {
	if !h.config.Load().Routes.TopicList {
		return nil, errListOff
	}
	return jsonBody(&protocol.TopicList{TopicList: names()}), nil
}
