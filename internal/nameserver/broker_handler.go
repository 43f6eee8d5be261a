// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nameserver

import (
	"log/slog"
	"time"

	"github.com/goddard-mq/goddard/internal/config"
	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// brokerHandler answers what is asked by and about brokers: 103, 104, 106, 205,
// 322, 327, 901, 904.
type brokerHandler struct {
	config     *config.Live[Config]
	table      *routeTable
	kv         *kvConfig
	departures *departures
	conns      *connections
	notify     func(*minIDChange)
	metrics    *metrics
	log        *slog.Logger
}

// register takes a registration in any of its forms.
func (h *brokerHandler) register(x *remoting.Exchange) (*remoting.Command, error) {
	var q protocol.RegisterBrokerRequest
	body, err := h.decodeRegistration(x, &q)
	if err != nil {
		h.metrics.registrations.WithLabelValues("bad").Inc()
		h.log.Warn("registration refused", "addr", x.Conn.RemoteAddr(), "broker", q.BrokerName, "err", err)
		return nil, err
	}
	r := &registration{
		cluster: q.ClusterName, name: q.BrokerName, addr: q.BrokerAddr, id: q.BrokerID, haAddr: q.HAServerAddr,
		zone: q.ZoneName, acting: q.EnableActingMaster, body: body, conn: x.Conn.ID(),
	}
	if q.HeartbeatTimeoutMillis != nil {
		r.timeout = max(time.Duration(min(*q.HeartbeatTimeoutMillis, maxTimeout.Milliseconds()))*time.Millisecond, time.Millisecond)
	}
	cfg := h.config.Load()
	h.conns.put(x.Conn)
	got, err := h.table.register(r, cfg.Brokers.WholeTruth, time.Now())
	if err != nil {
		h.metrics.registrations.WithLabelValues("refused").Inc()
		h.log.Info("registration of a single topic refused: the broker is not known yet", "broker", r.name, "id", r.id, "addr", r.addr)
		return &remoting.Command{Code: protocol.CodeOf(err), Remark: err.(*protocol.Error).Remark, EmptyFields: true}, nil
	}
	h.noteRegistration(r, &got)
	if got.minID != nil && cfg.Brokers.NotifyMinID {
		h.notify(got.minID)
	}
	resp := &remoting.Command{
		Header:      header.Of(&protocol.RegisterBrokerResponse{MasterAddr: got.masterAddr, HAServerAddr: got.haAddr}),
		EmptyFields: true,
	}
	if order, ok := h.kv.list(protocol.NamespaceOrderTopicConfig); ok && cfg.Brokers.ReturnOrder {
		resp.Body = javajson.Marshal(&protocol.KVTable{Table: order}, javajson.Bare)
	}
	return resp, nil
}

func (h *brokerHandler) decodeRegistration(x *remoting.Exchange, q *protocol.RegisterBrokerRequest) (*protocol.RegisterBrokerBody, error) {
	req := &x.Request
	if err := header.Decode(req.Fields, q); err != nil {
		return nil, err
	}
	if q.BrokerName == "" || q.BrokerAddr == "" || q.ClusterName == "" {
		return nil, protocol.Errorf(protocol.SystemError, "brokerName, brokerAddr and clusterName must not be empty")
	}
	if q.BodyCRC32 != 0 && uint32(q.BodyCRC32) != message.BodyCRC(req.Body) {
		return nil, &protocol.Error{Code: protocol.SystemError, Remark: "crc32 not match"}
	}
	return protocol.DecodeRegisterBody(req.Body, req.Version, q.Compressed)
}

func (h *brokerHandler) noteRegistration(r *registration, got *registered) {
	if got.stale {
		h.metrics.registrations.WithLabelValues("stale").Inc()
		h.log.Warn("registration ignored: another broker with a newer state has this id", "broker", r.name, "id", r.id, "addr", r.addr)
		return
	}
	h.metrics.registrations.WithLabelValues("ok").Inc()
	if got.newcomer {
		h.log.Info("broker registered", "broker", r.name, "id", r.id, "addr", r.addr, "cluster", r.cluster,
			"topics", len(r.body.Topics.TopicConfigTable))
	}
}

// unregister queues the broker's goodbye.
func (h *brokerHandler) unregister(x *remoting.Exchange) (*remoting.Command, error) {
	var q protocol.UnregisterBrokerRequest
	if err := header.Decode(x.Request.Fields, &q); err != nil {
		return nil, err
	}
	d, ok := h.table.goodbye(brokerKey{q.ClusterName, q.BrokerAddr}, q.BrokerName, q.BrokerID, x.Conn.ID())
	if !ok {
		h.log.Info("late goodbye ignored: the broker has registered again", "broker", q.BrokerName, "id", q.BrokerID, "addr", q.BrokerAddr)
		return &remoting.Command{}, nil
	}
	if !h.departures.add([]departure{d}, h.config.Load().Brokers.DepartureQueue) {
		return nil, protocol.Errorf(protocol.SystemError, "too many brokers are leaving, say it again")
	}
	h.metrics.departures.WithLabelValues("goodbye").Inc()
	h.log.Info("broker said goodbye", "broker", q.BrokerName, "id", q.BrokerID, "addr", q.BrokerAddr)
	return &remoting.Command{}, nil
}

// dataVersion tells a broker whether it has to register.
func (h *brokerHandler) dataVersion(x *remoting.Exchange) (*remoting.Command, error) {
	var q protocol.QueryDataVersionRequest
	if err := header.Decode(x.Request.Fields, &q); err != nil {
		return nil, err
	}
	var asked protocol.DataVersion
	if len(x.Request.Body) > 0 {
		if err := javajson.Unmarshal(x.Request.Body, &asked); err != nil {
			return nil, protocol.Errorf(protocol.SystemError, "body is not a data version: %v", err)
		}
	}
	known, ok := h.table.dataVersion(q.ClusterName, q.BrokerAddr, time.Now())
	resp := &remoting.Command{Header: header.Of(&protocol.QueryDataVersionResponse{Changed: !ok || !known.Equal(asked)})}
	if ok {
		resp.Body = javajson.Marshal(&known, javajson.Bare)
	}
	return resp, nil
}

// heartbeat notes a sign of life.
func (h *brokerHandler) heartbeat(x *remoting.Exchange) (*remoting.Command, error) {
	var q protocol.BrokerHeartbeatRequest
	if err := header.Decode(x.Request.Fields, &q); err != nil {
		return nil, err
	}
	h.table.touch(q.ClusterName, q.BrokerAddr, time.Now())
	return &remoting.Command{}, nil
}

// members lists the live brokers of a name. The cluster is repeated, not looked at.
func (h *brokerHandler) members(x *remoting.Exchange) (*remoting.Command, error) {
	var q protocol.BrokerMemberGroupRequest
	if err := header.Decode(x.Request.Fields, &q); err != nil {
		return nil, err
	}
	return jsonBody(&protocol.BrokerMemberGroupBody{BrokerMemberGroup: &protocol.BrokerMemberGroup{
		BrokerAddrs: h.table.members(q.BrokerName), BrokerName: q.BrokerName, Cluster: q.ClusterName,
	}}), nil
}

func (h *brokerHandler) clusterInfo(*remoting.Exchange) (*remoting.Command, error) {
	return jsonBody(h.table.clusterInfo()), nil
}

func (h *brokerHandler) wipeWritePerm(x *remoting.Exchange) (*remoting.Command, error) {
	var q protocol.WipeWritePermRequest
	if err := header.Decode(x.Request.Fields, &q); err != nil {
		return nil, err
	}
	n := h.table.wipeWritePerm(q.BrokerName)
	h.log.Info("write permission wiped", "broker", q.BrokerName, "topics", n, "addr", x.Conn.RemoteAddr())
	return &remoting.Command{Header: header.Of(&protocol.WipeWritePermResponse{WipeTopicCount: int32(n)})}, nil
}

func (h *brokerHandler) addWritePerm(x *remoting.Exchange) (*remoting.Command, error) {
	var q protocol.AddWritePermRequest
	if err := header.Decode(x.Request.Fields, &q); err != nil {
		return nil, err
	}
	n := h.table.addWritePerm(q.BrokerName)
	h.log.Info("write permission added", "broker", q.BrokerName, "topics", n, "addr", x.Conn.RemoteAddr())
	return &remoting.Command{Header: header.Of(&protocol.AddWritePermResponse{AddTopicCount: int32(n)})}, nil
}

// jsonBody answers with v. Bare keys, whoever asks: only routes have a second dialect.
func jsonBody(v any) *remoting.Command {
	return &remoting.Command{Body: javajson.Marshal(v, javajson.Bare)}
}
