// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package admin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"time"

	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// ErrNoMessage is in the error about a message that no broker has.
var ErrNoMessage = errors.New("there is no such message")

// ErrNotAPlace is in the error about an id that names no place at a broker of the cluster: it is one that a client made,
// or the broker is gone.
var ErrNotAPlace = errors.New("the id names no place at a broker of this cluster")

// ByOffsetID reads the message at the place that an offset id names. Without a broker in the target it is read only where
// the id says, and only if that is a broker of the cluster; otherwise at the broker of the target.
func (a *Admin) ByOffsetID(ctx context.Context, t Target, id string) (*Stored, error) {
	host, physicalOffset, err := message.ParseOffsetID(id)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotAPlace, err)
	}
	b, err := a.brokerAt(ctx, t, host)
	if err != nil {
		return nil, err
	}
	m, err := a.view(ctx, b, "", physicalOffset)
	if isCode(err, protocol.SystemError) {
		return nil, fmt.Errorf("%s has no message at offset %d of its log: %w", b, physicalOffset, ErrNoMessage)
	}
	if err != nil {
		return nil, fmt.Errorf("ask %s for message %s: %w", b, id, err)
	}
	return m, nil
}

// brokerAt finds the broker, master or slave, that has the address.
func (a *Admin) brokerAt(ctx context.Context, t Target, host netip.AddrPort) (Broker, error) {
	if t.Broker != "" {
		masters, err := a.Masters(ctx, t)
		if err != nil {
			return Broker{}, err
		}
		return masters[0], nil
	}
	info, err := a.Clusters(ctx)
	if err != nil {
		return Broker{}, err
	}
	for _, b := range info.BrokerAddrTable {
		for _, addr := range b.BrokerAddrs {
			if addr == host.String() && (t.Cluster == "" || t.Cluster == b.Cluster) {
				return Broker{Cluster: b.Cluster, Name: b.BrokerName, Addr: addr}, nil
			}
		}
	}
	return Broker{}, fmt.Errorf("there is no broker %s: %w", host, ErrNotAPlace)
}

// KeyQuery is a question for messages by a key.
type KeyQuery struct {
	Topic, Key string
	Unique     bool // Key is the id that a message's client made, not one of its keys
	// Since and Until bound when they were stored. Zero times do not.
	Since, Until time.Time
	// Max is how many each broker gives at most, the newest ones. 0 means 64, which is also what brokers give at most
	// unless they are configured otherwise (RocketMQ: maxMsgsNumBatch).
	Max int
}

const defaultMax = 64

// ByKey finds messages of a topic by a key, sorted by the time they were stored. No message is no error; ErrNoTopic when
// there is no such topic. Beside an error are those of the brokers that answered.
func (a *Admin) ByKey(ctx context.Context, t Target, q KeyQuery) ([]*Stored, error) {
	brokers, err := a.mastersOfTopic(ctx, q.Topic)
	if err != nil {
		return nil, err
	}
	brokers = slices.DeleteFunc(brokers, func(b Broker) bool { return !t.has(b) })
	results, err := each("ask for key "+q.Key+" in topic "+q.Topic, brokers, func(b Broker) ([]*Stored, error) { return a.byKeyAt(ctx, b, &q) })
	found := slices.Concat(results...)
	slices.SortStableFunc(found, func(m, o *Stored) int { return int(max(min(m.StoreTimestamp-o.StoreTimestamp, 1), -1)) })
	return found, err
}

func (a *Admin) byKeyAt(ctx context.Context, b Broker, q *KeyQuery) ([]*Stored, error) {
	req := protocol.QueryRequest{Topic: q.Topic, Key: q.Key, MaxNum: int32(q.Max), EndTimestamp: math.MaxInt64, UniqueKey: q.Unique}
	if q.Max <= 0 {
		req.MaxNum = defaultMax
	}
	if !q.Since.IsZero() {
		req.BeginTimestamp = q.Since.UnixMilli()
	}
	if !q.Until.IsZero() {
		req.EndTimestamp = q.Until.UnixMilli()
	}
	resp, err := a.ask(ctx, b.Addr, &remoting.Command{Code: protocol.QueryMessage, Header: header.Of(&req)})
	if isCode(err, protocol.QueryNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := readStored(resp.Body, b.Name)
	if err != nil {
		return nil, fmt.Errorf("read the messages found: %w", err)
	}
	// The index knows hashes of keys: what only has the same one is not meant.
	return slices.DeleteFunc(all, func(m *Stored) bool {
		if string(m.Topic) != q.Topic {
			return true
		}
		if q.Unique {
			return m.ID() != q.Key
		}
		return m.ID() != q.Key && !slices.Contains(m.Keys(), q.Key)
	}), nil
}
