// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package cli

import (
	"context"
	"testing"
	"time"

	"github.com/goddard-mq/goddard/internal/header"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
)

// registerGhost registers a broker that is not there. The connection stays open until
// the test ends, as the name server forgets a broker that hangs up.
func registerGhost(t *testing.T, nameServer, name, addr string) {
	t.Helper()
	conns := remoting.NewClient(nil, nil, remoting.DefaultConfig())
	t.Cleanup(func() { _ = conns.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	resp, err := conns.Call(ctx, nameServer, &remoting.Command{
		Code: protocol.RegisterBroker,
		Header: header.Of(&protocol.RegisterBrokerRequest{
			BrokerName: name, BrokerAddr: addr, ClusterName: "DefaultCluster", HAServerAddr: addr,
		}),
	})
	if err != nil || resp.Code != protocol.Success {
		t.Fatalf("register a broker that is not there: %+v, %v", resp, err)
	}
}
