// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/route"
)

// ResendJob is which dead letters are sent again, and how.
type ResendJob struct {
	Group  string
	Spans  []QueueSpan // see Narrow
	Choice Selection   // among them
	// ToTopic sends to the topic that a message was sent to first, where all groups get it; otherwise only the group
	// gets it again, by its retry topic. Attempts begin anew in both cases.
	ToTopic bool
	// Rate is how many go out in a second at most; 0 is as fast as the brokers take them.
	Rate float64
	// DryRun sends nothing, and reports what would be sent.
	DryRun bool
}

// Resent is what became of one dead letter.
type Resent struct {
	*Stored
	Topic string // that the copy went to; the original one, also when it went there by way of the group's retry topic
	To    Place  // where the copy is; the zero Place when it was not sent
	// Code is SUCCESS, or says what the broker could not do yet for a copy that it stored: put it on disk or on replicas.
	Code int32
	Err  error // why it was not sent
}

// ResendSummary is how far a ResendJob came.
type ResendSummary struct {
	Sent, Failed int
	// Next are the places to go on at when it was stopped; none when all was done.
	Next []Place
	// Behind are the places behind what was sent, for a later job that is to send what came since; one for each span that
	// was done.
	Behind []Place
	// Unknown tells that the message at Next[0] got no answer: its copy may be stored or not.
	Unknown bool
}

// Resend sends dead letters again and reports each. A message that a broker does not take for its own sake (its topic
// is gone, say) is reported and passed over. Whatever the next message would meet, too, ends the job with an error, as
// does the end of ctx, for which a send that is under way is not interrupted; the summary tells where to go on. The dead
// letters stay where they are.
//
// The copy keeps body, flag, tags, keys, the application's properties and the id, and says where it comes from
// (DLQ_ORIGIN_TOPIC, DLQ_ORIGIN_MESSAGE_ID).
func (a *Admin) Resend(ctx context.Context, job *ResendJob, report func(Resent) error) (ResendSummary, error) {
	r := &resending{a: a, job: job, routes: map[string]*route.Route{}}
	for i := range job.Spans {
		if err := r.span(ctx, &job.Spans[i], report); err != nil {
			for _, s := range job.Spans[i+1:] {
				r.summary.Next = append(r.summary.Next, s.At(s.First))
			}
			return r.summary, err
		}
	}
	return r.summary, nil
}

// resending is a ResendJob under way.
type resending struct {
	a       *Admin
	job     *ResendJob
	routes  map[string]*route.Route // by topic; nil where there is none
	summary ResendSummary
	last    time.Time // when the last one was sent
}

// span does one stretch. With an error Next begins with the place to go on at.
func (r *resending) span(ctx context.Context, s *QueueSpan, report func(Resent) error) error {
	next := s.First
	stop := func(err error) error {
		r.summary.Next = append(r.summary.Next, s.At(next))
		return err
	}
	for m, err := range r.a.Chosen(ctx, *s, &r.job.Choice) {
		if err != nil {
			return stop(err)
		}
		next = m.QueueOffset
		if err := r.pace(ctx); err != nil {
			return stop(err)
		}
		done := Resent{Stored: m, Topic: m.OriginalTopic()}
		if !r.job.DryRun {
			done.To, done.Code, done.Err = r.send(context.WithoutCancel(ctx), s.Broker, m)
		}
		if done.Err != nil && !aboutMessage(done.Err) {
			r.summary.Unknown = errors.As(done.Err, new(unanswered))
			return stop(fmt.Errorf("send %s again: %w", m.Place(), done.Err))
		}
		if done.Err != nil {
			r.summary.Failed++
		} else {
			r.summary.Sent++
		}
		next++
		if err := report(done); err != nil {
			return stop(err)
		}
	}
	r.summary.Behind = append(r.summary.Behind, s.At(next))
	return nil
}

// pace waits for the next one's turn.
func (r *resending) pace(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.job.Rate > 0 && !r.job.DryRun {
		wait := time.NewTimer(time.Until(r.last.Add(time.Duration(float64(time.Second) / r.job.Rate))))
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		r.last = time.Now()
	}
	return nil
}

// ErrNoOrigin is why a dead letter cannot be sent again that does not say to which topic it was sent.
var ErrNoOrigin = errors.New("it does not say to which topic it was sent")

// ErrNotWritable is why a dead letter cannot be sent to its topic that takes no messages now.
var ErrNotWritable = errors.New("it has no queue that takes messages now")

// ErrOrdered is why dead letters cannot be sent to a group: its broker puts what comes to the retry topic of a group with
// ordered members among the dead letters.
var ErrOrdered = errors.New("the broker put the copy among the dead letters again, as ordered members of the group hold queues there: " +
	"send to the topic, or stop the members and wait a minute")

// aboutMessage tells failures that say nothing about the next message.
func aboutMessage(err error) bool {
	switch protocol.CodeOf(err) {
	case protocol.MessageIllegal, protocol.TopicNotExist:
		return true
	}
	return errors.Is(err, ErrNoOrigin) || errors.Is(err, ErrNoTopic) || errors.Is(err, ErrNotWritable)
}

// unanswered is a failure after which nobody knows whether the message was stored.
type unanswered struct{ error }

// Unwrap gives the cause.
func (u unanswered) Unwrap() error { return u.error }

// send sends the copy of one dead letter. code is SUCCESS or one of those that mean "stored, but".
func (r *resending) send(ctx context.Context, from Broker, m *Stored) (p Place, code int32, err error) {
	origin := m.OriginalTopic()
	if origin == "" || protocol.IsRetryTopic(origin) || protocol.IsDeadLetterTopic(origin) {
		return Place{}, 0, ErrNoOrigin
	}
	if !r.job.ToTopic {
		return r.sendToGroup(ctx, from, m)
	}
	rt, err := r.route(ctx, origin)
	if err != nil {
		return Place{}, 0, err
	}
	q, err := queueFor(rt, from, m)
	if err != nil {
		return Place{}, 0, err
	}
	b, _ := rt.Broker(q.BrokerName)
	p, code, _, err = r.sendTo(ctx, Broker{Cluster: b.Cluster, Name: b.Name, Addr: b.Master()}, q, m)
	return p, code, err
}

// sendToGroup sends to the retry topic at the broker that has the dead letter, and makes sure that it is there.
func (r *resending) sendToGroup(ctx context.Context, from Broker, m *Stored) (Place, int32, error) {
	retry := protocol.RetryTopic(r.job.Group)
	q := protocol.MessageQueue{Topic: retry, BrokerName: from.Name, QueueID: -1}
	p, code, physicalOffset, err := r.sendTo(ctx, from, q, m)
	if err != nil {
		return Place{}, 0, err
	}
	copied, err := r.a.view(ctx, from, retry, physicalOffset)
	switch {
	case err != nil:
		return p, code, unanswered{fmt.Errorf("look at the copy: %w", err)}
	case string(copied.Topic) != retry:
		return p, code, ErrOrdered
	}
	return copied.Place(), code, nil
}

func (r *resending) route(ctx context.Context, topic string) (*route.Route, error) {
	rt, known := r.routes[topic]
	if !known {
		data, err := r.a.TopicRoute(ctx, topic)
		switch {
		case err == nil:
			rt = route.New(topic, data)
		case !errors.Is(err, ErrNoTopic):
			return nil, err
		}
		r.routes[topic] = rt
	}
	if rt == nil {
		return nil, fmt.Errorf("topic %s: %w", topic, ErrNoTopic)
	}
	return rt, nil
}

// queueFor chooses the queue of the original topic: that of the sharding key; else any at the broker that has the dead
// letter, which is left to it; else any of another broker.
func queueFor(rt *route.Route, from Broker, m *Stored) (protocol.MessageQueue, error) {
	if len(rt.Write) == 0 {
		return protocol.MessageQueue{}, fmt.Errorf("topic %s: %w", rt.Topic, ErrNotWritable)
	}
	if key := m.Property(message.PropShardingKey); key != "" {
		return rt.Write[message.QueueOfKey(key, len(rt.Write))], nil
	}
	q := rt.Write[int(m.QueueOffset%int64(len(rt.Write)))]
	if slices.ContainsFunc(rt.Write, func(q protocol.MessageQueue) bool { return q.BrokerName == from.Name }) {
		q.BrokerName = from.Name
	}
	q.QueueID = -1
	return q, nil
}

// sendTo sends a copy to one queue, -1 for any.
func (r *resending) sendTo(ctx context.Context, b Broker, q protocol.MessageQueue, m *Stored) (p Place, code int32, physicalOffset int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.a.timeout)
	defer cancel()
	conn, err := r.a.conns.Conn(ctx, b.Addr)
	if err != nil {
		return p, 0, 0, err
	}
	resp, err := conn.Call(ctx, &remoting.Command{Code: protocol.SendMessageV2, Body: m.Body, Header: &protocol.SendRequest{
		ProducerGroup: []byte(protocol.GroupInnerProducer), Topic: []byte(q.Topic),
		DefaultTopic: []byte{}, // a topic that has gone stays away
		QueueID:      q.QueueID, SysFlag: m.SysFlag & (message.FlagCompressed | message.CompressionMask | message.FlagMultiTags),
		BornTimestamp: m.BornTimestamp, Flag: m.Flag, Properties: r.properties(m), BrokerName: []byte(b.Name),
	}})
	switch {
	case errors.Is(err, remoting.ErrTooLarge), errors.Is(err, remoting.ErrPeerSlow):
		return p, 0, 0, err
	case err != nil:
		return p, 0, 0, unanswered{err}
	}
	switch resp.Code {
	case protocol.Success, protocol.FlushDiskTimeout, protocol.FlushSlaveTimeout, protocol.SlaveNotAvailable:
	default:
		return p, 0, 0, &protocol.Error{Code: resp.Code, Remark: resp.Remark}
	}
	var h protocol.SendResponse
	if err = h.Decode(resp.Fields); err == nil {
		_, physicalOffset, err = message.ParseOffsetID(string(h.MessageID))
	}
	if err != nil {
		return p, 0, 0, unanswered{fmt.Errorf("read the answer of %s: %w", b, err)}
	}
	return Place{b.Name, h.QueueID, h.QueueOffset}, resp.Code, physicalOffset, nil
}

// staysBehind are the properties that a copy does not take along: they say where a message was, how often it was tried
// and why it failed, or ask for something that happened already.
var staysBehind = []string{
	message.PropDelay, message.PropRealTopic, message.PropRealQueueID, message.PropRetryTopic, message.PropOriginID,
	message.PropReconsumeTime, message.PropMaxReconsumeTimes, message.PropFailureReason, message.PropWait,
	message.PropTransaction, message.PropTransactionID, message.PropPreparedQueueOff, message.PropCheckTimes, message.PropCheckImmunity,
	message.PropTimerDelaySec, message.PropTimerDelayMs, message.PropTimerDeliverMs, message.PropTimerOutMs, message.PropTimerEnqueueMs,
	message.PropTimerDequeueMs, message.PropTimerRollTimes, message.PropTimerDelUniqueKey, message.PropTimerDelayLevel, "__STARTDELIVERTIME",
	message.PropPopCK, message.PropPopCKOffset, message.PropFirstPopTime, message.PropInnerNum, message.PropInnerBase,
	message.PropMultiQueueOffset, message.PropCluster, message.PropRegion, message.PropTraceOn, message.PropMinOffset, message.PropMaxOffset,
	message.PropConsumeStart, message.PropArriveTime, message.PropPushReplyTime, message.PropForwardQueueID, message.PropRedirect,
	message.PropCRC32, message.PropTopicSysFlag, message.PropGroupSysFlag, message.PropDLQOriginTopic, message.PropDLQOriginID,
}

// properties are those of the copy.
func (r *resending) properties(m *Stored) []byte {
	p := message.NormalizeProperties(nil, m.Properties, staysBehind...)
	p = message.AppendProperty(p, message.PropDLQOriginTopic, m.OriginalTopic())
	p = message.AppendProperty(p, message.PropDLQOriginID, originIDOf(m))
	if !r.job.ToTopic { // members of the group see the original topic
		p = message.AppendProperty(p, message.PropRetryTopic, m.OriginalTopic())
		p = message.AppendProperty(p, message.PropOriginID, originIDOf(m))
	}
	return p
}

// originIDOf is the id of the message that became the dead letter.
func originIDOf(m *Stored) string {
	return cmp.Or(m.Property(message.PropUniqueKey), m.OriginID(), m.OffsetID())
}
