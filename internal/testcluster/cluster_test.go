// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package testcluster

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestServersComeBackWhereTheyWere(t *testing.T) {
	c := Start(t, Config{NameServers: 2, Brokers: 2})
	broker, nameServer := c.Brokers[1], c.NameServers[0]
	addr := broker.Addr
	broker.Stop()
	broker.Stop()
	nameServer.Stop()
	nameServer.Start()
	broker.Start()
	broker.Start()
	if broker.Addr != addr {
		t.Errorf("the broker was at %s and is at %s", addr, broker.Addr)
	}
}
