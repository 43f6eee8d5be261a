// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

// Requests that a consumer answers: GET_CONSUMER_RUNNING_INFO (307) and CONSUME_MESSAGE_DIRECTLY (309) are handed to one
// member of a group and its answer is handed back; INVOKE_BROKER_TO_GET_CONSUMER_STATUS (223) asks every member
// (GET_CONSUMER_STATUS_FROM_CLIENT, 221).

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/goddard-mq/goddard/internal/broker/group"
	"github.com/goddard-mq/goddard/internal/broker/topic"
	"github.com/goddard-mq/goddard/internal/config"
	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// How long a member may take. Its answer to 307 and 309 is waited for without holding a goroutine.
const (
	memberCallTimeout   = 10 * time.Second
	memberStatusTimeout = 5 * time.Second
)

// The parts that calls ask.
type (
	callMembers interface {
		Consumers(group string) *group.Consumers
	}
	callTopics interface {
		Get(name string) *topic.Config
	}
	callGroups interface {
		Get(name string) *group.Config
	}
	callStore interface {
		View(physicalOffset int64) ([]byte, error)
	}
)

// callHandler serves the codes above, on the admin lane.
type callHandler struct {
	cfg     *config.Live[Config]
	members callMembers
	topics  callTopics
	groups  callGroups
	store   callStore
}

func (h *callHandler) runningInfo(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.ConsumerClientHeader
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	return h.relay(x, &req, x.Request.Fields, x.Request.Body)
}

// consumeDirectly adds to the request what the member needs: the stored message, and the system flags of topic and group.
func (h *callHandler) consumeDirectly(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.ConsumerClientHeader
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	added := map[string]string{"brokerName": h.cfg.Load().Identity.Name}
	if t := h.topics.Get(req.Topic); t != nil {
		added["topicSysFlag"] = strconv.Itoa(int(t.TopicSysFlag))
	}
	if g := h.groups.Get(req.ConsumerGroup); g != nil {
		added["groupSysFlag"] = strconv.Itoa(int(g.GroupSysFlag))
	}
	var fields header.Fields
	for _, f := range x.Request.Fields {
		if _, replaced := added[string(f.Key)]; !replaced {
			fields = append(fields, f)
		}
	}
	for key, value := range added {
		fields.Add(key, value)
	}
	if _, err := h.find(&req); err != nil {
		return nil, err
	}
	_, at, err := message.ParseOffsetID(req.MsgID)
	if err != nil {
		return nil, fmt.Errorf("msgId: %w", err)
	}
	record, err := h.store.View(at)
	if err != nil {
		return nil, fmt.Errorf("message %s: %w", req.MsgID, err)
	}
	return h.relay(x, &req, fields, record)
}

// find gives the member that is to be asked.
func (h *callHandler) find(req *protocol.ConsumerClientHeader) (group.Client, error) {
	var client group.Client
	found := false
	if consumers := h.members.Consumers(req.ConsumerGroup); consumers != nil {
		client, found = consumers.Find(req.ClientID)
	}
	switch {
	case !found:
		return client, protocol.Errorf(protocol.SystemError, "The Consumer <%s> <%s> not online", req.ConsumerGroup, req.ClientID)
	case client.Version < protocol.V3_1_8Snapshot:
		return client, protocol.Errorf(protocol.SystemError, "The Consumer <%s> Version <%s> too low to finish, please upgrade it to V3_1_8_SNAPSHOT",
			req.ClientID, protocol.VersionName(client.Version))
	}
	return client, nil
}

// relay hands the request on and, when the member has answered, its answer back.
func (h *callHandler) relay(x *remoting.Exchange, req *protocol.ConsumerClientHeader, fields header.Fields, body []byte) (*remoting.Command, error) {
	client, err := h.find(req)
	if err != nil {
		return nil, err
	}
	reply := x.ReplyTo()
	client.Conn.Go(&remoting.Command{Code: x.Request.Code, Fields: fields, Body: body}, memberCallTimeout, func(answer *remoting.Command, err error) {
		switch {
		case errors.Is(err, remoting.ErrTimeout):
			answer = failure(protocol.ConsumeMsgTimeout, "consumer <%s> <%s> Timeout: %v", req.ConsumerGroup, req.ClientID, err)
		case err != nil:
			answer = failure(protocol.SystemError, "invoke consumer <%s> <%s> Exception: %v", req.ConsumerGroup, req.ClientID, err)
		default:
			answer = &remoting.Command{Code: answer.Code, Remark: answer.Remark, Fields: answer.Fields, Body: answer.Body}
		}
		reply.Send(answer)
	})
	return nil, nil
}

func failure(code int32, format string, a ...any) *remoting.Command {
	return &remoting.Command{Code: code, Remark: fmt.Sprintf(format, a...)}
}

// status asks the members of a group, or the one that the request names, how far they have come. Those that do not answer
// are left out.
func (h *callHandler) status(x *remoting.Exchange) (*remoting.Command, error) {
	var req protocol.ConsumerStatusHeader
	if err := header.Decode(x.Request.Fields, &req); err != nil {
		return nil, err
	}
	consumers := h.members.Consumers(req.Group)
	if consumers == nil {
		return nil, protocol.Errorf(protocol.SystemError, "No Any Consumer online in the consumer group: [%s]", req.Group)
	}
	for _, m := range consumers.Members {
		if m.Version < protocol.V3_0_7Snapshot {
			return nil, tooOld(m.Version)
		}
	}
	only := ""
	if req.ClientAddr != nil {
		only = *req.ClientAddr
	}
	body := protocol.ConsumerStatus{
		ConsumerTable: map[string]map[protocol.MessageQueue]int64{}, MessageQueueTable: map[protocol.MessageQueue]int64{},
	}
	ctx, cancel := context.WithTimeout(context.Background(), memberStatusTimeout)
	defer cancel()
	var mu sync.Mutex
	var asked sync.WaitGroup
	for _, m := range consumers.Members {
		if only != "" && m.ID != only {
			continue
		}
		asked.Go(func() {
			if offsets, ok := askStatus(ctx, m.Conn, req.Topic, req.Group); ok {
				mu.Lock()
				defer mu.Unlock()
				body.ConsumerTable[m.ID] = offsets
			}
		})
	}
	asked.Wait()
	return jsonAnswer(body), nil
}

func askStatus(ctx context.Context, conn *remoting.Conn, topic, group string) (map[protocol.MessageQueue]int64, bool) {
	answer, err := conn.Call(ctx, &remoting.Command{
		Code: protocol.GetConsumerStatusFromClient, Header: header.Of(protocol.ConsumerStatusHeader{Topic: topic, Group: group}),
	})
	if err != nil || answer.Code != protocol.Success || len(answer.Body) == 0 {
		return nil, false
	}
	var status protocol.ConsumerStatus
	if javajson.Unmarshal(answer.Body, &status) != nil || status.MessageQueueTable == nil {
		return nil, false
	}
	return status.MessageQueueTable, true
}
