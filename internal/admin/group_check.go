// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package admin

import (
	"context"
	"errors"

	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// ErrNoCheck is in the error about brokers that do not look after consumer groups: RocketMQ's.
var ErrNoCheck = errors.New("this broker does not check consumer groups; Goddard's do")

// CheckGroups gives what is wrong with one consumer group or, with "", with all, by broker name. Each broker tells what its
// last look found, some seconds ago. Beside an error are the answers of those brokers that gave one.
func (a *Admin) CheckGroups(ctx context.Context, t Target, group string) (map[string]*protocol.GroupCheck, error) {
	masters, err := a.Masters(ctx, t)
	if err != nil {
		return nil, err
	}
	results, err := each("check the consumer groups", masters, func(b Broker) (*protocol.GroupCheck, error) {
		resp, err := a.ask(ctx, b.Addr, &remoting.Command{
			Code: protocol.CheckConsumerGroups, Header: header.Of(&protocol.CheckGroupsHeader{Group: group}),
		})
		if isCode(err, protocol.RequestCodeNotSupported) {
			return nil, ErrNoCheck
		}
		if err != nil {
			return nil, err
		}
		return read[protocol.GroupCheck](resp, "the faults of the groups")
	})
	checks := map[string]*protocol.GroupCheck{}
	for i, r := range results {
		if r != nil {
			checks[masters[i].Name] = r
		}
	}
	return checks, err
}
