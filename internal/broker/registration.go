// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

// The requests that the registrar sends.

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"

	"github.com/goddard-mq/goddard/internal/broker/topic"
	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/message"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// register sends one registration.
func (r *registrar) register(ctx context.Context, addr string, job registration) error {
	cfg := r.cfg.Load()
	ctx, cancel := context.WithTimeout(ctx, cfg.Names.Timeout)
	defer cancel()
	if job.full && !cfg.Names.ForceRegister {
		if known, err := r.isKnown(ctx, addr, cfg); err != nil || known {
			return err
		}
	}
	resp, err := r.client.Call(ctx, addr, r.registerRequest(cfg, job))
	if err != nil {
		return err
	}
	if resp.Code != protocol.Success && !job.full {
		// A name server that knows nothing of us refuses a single topic: it wants all.
		job.full = true
		if resp, err = r.client.Call(ctx, addr, r.registerRequest(cfg, job)); err != nil {
			return err
		}
	}
	if resp.Code != protocol.Success {
		return &protocol.Error{Code: resp.Code, Remark: resp.Remark}
	}
	if job.full {
		r.takeOrder(resp.Body)
	}
	return nil
}

// isKnown asks whether the name server has the present topics already; to be asked is a sign of life to it.
func (r *registrar) isKnown(ctx context.Context, addr string, cfg *Config) (bool, error) {
	version := r.topics.Version()
	resp, err := r.client.Call(ctx, addr, &remoting.Command{
		Code: protocol.QueryDataVersion,
		Header: header.Of(protocol.QueryDataVersionRequest{
			BrokerName: cfg.Identity.Name, BrokerAddr: cfg.Identity.addr(), ClusterName: cfg.Identity.Cluster, BrokerID: cfg.Identity.ID,
		}),
		Body: javajson.Marshal(version, javajson.Bare),
	})
	if err != nil {
		return false, err
	}
	if resp.Code != protocol.Success {
		return false, nil // it does not know the question: register
	}
	var answer protocol.QueryDataVersionResponse
	if err := header.Decode(resp.Fields, &answer); err != nil {
		return false, fmt.Errorf("answer to the data version: %w", err)
	}
	return !answer.Changed, nil
}

func (r *registrar) registerRequest(cfg *Config, job registration) *remoting.Command {
	body := javajson.Marshal(&protocol.RegisterBrokerBody{
		FilterServerList: []string{}, Topics: r.topicsOf(cfg, job),
	}, javajson.Bare)
	id := &cfg.Identity
	req := protocol.RegisterBrokerRequest{
		BrokerName: id.Name, BrokerAddr: id.addr(), ClusterName: id.Cluster, BrokerID: id.ID,
		HAServerAddr: id.haAddr(), EnableActingMaster: &cfg.Names.ActingMaster, BodyCRC32: int32(message.BodyCRC(body)),
	}
	if cfg.Names.ActingMaster {
		ms := cfg.Names.NotActive.Milliseconds()
		req.HeartbeatTimeoutMillis = &ms
	}
	return &remoting.Command{Code: protocol.RegisterBroker, Header: header.Of(req), Body: body}
}

// topicsOf gives the topics to tell. The version is taken first: topics that change meanwhile are told again under the
// next one, never missed.
func (r *registrar) topicsOf(cfg *Config, job registration) protocol.TopicConfigWrapper {
	w := protocol.TopicConfigWrapper{TopicConfigTable: map[string]*protocol.TopicConfig{}}
	add := func(t *topic.Config) {
		c := &t.TopicConfig
		if cfg.Identity.Perm&protocol.PermReadWrite != protocol.PermReadWrite {
			narrowed := *c
			narrowed.Perm &= cfg.Identity.Perm
			c = &narrowed
		}
		w.TopicConfigTable[c.TopicName] = c
	}
	if job.full {
		version, all := r.topics.All()
		w.DataVersion = version
		for _, t := range all {
			add(t)
		}
		return w
	}
	w.DataVersion = r.topics.Version()
	for _, name := range job.names {
		if t := r.topics.Get(name); t != nil { // deleted ones are nobody's to tell
			add(t)
		}
	}
	return w
}

// takeOrder marks the topics that the name server's ordered-topic configuration names.
func (r *registrar) takeOrder(body []byte) {
	if len(body) == 0 {
		return
	}
	var order protocol.KVTable
	if err := javajson.Unmarshal(body, &order); err != nil {
		r.log.Warn("ordered-topic configuration of a name server cannot be read", "err", err)
		return
	}
	names := make([]string, 0, len(order.Table))
	for name := range order.Table {
		names = append(names, name)
	}
	if err := r.topics.SetOrder(names); err != nil {
		r.log.Error("ordered topics are not kept", "err", err)
	}
}

// leave unregisters from all name servers, at the same time and not waiting long.
func (r *registrar) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	id := &r.cfg.Load().Identity
	r.mu.Lock()
	defer r.mu.Unlock()
	var asked sync.WaitGroup
	for addr, n := range r.servers {
		if n.failed {
			continue
		}
		asked.Go(func() {
			_, err := r.client.Call(ctx, addr, &remoting.Command{
				Code: protocol.UnregisterBroker,
				Header: header.Of(protocol.UnregisterBrokerRequest{
					BrokerName: id.Name, BrokerAddr: id.addr(), ClusterName: id.Cluster, BrokerID: id.ID,
				}),
			})
			if err != nil {
				r.log.Debug("not unregistered", "addr", addr, "err", err)
			}
		})
	}
	asked.Wait()
}

// addr is where clients reach the broker.
func (c *IdentityConfig) addr() string { return net.JoinHostPort(c.IP, strconv.Itoa(int(c.Port))) }

// haAddr is where slaves reach it.
func (c *IdentityConfig) haAddr() string {
	return net.JoinHostPort(c.HAIP, strconv.Itoa(int(c.HAPort)))
}
