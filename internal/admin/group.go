// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package admin

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// ErrNoGroup is in the error about a consumer group that no broker has.
var ErrNoGroup = errors.New("the consumer group does not exist")

// GroupConfigs are a group's settings at each broker that has it, by broker name.
type GroupConfigs map[string]*protocol.SubscriptionGroupConfig

// Groups gives all consumer groups of the target, those of the system among them.
// Beside an error are those of the brokers that answered.
func (a *Admin) Groups(ctx context.Context, t Target) (map[string]GroupConfigs, error) {
	masters, err := a.Masters(ctx, t)
	if err != nil {
		return nil, err
	}
	results, err := each("ask for the groups", masters, func(b Broker) (*protocol.SubscriptionGroupWrapper, error) {
		resp, err := a.ask(ctx, b.Addr, &remoting.Command{Code: protocol.GetAllSubscriptionGroupConfig})
		if err != nil {
			return nil, err
		}
		return read[protocol.SubscriptionGroupWrapper](resp, "the groups")
	})
	groups := map[string]GroupConfigs{}
	for i, r := range results {
		if r == nil {
			continue
		}
		for name, cfg := range r.SubscriptionGroupTable {
			if groups[name] == nil {
				groups[name] = GroupConfigs{}
			}
			groups[name][masters[i].Name] = cfg
		}
	}
	return groups, err
}

// Group gives the settings of one group. ErrNoGroup when no broker of the target has it.
// It does not ask for the group by name: that would create it.
func (a *Admin) Group(ctx context.Context, t Target, group string) (GroupConfigs, error) {
	groups, err := a.Groups(ctx, t)
	if cfgs := groups[group]; cfgs != nil {
		return cfgs, err
	}
	if err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("group %s: %w", group, ErrNoGroup)
}

// SetGroup creates a group on all masters of the target, or replaces its settings. It
// gives the brokers that took it, also beside an error.
func (a *Admin) SetGroup(ctx context.Context, t Target, cfg *protocol.SubscriptionGroupConfig) ([]Broker, error) {
	if err := protocol.CheckGroup(cfg.GroupName); err != nil {
		return nil, err
	}
	masters, err := a.Masters(ctx, t)
	if err != nil {
		return nil, err
	}
	body := javajson.Append(nil, cfg, javajson.Bare)
	return change("set group "+cfg.GroupName, masters, func(b Broker) error {
		_, err := a.ask(ctx, b.Addr, &remoting.Command{Code: protocol.UpdateAndCreateSubscriptionGroup, Body: body})
		return err
	})
}

// DeleteGroup removes a group from all masters of the target, with its progress if
// offsets is set, and its retry and dead-letter topics.
func (a *Admin) DeleteGroup(ctx context.Context, t Target, group string, offsets bool) ([]Broker, error) {
	if _, err := a.Group(ctx, t, group); errors.Is(err, ErrNoGroup) {
		return nil, err
	}
	masters, err := a.Masters(ctx, t)
	if err != nil {
		return nil, err
	}
	done, err := change("delete group "+group, masters, func(b Broker) error {
		_, err := a.ask(ctx, b.Addr, &remoting.Command{
			Code:   protocol.DeleteSubscriptionGroup,
			Header: header.Of(&protocol.DeleteGroupHeader{GroupName: group, CleanOffset: offsets, RemoveOffset: offsets}),
		})
		return err
	})
	errs := []error{err}
	for _, topic := range []string{protocol.RetryTopic(group), protocol.DeadLetterTopic(group)} {
		if _, err := a.DeleteTopic(ctx, t, topic); err != nil && !errors.Is(err, ErrNoTopic) {
			errs = append(errs, err)
		}
	}
	return done, errors.Join(errs...)
}

// Progress gives how far a group has come in all queues it has progress in. Beside an
// error is that of the brokers that answered.
func (a *Admin) Progress(ctx context.Context, t Target, group string) (map[protocol.MessageQueue]protocol.OffsetWrapper, error) {
	masters, err := a.Masters(ctx, t)
	if err != nil {
		return nil, err
	}
	results, err := each("ask for the progress of group "+group, masters, func(b Broker) (*protocol.ConsumeStats, error) {
		resp, err := a.ask(ctx, b.Addr, &remoting.Command{
			Code: protocol.GetConsumeStats, Header: header.Of(&protocol.ConsumeStatsHeader{ConsumerGroup: group}),
		})
		if err != nil {
			return nil, err
		}
		return read[protocol.ConsumeStats](resp, "the progress of group "+group)
	})
	progress := map[protocol.MessageQueue]protocol.OffsetWrapper{}
	for _, r := range results {
		if r != nil {
			maps.Copy(progress, r.OffsetTable)
		}
	}
	return progress, err
}

// Members gives the clients of a group that are connected to brokers of the target, by
// client id, and what they subscribe to. No members is no error.
func (a *Admin) Members(ctx context.Context, t Target, group string) (*Members, error) {
	masters, err := a.Masters(ctx, t)
	if err != nil {
		return nil, err
	}
	results, err := each("ask for the members of group "+group, masters, func(b Broker) (*protocol.ConsumerConnection, error) {
		resp, err := a.ask(ctx, b.Addr, &remoting.Command{
			Code: protocol.GetConsumerConnectionList, Header: header.Of(&protocol.ConsumerGroupHeader{ConsumerGroup: group}),
		})
		if isCode(err, protocol.ConsumerNotOnline) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return read[protocol.ConsumerConnection](resp, "the members of group "+group)
	})
	members := &Members{Clients: map[string]protocol.Connection{}, Subscriptions: map[string]*protocol.SubscriptionData{}}
	for _, r := range results {
		if r == nil {
			continue
		}
		members.Model, members.Type, members.From = r.MessageModel, r.ConsumeType, r.ConsumeFromWhere
		for _, c := range r.ConnectionSet {
			members.Clients[c.ClientID] = c
		}
		maps.Copy(members.Subscriptions, r.SubscriptionTable)
	}
	return members, err
}

// Members are the clients of a group that are connected now.
type Members struct {
	Clients       map[string]protocol.Connection
	Subscriptions map[string]*protocol.SubscriptionData
	Model         protocol.MessageModel
	Type          protocol.ConsumeType
	From          protocol.ConsumeFromWhere
}
